"""'relation-network', and its variants by name: released weights, checked by their sha256."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.specs.adapter import Adapter, runs_nothing

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel

FAMILY, DEFAULT = "relation-network", "relation-network:ir"
SPECS = (FAMILY, "relation-network:original", DEFAULT)


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.fetch import NAMES, verify_model
    from trex.clevr_models.relation_network.model import load_relation_model

    name = DEFAULT if spec == FAMILY else spec
    return load_relation_model(verify_model(name), NAMES[name])


ADAPTER = Adapter(
    "relation-network", lambda spec: spec in SPECS, _load, ", ".join(map(repr, SPECS)), 20, runs_nothing
)
