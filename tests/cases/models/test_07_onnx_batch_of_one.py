"""An ONNX file is asked in its own shape: a fixed batch, channels last, one fixed side, 16-bit or 64-bit input.

Most exporters fix the batch axis at 1 unless they are told otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.references.onnx_files import mean_colors
from tests.running.command_line import trex
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
FLOAT16, DOUBLE = 10, 11
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


def written(folder: Path, **shape: Any) -> str:
    weights = (4, 0, 0, 4, 0, 0, 0, 0)[: 2 * shape.get("channels", 3)]
    (folder / "m.onnx").write_bytes(mean_colors(weights=weights, **shape))
    (folder / "m.json").write_text(json.dumps({"labels": ["no", "yes"]}))
    return f"onnx:{folder / 'm.onnx'}"


def flat_pictures(n: int) -> NDArray[np.float32]:
    """One color each, which no resizing changes."""
    colors = np.random.default_rng(3).integers(0, 256, (n, 1, 1, 3)) / 255
    return np.broadcast_to(colors, (n, 40, 60, 3)).astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_every_picture_gets_its_own_answer(name: str, tmp_path: Path) -> None:
    bound = load_model(written(tmp_path, **SHAPES[name])).bind(Question("Is it?", ()))
    given = flat_pictures(7)  # no multiple of four
    scores = np.exp(4 * given.astype(np.float64).mean(axis=(1, 2))[:, :2])
    found = np.exp(bound.log_probs(given))
    np.testing.assert_allclose(found, scores / scores.sum(axis=1, keepdims=True), atol=2e-3)
    assert np.ptp(found[:, 0]) > 0.1


def test_a_fixed_side_keeps_the_shape_of_the_picture(tmp_path: Path) -> None:
    """Left is black and right is white: half of each, whatever the width is."""
    given = np.zeros((1, 40, 60, 3), np.float32)
    given[:, :, 30:, 0] = 1
    for shape in ({"height": 16}, {"width": 24}, {"channels_last": True, "width": 24}):
        model = load_model(written(tmp_path, **shape))
        pieces = list(model.answerer.picture.pieces(given))  # type: ignore[attr-defined]
        ((fed, n),) = pieces
        high_and_wide = fed.shape[1:3] if "channels_last" in shape else fed.shape[2:]
        assert n == 1 and high_and_wide == (16, 24)
        assert np.exp(model.bind(Question("Is it?", ())).log_probs(given))[0, 0] == pytest.approx(
            0.881, abs=0.01
        )


def test_check_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(
        'question = "Are there any cubes?"\nanswer = "yes"\n[render]\npreset = "fake"\n'
    )
    spec = written(tmp_path, batch=1, height=224, width=224, channels_last=True)
    assert trex("check", tmp_path / "q.toml", "--model", spec).exit_code == 0


def test_pictures_without_three_channels_are_refused_in_words(tmp_path: Path) -> None:
    for shape in ({"channels": 1, "width": 24}, {"channels": 4, "channels_last": True, "height": 16}):
        with pytest.raises(
            InputError, match=r"takes pictures .*, of no 3 channels; it must take float \(B, 3, H"
        ):
            load_model(written(tmp_path, **shape))
