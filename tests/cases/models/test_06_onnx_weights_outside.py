"""An ONNX model with weights in a second file is refused in every folder: its identity would not cover that file.

onnxruntime looks for the second file in the current folder, so that such a model worked in its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.references.onnx_files import mean_colors, nested
from trex.clevr_models.adapters.onnx_input import external_file
from trex.clevr_models.catalog import load_model
from trex.foundation.errors import InputError

ELSEWHERE = "w.data"


@pytest.mark.parametrize("is_here", [True, False])
@pytest.mark.parametrize("what", ["initializer", *nested(ELSEWHERE)])
def test_weights_in_a_second_file_are_refused_everywhere(
    what: str, is_here: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    data = {"initializer": mean_colors(elsewhere=ELSEWHERE), **nested(ELSEWHERE)}[what]
    (tmp_path / "m.onnx").write_bytes(data)
    (tmp_path / "m.json").write_text(json.dumps({"labels": ["a", "b"]}))
    np.arange(6, dtype=np.float32).tofile(tmp_path / ELSEWHERE)
    if is_here:
        monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=r"keeps weights in another file \('w.data'\).*export it as one file"
    ):
        load_model("onnx:m.onnx" if is_here else f"onnx:{tmp_path / 'm.onnx'}")


def test_a_name_in_a_file_that_holds_its_weights_is_no_second_file() -> None:
    """The words that mark a second file may be the name of a node or a text in the file."""
    assert external_file(mean_colors()) is None
    assert external_file(mean_colors() + b"\x32\x0a\x0a\x08location\x12"[:4] + b"location") is None


def test_bytes_that_are_no_model_are_no_endless_search() -> None:
    for data in (b"\xff" * 40, b"\x3a\xff\xff\xff\xff\x0f", mean_colors()[:-3]):
        with pytest.raises(ValueError, match="damaged"):
            external_file(data)
