"""The Relation Network against a plain reading of its facts, planted bugs, and the released weights where they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from PIL import Image

from tests.references.official_clevr import data_file
from tests.references.relation_reference import Reading, random_state, reference_logits
from trex.artifacts.card import read_card
from trex.clevr_models.fetch import fetch_relation_network, relation_path
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.clevr_models.relation_network.model import (
    FILE,
    RelationModel,
    how_found,
    load_relation_model,
    read_vocabulary,
    relation_vocabulary,
)
from trex.clevr_models.relation_network.network import QUESTION_LAYERS, RelationNetwork, squeeze
from trex.foundation.errors import InputError, ModelError

torch.set_num_threads(1)
WORDS = (13, 14, 11, 1, 2, 12)  # how many cubes are there ?
TOLERANCE = 1e-3  # float32, sums of 4,096 terms; every planted bug moves a logit by far more


def network(variant: str) -> RelationNetwork:
    network = RelationNetwork(variant)
    network.load_state_dict(network.state_dict() | random_state(variant))
    return network.eval()


def picture(seed: int = 1) -> torch.Tensor:
    return torch.rand(3, 128, 128, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("variant", QUESTION_LAYERS)
def test_the_split_halves_give_what_the_pair_by_pair_reading_gives(variant: str) -> None:
    with torch.inference_mode():
        ours = network(variant)(picture()[None], [WORDS])[0, 0]
        plain = reference_logits(random_state(variant), variant, picture(), WORDS)
    assert float((ours - plain).abs().max()) < TOLERANCE
    assert float(plain.std()) > 0.1  # the comparison is of something


@pytest.mark.parametrize(
    "bug",
    [
        Reading(reversed=False),
        Reading(padded=False),
        Reading(x_first=False),
        Reading(norm_before_relu=False),
        Reading(ordered_pairs=False),
    ],
    ids=["not reversed", "not padded", "y before x", "ReLU before the norm", "unordered pairs"],
)
def test_every_misreading_of_the_facts_is_caught(bug: Reading) -> None:
    with torch.inference_mode():
        ours = network("ir")(picture()[None], [WORDS])[0, 0]
        misread = reference_logits(random_state("ir"), "ir", picture(), WORDS, bug)
    assert float((ours - misread).abs().max()) > 20 * TOLERANCE


def test_each_question_is_read_alone_whatever_stands_beside_it() -> None:
    relation_network = network("original")
    with torch.inference_mode():
        together = relation_network.questions([WORDS, WORDS[:3], tuple(range(1, 44))])
        alone = relation_network.questions([WORDS[:3]])
    assert torch.allclose(together[1], alone[0], atol=1e-6)


def test_several_pictures_and_questions_give_what_each_pair_gives_alone() -> None:
    model = RelationModel("test", network("ir"), relation_vocabulary())
    images = np.random.default_rng(3).random((2, 40, 60, 3), dtype=np.float32)
    texts = ("How many cubes are there?", "What color is the ball?")
    many = np.stack([model.ask(image, [Question(text, ()) for text in texts]) for image in images])
    assert many.shape == (2, 2, 28) and many.dtype == np.float64
    np.testing.assert_allclose(np.exp(many).sum(axis=-1), 1.0, atol=1e-9)
    for at, text in enumerate(texts):
        bound = model.bind(Question(text, ()))
        assert bound.labels == ANSWERS
        np.testing.assert_allclose(bound.log_probs(images), many[:, at], atol=1e-4)
        assert np.array_equal(bound.log_probs(images)[1], bound.log_probs(images[1:])[0])  # bit for bit


def test_the_probabilities_are_in_the_order_of_the_answers() -> None:
    model = RelationModel("test", network("ir"), relation_vocabulary())
    image = np.random.default_rng(4).random((1, 40, 60, 3), dtype=np.float32)
    row = model.bind(Question("How many cubes are there?", ())).log_probs(image)[0]
    with torch.inference_mode():
        tokens = relation_vocabulary().encode("How many cubes are there?")
        raw = model.network(torch.from_numpy(image).permute(0, 3, 1, 2), [tokens])[0, 0].log_softmax(-1)
    for at, answer in enumerate(ANSWERS):
        assert row[at] == pytest.approx(float(raw[relation_vocabulary().answers.index(answer)]), abs=1e-4)


def test_the_module_has_a_gradient_with_respect_to_the_picture() -> None:
    bound = RelationModel("test", network("ir"), relation_vocabulary()).bind(
        Question("How big is the ball?", ())
    )
    pixels = torch.rand(1, 3, 40, 60, requires_grad=True)
    bound.module(pixels)[0, ANSWERS.index("large")].backward()
    assert pixels.grad is not None and float(pixels.grad.abs().sum()) > 0


def test_pictures_are_squeezed_as_pil_does_it() -> None:
    pixels = (
        np.random.default_rng(5).integers(0, 256, (32, 48, 3), dtype=np.uint8).repeat(10, 0).repeat(10, 1)
    )
    theirs = np.asarray(Image.fromarray(pixels).resize((128, 128), Image.Resampling.BILINEAR)) / 255.0
    ours = squeeze(torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255.0)[0].permute(1, 2, 0).numpy()
    assert np.abs(ours - theirs).max() < 1.2 / 255  # PIL rounds to bytes after each of two passes
    plain = torch.nn.functional.interpolate(
        torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255.0, (128, 128)
    )
    assert np.abs(plain[0].permute(1, 2, 0).numpy() - theirs).max() > 10 / 255  # planted: no filter


def test_words_are_read_in_any_case_and_without_a_question_mark() -> None:
    vocabulary = relation_vocabulary()
    wanted = vocabulary.encode("There is a small ball; what color is it?")
    assert vocabulary.encode("  there IS a small ball ; What color is it ") == wanted
    assert wanted[-1] == vocabulary.words["?"] and vocabulary.words[";"] in wanted
    assert sorted(vocabulary.words.values()) == list(range(1, 83))
    assert sorted(vocabulary.answers) == sorted(ANSWERS)


@pytest.mark.parametrize(
    "text", ["How many cones are there?", "How many qubes?", "", "?", "Wie viele Würfel?", "2 + 2?"]
)
def test_a_question_it_cannot_read_is_an_input_error_that_names_the_word(text: str) -> None:
    with pytest.raises(InputError, match=r"cones|qubes|contains|wie"):
        RelationModel("test", network("ir"), relation_vocabulary()).bind(Question(text, ()))


def test_pictures_of_another_form_are_refused() -> None:
    bound = RelationModel("test", network("ir"), relation_vocabulary()).bind(Question("How many cubes?", ()))
    with pytest.raises(ModelError, match="float32"):
        bound.log_probs(np.zeros((1, 40, 60, 3), dtype=np.float64))  # type: ignore[arg-type]


@pytest.mark.parametrize(("variant", "right"), [("original", 46), ("ir", 45)])
def test_the_released_weights_answer_clevr_s_own_questions(
    variant: str, right: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, weights = data_file("CLEVR_v1.0"), data_file("models/relation_network")
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))
    fetch_relation_network(weights)
    assert read_card(relation_path(variant))["words"] == how_found()
    model = load_relation_model(relation_path(variant), variant)
    request = [
        (root / "images" / q["split"] / q["image_filename"], q["question"], q["answer"])
        for split in ("train", "val")
        for q in json.loads((root / f"questions/CLEVR_{split}_questions.json").read_text())["questions"]
    ]
    found = 0
    for path in sorted({path for path, _, _ in request}):
        here = [(text, answer) for other, text, answer in request if other == path]
        image = np.asarray(Image.open(path).convert("RGB"), dtype=np.float32)[None] / np.float32(255)
        rows = model.ask(image[0], [Question(text, ()) for text, _ in here])
        found += sum(ANSWERS[row.argmax()] == answer for row, (_, answer) in zip(rows, here, strict=True))
    assert (len(request), found) == (47, right)


OPEN = {
    *("an", "another", "anything", "do", "either", "else", "equal"),
    *("fewer", "greater", "has", "less", "visible"),
}
OPEN_ANSWERS = ("7", "8", "9", "10")


def test_every_output_has_one_answer() -> None:
    indices = json.loads(FILE.read_text())["answer_token_to_idx"]
    assert sorted(indices.values()) == list(range(1, 29))
    assert [indices[answer] for answer in relation_vocabulary().answers] == list(range(1, 29))


def test_the_card_says_how_the_words_were_found_and_which_stay_uncertain() -> None:
    found, words = how_found(), relation_vocabulary().words
    margins = cast(dict[str, float], found["margins in log likelihood alone"])
    indices = cast(dict[str, int], found["indices"])
    assert indices == {word: words[word] for word in OPEN}
    assert sorted(indices.values()) == list(range(71, 83))
    assert set(margins) == set(cast(dict[str, float], found["margins"])) == OPEN
    unsettled = cast(list[str], found["not settled by questions alone"])
    settled = [margins[word] for word in OPEN - set(unsettled)]
    assert max(margins[word] for word in unsettled) < min(settled)
    assert "likelihood" in str(found["method"])


def test_the_package_s_words_are_those_at_hand_with_only_open_ones_moved() -> None:
    start = read_vocabulary(data_file("models/relation_network/vocab.json"))
    ours = relation_vocabulary()
    moved = {word for word, index in ours.words.items() if start.words[word] != index}
    assert moved <= OPEN and len(set(ours.words.values())) == 82
    fixed = [answer for answer in ours.answers if answer not in OPEN_ANSWERS]
    assert all(ours.answers.index(answer) == start.answers.index(answer) for answer in fixed)
