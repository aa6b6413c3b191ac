"""The released CLEVR models by their name on the command line: iep:18k, iep:cnn_lstm, or files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import nn

from trex.clevr_models.iep.baselines import BaselineSizes
from trex.clevr_models.iep.checkpoint import Part, read_parts
from trex.clevr_models.iep.fetch import PARTS, load_part, load_resnet
from trex.clevr_models.iep.model import BaselineModel, EngineModel, put_together
from trex.clevr_models.interface.prefixes import IEP
from trex.foundation.errors import unknown

# Generator and engine that were released together.
PAIRS: Mapping[str, tuple[str, str]] = {
    "9k": ("program_generator_9k", "execution_engine_9k"),
    "18k": ("program_generator_18k", "execution_engine_18k"),
    "700k": ("program_generator_700k", "execution_engine_700k_strong"),
}
FILES = (".pt", ".safetensors")
SPECS = (
    "iep:18k, iep:cnn_lstm_sa, iep:execution_engine_18k (runs the true program), iep:GENERATOR.pt,ENGINE.pt"
)


def load_iep(spec: str) -> EngineModel | BaselineModel:
    """The model of a spec; InputError if a part is unknown, missing or damaged, or the parts do not fit together."""
    names = spec.removeprefix(IEP).split(",")
    parts = [part for name in names for part in _parts(name)]
    return put_together(spec, parts, _features(parts))


def _parts(name: str) -> tuple[Part, ...]:
    if name.endswith(FILES):
        return read_parts(Path(name))
    if name in PAIRS:
        return tuple(load_part(part) for part in PAIRS[name])
    if name not in PARTS:
        raise unknown(
            "released model", name, (*PAIRS, *PARTS), f"Give file names with their suffix, e.g. {SPECS}."
        )
    return (load_part(name),)


def _features(parts: list[Part]) -> nn.Module:
    """ResNet-101, unless no part reads pictures."""
    is_blind = all(isinstance(part.sizes, BaselineSizes) and part.sizes.kind == "LSTM" for part in parts)
    return nn.Identity() if is_blind else load_resnet()
