"""'shipped': the model that ships with this project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.specs.adapter import Adapter, runs_nothing

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.percept.model import load_shipped

    return load_shipped()


ADAPTER = Adapter("shipped", lambda spec: spec == "shipped", _load, "'shipped'", 10, runs_nothing)
