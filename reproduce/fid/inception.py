"""The Inception network of published FIDs (Szegedy et al. 2016, https://arxiv.org/abs/1512.00567).

Layers are named as in the port of TensorFlow's network of 2015-12-05 for pytorch-fid and torch-fidelity
(`pt_inception-2015-12-05-6726825d.pth`), whose pooling differs from torchvision's `inception_v3`: averages exclude
padding, and the last block takes a maximum. Both of those libraries need torchvision, which does not load with a
CPU torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.artifacts.weights import load_into, read_checkpoint, tensors_of

SIDE_PX = 299
FEATURES = 2048
EPSILON = 1e-3  # of the batch normalization, as TensorFlow's
SHA256_BEGINS = "6726825d"  # of the published file, which has it in its name


class Unit(NamedTuple):
    """A convolution without bias, batch normalization and ReLU."""

    name: str
    channels: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padded: bool = True  # so that stride 1 keeps the size


Chain = tuple[
    Unit | tuple[Unit, Unit], ...
]  # two units at its end: both read the same input, and their outputs are concatenated


class Block(NamedTuple):
    """Parallel chains, and a pooling of the input, followed by a 1x1 convolution unless it halves the size."""

    name: str
    chains: tuple[Chain, ...]
    pool: str  # average, maximum or halve
    channels: int = 0


WIDE, TALL = (1, 7), (7, 1)
STEM = (
    Unit("Conv2d_1a_3x3", 32, (3, 3), 2, padded=False),
    Unit("Conv2d_2a_3x3", 32, (3, 3), padded=False),
    Unit("Conv2d_2b_3x3", 64, (3, 3)),
    None,  # maximum of 3x3, stride 2
    Unit("Conv2d_3b_1x1", 80),
    Unit("Conv2d_4a_3x3", 192, (3, 3), padded=False),
    None,
)


def _a(name: str, pooled: int) -> Block:
    chains: tuple[Chain, ...] = (
        (Unit("branch1x1", 64),),
        (Unit("branch5x5_1", 48), Unit("branch5x5_2", 64, (5, 5))),
        (
            Unit("branch3x3dbl_1", 64),
            Unit("branch3x3dbl_2", 96, (3, 3)),
            Unit("branch3x3dbl_3", 96, (3, 3)),
        ),
    )
    return Block(name, chains, "average", pooled)


def _c(name: str, inner: int) -> Block:
    chains: tuple[Chain, ...] = (
        (Unit("branch1x1", 192),),
        (Unit("branch7x7_1", inner), Unit("branch7x7_2", inner, WIDE), Unit("branch7x7_3", 192, TALL)),
        (
            Unit("branch7x7dbl_1", inner),
            Unit("branch7x7dbl_2", inner, TALL),
            Unit("branch7x7dbl_3", inner, WIDE),
            Unit("branch7x7dbl_4", inner, TALL),
            Unit("branch7x7dbl_5", 192, WIDE),
        ),
    )
    return Block(name, chains, "average", 192)


def _e(name: str, pool: str) -> Block:
    chains: tuple[Chain, ...] = (
        (Unit("branch1x1", 320),),
        (
            Unit("branch3x3_1", 384),
            (Unit("branch3x3_2a", 384, (1, 3)), Unit("branch3x3_2b", 384, (3, 1))),
        ),
        (
            Unit("branch3x3dbl_1", 448),
            Unit("branch3x3dbl_2", 384, (3, 3)),
            (Unit("branch3x3dbl_3a", 384, (1, 3)), Unit("branch3x3dbl_3b", 384, (3, 1))),
        ),
    )
    return Block(name, chains, pool, 192)


BLOCKS = (
    _a("Mixed_5b", 32),
    _a("Mixed_5c", 64),
    _a("Mixed_5d", 64),
    Block(
        "Mixed_6a",
        (
            (Unit("branch3x3", 384, (3, 3), 2, padded=False),),
            (
                Unit("branch3x3dbl_1", 64),
                Unit("branch3x3dbl_2", 96, (3, 3)),
                Unit("branch3x3dbl_3", 96, (3, 3), 2, padded=False),
            ),
        ),
        "halve",
    ),
    _c("Mixed_6b", 128),
    _c("Mixed_6c", 160),
    _c("Mixed_6d", 160),
    _c("Mixed_6e", 192),
    Block(
        "Mixed_7a",
        (
            (Unit("branch3x3_1", 192), Unit("branch3x3_2", 320, (3, 3), 2, padded=False)),
            (
                Unit("branch7x7x3_1", 192),
                Unit("branch7x7x3_2", 192, WIDE),
                Unit("branch7x7x3_3", 192, TALL),
                Unit("branch7x7x3_4", 192, (3, 3), 2, padded=False),
            ),
        ),
        "halve",
    ),
    _e("Mixed_7b", "average"),
    _e("Mixed_7c", "maximum"),
)


class ConvUnit(nn.Module):
    """A `Unit` with a number of input channels."""

    def __init__(self, inputs: int, unit: Unit) -> None:
        super().__init__()
        high, wide = unit.kernel
        padding = (high // 2, wide // 2) if unit.padded else (0, 0)
        self.conv = nn.Conv2d(inputs, unit.channels, unit.kernel, unit.stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(unit.channels, eps=EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) -> (B, unit.channels, H', W')."""
        return functional.relu(self.bn(self.conv(x)))


