"""'iep:...': released networks of "Inferring and Executing Programs", or files of their form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.interface.prefixes import IEP
from trex.clevr_models.specs.adapter import Adapter, runs_nothing

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel

WORDS = "'iep:18k' and other released CLEVR models ('iep:GENERATOR.pt,ENGINE.pt' for files)"


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.iep.load import load_iep

    return load_iep(spec)


ADAPTER = Adapter("iep", lambda spec: spec.startswith(IEP), _load, WORDS, 30, runs_nothing)
