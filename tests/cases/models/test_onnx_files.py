"""ONNX files are asked in their own shape, and refused with weights elsewhere or a softmax that nobody told of.

Most exporters fix the batch axis at 1 unless they are told otherwise. onnxruntime looks for a second file of weights in
the current folder: such a model worked in its own, and its identity would not cover that file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.references.onnx_files import (
    external,
    integer,
    mean_colors,
    model,
    nested,
    node,
    one_inside,
    tensor,
    value,
    with_label,
)
from tests.running.command_line import trex
from trex.clevr_models.adapters.onnx_input import external_file
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.bound import BoundModel
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
FLOAT16, DOUBLE = 10, 11
QUERY = 'question = "Are there any cubes?"\nanswer = "yes"\n[render]\npreset = "fake"\n'
SHAPES: dict[str, dict[str, Any]] = {
    "batch of one": {"batch": 1, "height": 16, "width": 24},
    "batch of four": {"batch": 4},
    "channels last": {"channels_last": True},
    "channels last, all fixed": {"channels_last": True, "batch": 1, "height": 16, "width": 24},
    "fixed height": {"height": 16},
    "fixed width": {"width": 24},
    "channels last, fixed height": {"channels_last": True, "height": 16},
    "batch of -1": {"batch": -1},
    "16 bits": {"kind": FLOAT16, "batch": 1},
    "64 bits": {"kind": DOUBLE},
    "axes of one place": {"flat": False},
    "axes of one place, batch of one": {"flat": False, "batch": 1},
}


def saved(folder: Path, data: bytes, **card: object) -> str:
    """The spec of a file with a card."""
    (folder / "m.onnx").write_bytes(data)
    (folder / "m.json").write_text(json.dumps({"labels": ["no", "yes"], **card}))
    return f"onnx:{folder / 'm.onnx'}"


def shaped(folder: Path, **shape: Any) -> str:
    weights = (4, 0, 0, 4, 0, 0, 0, 0)[: 2 * shape.get("channels", 3)]
    return saved(folder, mean_colors(weights=weights, **shape))


def bound(folder: Path, data: bytes, **card: object) -> BoundModel:
    return load_model(saved(folder, data, **card)).bind(Question("Are there any cubes?", ()))


def pictures(n: int) -> NDArray[np.float32]:
    """One color each, which no resizing changes."""
    colors = np.random.default_rng(3).integers(0, 256, (n, 1, 1, 3)) / 255
    return np.broadcast_to(colors, (n, 40, 60, 3)).astype(np.float32)


def shares(given: NDArray[np.float32]) -> NDArray[np.float64]:
    scores = np.exp(4 * given.astype(np.float64).mean(axis=(1, 2))[:, :2])
    found: NDArray[np.float64] = scores / scores.sum(axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_every_picture_gets_its_own_answer(name: str, tmp_path: Path) -> None:
    given = pictures(7)  # no multiple of four
    found = np.exp(load_model(shaped(tmp_path, **SHAPES[name])).bind(Question("Is it?", ())).log_probs(given))
    np.testing.assert_allclose(found, shares(given), atol=2e-3)
    assert np.ptp(found[:, 0]) > 0.1


def test_a_fixed_side_keeps_the_shape_of_the_picture(tmp_path: Path) -> None:
    """Left is black and right is white: half of each, whatever the width is."""
    given = np.zeros((1, 40, 60, 3), np.float32)
    given[:, :, 30:, 0] = 1
    for shape in ({"height": 16}, {"width": 24}, {"channels_last": True, "width": 24}):
        model = load_model(shaped(tmp_path, **shape))
        pieces = list(model.answerer.picture.pieces(given))  # type: ignore[attr-defined]
        ((fed, n),) = pieces
        high_and_wide = fed.shape[1:3] if "channels_last" in shape else fed.shape[2:]
        assert n == 1 and high_and_wide == (16, 24)
        assert np.exp(model.bind(Question("Is it?", ())).log_probs(given))[0, 0] == pytest.approx(
            0.881, abs=0.01
        )


def test_check_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(QUERY)
    spec = shaped(tmp_path, batch=1, height=224, width=224, channels_last=True)
    assert trex("check", tmp_path / "q.toml", "--model", spec).exit_code == 0


def test_pictures_without_three_channels_are_refused_in_words(tmp_path: Path) -> None:
    for shape in ({"channels": 1, "width": 24}, {"channels": 4, "channels_last": True, "height": 16}):
        with pytest.raises(
            InputError, match=r"takes pictures .*, of no 3 channels; it must take float \(B, 3, H"
        ):
            load_model(shaped(tmp_path, **shape))


def test_a_file_with_softmax_is_refused_and_the_advice_works(tmp_path: Path) -> None:
    query = tmp_path / "q.toml"
    query.write_text(QUERY)
    assert trex("check", query, "--model", saved(tmp_path, mean_colors())).exit_code == 0
    done = trex("check", query, "--model", saved(tmp_path, mean_colors(softmax=True)))
    assert done.exit_code == 2 and "looks like probabilities" in done.stderr
    assert f'write "gives": "probabilities" in {tmp_path}' in done.stderr
    followed = saved(tmp_path, mean_colors(softmax=True), gives="probabilities")
    assert trex("check", query, "--model", followed).exit_code == 0


def agrees(folder: Path, data: bytes) -> None:
    given = np.random.default_rng(2).random((5, 80, 120, 3), np.float32)
    np.testing.assert_allclose(np.exp(bound(folder, data).log_probs(given)), shares(given), atol=1e-4)


def test_a_batch_axis_that_is_free_by_name_alone_is_asked_one_by_one(tmp_path: Path) -> None:
    """MTG/essentia#1507, and every trace with one picture whose axes were named afterwards."""
    agrees(tmp_path, one_inside())


