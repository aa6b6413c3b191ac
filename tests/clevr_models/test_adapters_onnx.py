"""A VQA model in an ONNX file with its card."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.references.onnx_files import mean_colors, with_question
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.worlds.fingerprint import model_fingerprint

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
ASKED = Question("Is it red?", ())
LABELS = {"labels": ["red", "green"]}


def pictures(n: int) -> NDArray[np.float32]:
    return (np.random.default_rng(1).integers(0, 256, (n, 20, 30, 3)) / 255).astype(np.float32)


def written(folder: Path, data: bytes, card: object, name: str = "model") -> str:
    (folder / f"{name}.onnx").write_bytes(data)
    (folder / f"{name}.json").write_text(json.dumps(card))
    return f"onnx:{folder / name}.onnx"


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return shares


def test_an_onnx_model_answers(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, mean_colors(), LABELS))
    bound = model.bind(ASKED)
    given = pictures(40)
    mean = given.astype(np.float64).mean(axis=(1, 2))
    assert bound.labels == ("red", "green")
    np.testing.assert_allclose(np.exp(bound.log_probs(given)), softmax(mean[:, :2]), rtol=1e-5)


def test_pictures_are_resized_to_a_fixed_size(tmp_path: Path) -> None:
    model = load_model(written(tmp_path, mean_colors(10, 12), LABELS))
    given = np.full((3, 20, 30, 3), 51 / 255, np.float32)
    np.testing.assert_allclose(np.exp(model.bind(ASKED).log_probs(given)), 0.5, atol=1e-6)


def test_a_question_is_read_by_the_words_on_the_card(tmp_path: Path) -> None:
    card = {**LABELS, "words": {"red": 1, "it": 2, "is": 3}, "length": 2}
    model = load_model(written(tmp_path, with_question(), card))
    given = pictures(2)
    mean = given.astype(np.float64).mean(axis=(1, 2))
    rows = model.bind(Question("It RED?", ())).log_probs(given)
    np.testing.assert_allclose(np.exp(rows), softmax(mean[:, :2] + [2, 1]), rtol=1e-5)
    rows = model.bind(Question("red", ())).log_probs(given)
    np.testing.assert_allclose(np.exp(rows), softmax(mean[:, :2] + [1, 0]), rtol=1e-5)
    with pytest.raises(InputError, match="word 'blue' is not known"):
        model.bind(Question("blue", ()))
    with pytest.raises(InputError, match="has 3 words; the model's card allows 2"):
        model.bind(Question("is it red", ()))


def test_probabilities_are_taken_as_they_are_and_logits_are_not_probabilities(tmp_path: Path) -> None:
    card = {**LABELS, "gives": "probabilities"}
    with pytest.raises(InputError, match="not probabilities"):
        load_model(written(tmp_path, mean_colors(), card)).bind(ASKED)


def test_another_file_or_card_is_another_model(tmp_path: Path) -> None:
    prints = set()
    for weights, card in (
        ((1, 0, 0, 1, 0, 0), LABELS),
        ((1, 0, 0, 2, 0, 0), LABELS),
        ((1, 0, 0, 1, 0, 0), {"labels": ["a", "b"]}),
    ):
        spec = written(tmp_path, mean_colors(weights=weights), card)
        for _ in range(2):
            prints.add(model_fingerprint(spec, load_model(spec).bind(ASKED)))
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("data", "card", "message"),
    [
        # planted bug: the message was one of onnxruntime's insides
        (
            mean_colors(elsewhere="model.onnx.data"),
            LABELS,
            "keeps weights in another file.*external_data=False",
        ),
        (b"no model", LABELS, "is not an ONNX model that onnxruntime can run"),
        (mean_colors()[:80], LABELS, "is not an ONNX model that onnxruntime can run"),
        (mean_colors(), {"labels": ["a", "b", "c"]}, r"gives float64 \(2, 2\); for 2 pictures and 3 answers"),
        (mean_colors(), {"labels": ["a"]}, r"has one answer, 'a'"),
        (mean_colors(), {}, "28 answers"),
        (mean_colors(), {**LABELS, "words": {"red": 1}, "length": 2}, "and a question, int64"),
        (with_question(), LABELS, "only input, as its card has no words"),
        (mean_colors(), [], "it may hold labels, gives, words and length"),
        (mean_colors(), {**LABELS, "sigmoid": True}, "sigmoid: this key is not known"),
        (mean_colors(), {"labels": "red"}, "labels: input should be a valid tuple"),
        (mean_colors(), {**LABELS, "gives": "odds"}, "gives: input should be 'logits' or 'probabilities'"),
        (
            mean_colors(),
            {**LABELS, "words": {"red": "1"}, "length": 2},
            "words.red: input should be a valid integer",
        ),
        (mean_colors(), {**LABELS, "words": {"red": 1}}, "length is 0"),
    ],
)
def test_files_and_cards_that_do_not_fit_are_refused(
    data: bytes, card: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        load_model(written(tmp_path, data, card)).bind(ASKED)


def test_a_missing_file_or_card_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.onnx cannot be read"):
        load_model(f"onnx:{tmp_path}/nothing.onnx")
    (tmp_path / "model.onnx").write_bytes(mean_colors())
    with pytest.raises(InputError, match=r"model\.json cannot be read.*needs a card"):
        load_model(f"onnx:{tmp_path}/model.onnx")
