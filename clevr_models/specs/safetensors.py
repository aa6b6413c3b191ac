"""A path that ends in .safetensors: weights of the shipped network, as written by `trex train clevr`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trex.clevr_models.specs.adapter import Adapter, runs_nothing

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel

SUFFIX = ".safetensors"
WORDS = "a path that ends in .safetensors"


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.percept.model import load_percept

    return load_percept(Path(spec))


ADAPTER = Adapter("safetensors", lambda spec: spec.endswith(SUFFIX), _load, WORDS, 60, runs_nothing)
