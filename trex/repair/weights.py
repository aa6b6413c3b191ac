"""The weights of a tuned network among the arrays of a part, as models are stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from trex.artifacts.weights import compact, expand, load_into
from trex.repair.files import Array

PREFIX = "weights."


def stored(network: nn.Module) -> dict[str, Array]:
    """A network's weights as they are stored, under names with PREFIX."""
    return {f"{PREFIX}{name}": tensor.numpy() for name, tensor in compact(network).items()}


def state_of(found: Mapping[str, Array]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(PREFIX): torch.from_numpy(array)
        for name, array in found.items()
        if name.startswith(PREFIX)
    }


def load_stored(network: nn.Module, found: Mapping[str, Array], path: Path) -> None:
    """Give a network the stored weights among arrays, which are those of this path."""
    load_into(network, expand(state_of(found)), path)