class MixedBlock(nn.Module):
    """A `Block` with a number of input channels; `outputs` is the number of its output channels."""

    def __init__(self, inputs: int, block: Block) -> None:
        super().__init__()
        self.block = block
        self.outputs = inputs if block.pool == "halve" else block.channels
        for chain in block.chains:
            self.outputs += self._add(inputs, chain)
        if block.pool != "halve":
            self.add_module("branch_pool", ConvUnit(inputs, Unit("branch_pool", block.channels)))

    def _add(self, inputs: int, chain: Chain) -> int:
        for link in chain:
            units = _units(link)
            for unit in units:
                self.add_module(unit.name, ConvUnit(inputs, unit))
            inputs = sum(unit.channels for unit in units)
        return inputs

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) -> (B, outputs, H', W')."""
        return torch.cat([*(self._follow(x, chain) for chain in self.block.chains), self._pooled(x)], dim=1)

    def _follow(self, x: Tensor, chain: Chain) -> Tensor:
        for link in chain:
            x = torch.cat([self.get_submodule(unit.name)(x) for unit in _units(link)], dim=1)
        return x

    def _pooled(self, x: Tensor) -> Tensor:
        if self.block.pool == "halve":
            return functional.max_pool2d(x, 3, stride=2)
        if self.block.pool == "maximum":
            x = functional.max_pool2d(x, 3, stride=1, padding=1)
        else:
            x = functional.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)
        found: Tensor = self.get_submodule("branch_pool")(x)
        return found


class InceptionFeatures(nn.Module):
    """Pictures (B, 1 or 3, H, W) in [0, 1] -> the last average (B, 2048), resized and scaled as in pytorch-fid."""

    def __init__(self) -> None:
        super().__init__()
        channels = 3
        for unit in STEM:
            if unit is not None:
                self.add_module(unit.name, ConvUnit(channels, unit))
                channels = unit.channels
        for block in BLOCKS:
            mixed = MixedBlock(channels, block)
            self.add_module(block.name, mixed)
            channels = mixed.outputs

    def forward(self, images: Tensor) -> Tensor:
        """(B, 1 or 3, H, W) in [0, 1] -> (B, 2048)."""
        x = functional.interpolate(images, size=(SIDE_PX, SIDE_PX), mode="bilinear", align_corners=False)
        x = 2 * x.expand(-1, 3, -1, -1) - 1
        for unit in STEM:
            x = functional.max_pool2d(x, 3, stride=2) if unit is None else self.get_submodule(unit.name)(x)
        for block in BLOCKS:
            x = self.get_submodule(block.name)(x)
        return x.mean(dim=(2, 3))


def load_inception(path: Path) -> tuple[InceptionFeatures, str]:
    """The network with the weights of a state dict, without its classifier, and the sha256 of the file.

    Raises InputError if it is missing, damaged, contains more than tensors, or belongs to another network.
    """
    found, sha256 = read_checkpoint(path)
    state = {name: t for name, t in tensors_of(found, path).items() if not name.startswith("fc.")}
    network = InceptionFeatures()
    load_into(network, state, path)
    return network.eval().requires_grad_(False), sha256


def _units(link: Unit | tuple[Unit, Unit]) -> Sequence[Unit]:
    return (link,) if isinstance(link, Unit) else link