def test_a_label_before_the_scores_is_left_out(tmp_path: Path) -> None:
    """onnx/sklearn-onnx#754: converted classifiers return the label first."""
    agrees(tmp_path, with_label())
    with pytest.raises(InputError, match=r"returns tensor\(int64\); it must return logits or probabilities"):
        bound(tmp_path, with_label(alone=True))


def test_features_before_the_logits_are_left_out(tmp_path: Path) -> None:
    """Networks that return what they extracted, too: the output for the card's answers is read."""
    features = value("flat", 1, ["B", 3])
    logits = value("logits", 1, ["B", 2])
    nodes = [
        node("GlobalAveragePool", ["pictures"], "mean"),
        node("Flatten", ["mean"], "flat", integer("axis", 1)),
        node("MatMul", ["flat", "weights"], "logits"),
    ]
    file = model(
        nodes,
        [value("pictures", 1, ["B", 3, "H", "W"])],
        [features, logits],
        [tensor("weights", (3, 2), (4, 0, 0, 4, 0, 0))],
    )
    agrees(tmp_path, file)


@pytest.mark.parametrize("spec", ["onnx:", "onnx:.", "onnx:/"])
def test_an_onnx_model_without_a_file_is_one_line(spec: str) -> None:
    with pytest.raises(InputError, match=r"names no file; write onnx:FILE\.onnx"):
        load_model(spec)


def test_logits_called_probabilities_are_refused(tmp_path: Path) -> None:
    """ultralytics/ultralytics#18085: an export that lost its softmax."""
    with pytest.raises(InputError, match="not probabilities"):
        bound(tmp_path, mean_colors(weights=(4, 0, 0, -4, 0, 0)), gives="probabilities")


ELSEWHERE = "w.data"


def in_memory() -> bytes:
    """microsoft/onnxruntime#23557: a mark in place of a file's name stands for an address in a process."""
    kept = external("w", (3, 2), "*/_ORT_MEM_ADDR_/*")
    return model([], [value("pictures", 1, ["B", 3, "H", "W"])], value("logits", 1, ["B", 2]), [kept])


@pytest.mark.parametrize("is_here", [True, False])
@pytest.mark.parametrize("what", ["initializer", "memory", *nested(ELSEWHERE)])
def test_weights_in_a_second_file_are_refused_everywhere(
    what: str, is_here: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"initializer": mean_colors(elsewhere=ELSEWHERE), "memory": in_memory(), **nested(ELSEWHERE)}
    spec = saved(tmp_path, files[what])
    np.arange(6, dtype=np.float32).tofile(tmp_path / ELSEWHERE)
    if is_here:
        monkeypatch.chdir(tmp_path)
    named = r"\*/_ORT_MEM_ADDR_/\*" if what == "memory" else "w.data"
    with pytest.raises(
        InputError, match=rf"keeps weights in another file \('{named}'\).*export it as one file"
    ):
        load_model("onnx:m.onnx" if is_here else spec)


def test_a_name_in_a_file_that_holds_its_weights_is_no_second_file() -> None:
    """The words that mark a second file may be the name of a node or a text in the file."""
    assert external_file(mean_colors()) is None
    assert external_file(mean_colors() + b"\x32\x0a\x0a\x08location\x12"[:4] + b"location") is None


def test_bytes_that_are_no_model_are_no_endless_search() -> None:
    for data in (b"\xff" * 40, b"\x3a\xff\xff\xff\xff\x0f", mean_colors()[:-3]):
        with pytest.raises(ValueError, match="damaged"):
            external_file(data)
