"""'live:module.Class': an object of the user's Python session, given to `trex.find(model=...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.adapters.live import PREFIX
from trex.clevr_models.specs.adapter import Adapter, runs_nothing

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.live_model import live_model

    return live_model(spec)


ADAPTER = Adapter(
    name="live",
    fits=lambda spec: spec.startswith(PREFIX),
    load=_load,
    words="a live object from Python (trex.find)",
    order=50,
    trust=runs_nothing,
)
