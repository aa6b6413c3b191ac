"""'onnx:FILE.onnx': a file that onnxruntime runs, with a card beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trex.clevr_models.interface.prefixes import ONNX
from trex.clevr_models.specs.adapter import Adapter

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.onnx_model import load_onnx

    return load_onnx(Path(spec.removeprefix(ONNX)), threads)


def _loads_a_file(spec: str) -> str:
    return f"loads the file of model {spec!r}"


ADAPTER = Adapter("onnx", lambda spec: spec.startswith(ONNX), _load, "'onnx:FILE.onnx'", 40, _loads_a_file)
