"""Which epoch's weights a tuned model keeps: each epoch's weights, as they are stored, judged by the same pictures."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from trex.artifacts.weights import compact, expand, load_into
from trex.repair.arrays import Array, ints, read_arrays, write_arrays
from trex.repair.correction.sets import Set
from trex.repair.loaded import answers

PREFIX = "weights."


@dataclass(frozen=True, eq=False)
class Epochs:
    """The epochs of one training: a file for each, beginning with `stem`, and the pictures that judge them."""

    judging: Set
    stem: Path

    def keep(self, epoch: int, modules: Mapping[str, nn.Module]) -> None:
        """Write the weights of an epoch with its right answers, unless they are there."""
        path = self._path(epoch)
        if path.exists():
            return
        network = copy.deepcopy(modules["model"]).eval()
        load_stored(network, state := stored(network), path)
        right = int((answers(network, self.judging.pictures) == self.judging.labels).sum())
        write_arrays(path, {"right": np.array([right]), **state})

    def best(self, epochs: int) -> int:
        """The first epoch, from 1, with the most right answers."""
        right = [int(ints(read_arrays(self._path(epoch))["right"])[0]) for epoch in range(1, epochs + 1)]
        return 1 + int(np.argmax(right))

    def load(self, network: nn.Module, epoch: int) -> None:
        """Give a network the weights of an epoch."""
        load_stored(network, read_arrays(self._path(epoch)), self._path(epoch))

    def _path(self, epoch: int) -> Path:
        return self.stem.with_name(f"{self.stem.name}.epoch-{epoch:04}.safetensors")


def stored(network: nn.Module) -> dict[str, Array]:
    """A network's weights as they are stored, under names with PREFIX."""
    return {f"{PREFIX}{name}": tensor.numpy() for name, tensor in compact(network).items()}


def state_of(found: Mapping[str, Array]) -> dict[str, torch.Tensor]:
    """The stored weights among arrays."""
    return {
        name.removeprefix(PREFIX): torch.from_numpy(array)
        for name, array in found.items()
        if name.startswith(PREFIX)
    }


def load_stored(network: nn.Module, found: Mapping[str, Array], path: Path) -> None:
    """Give a network the stored weights among arrays, which are those of this path."""
    load_into(network, expand(state_of(found)), path)
