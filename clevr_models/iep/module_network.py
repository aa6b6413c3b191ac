"""The execution engine of Johnson et al. (2017): a small network for every function, assembled by a program.

Tensors are named and shaped as in the released files: 204 of them, 40,400,800 numbers for CLEVR, without batch norm.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from trex.clevr_models.iep.programs import SCENE, Call, is_binary
from trex.clevr_models.iep.sizes import EngineSizes


class ExecutionEngine(nn.Module):
    """Features of pictures and one program to the logits of all answers."""

    def __init__(self, sizes: EngineSizes, tokens: Sequence[str], n_answers: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(*_stem(sizes))
        for token in tokens:
            kind = BinaryModule if is_binary(token) else ResidualBlock
            self.add_module(token, kind(sizes.module_dim, sizes.module_batchnorm))
        self.classifier = nn.Sequential(*_classifier(sizes, n_answers))

    def forward(self, features: Tensor, calls: Sequence[Call]) -> Tensor:
        """Features (B, C, H, W) and a program that all pictures share -> logits (B, answers)."""
        return self.classify(self.run(features, calls))

    def run(self, features: Tensor, calls: Sequence[Call]) -> Tensor:
        """(B, C, H, W) -> (B, module_dim, H, W): the result of the last call."""
        stem = self.stem(features)
        results: list[Tensor] = []
        for call in calls:
            inputs = [stem] if call.token == SCENE else [results[at] for at in call.inputs]
            results.append(self.get_submodule(call.token)(*inputs))
        return results[-1]

    def classify(self, result: Tensor) -> Tensor:
        """(B, module_dim, H, W) -> logits (B, answers)."""
        logits: Tensor = self.classifier(result)
        return logits


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    def __init__(self, channels: int, has_norm: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1, self.bn2 = (nn.BatchNorm2d(channels) if has_norm else nn.Identity() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """relu(x + conv2(relu(conv1 x)))."""
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(y)))


class BinaryModule(nn.Module):
    """Two inputs, the first argument's channels first, made one by a 1x1 convolution; then a residual block."""

    def __init__(self, channels: int, has_norm: bool) -> None:
        super().__init__()
        self.proj = nn.Conv2d(2 * channels, channels, 1)
        self.res_block = ResidualBlock(channels, has_norm)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Both (B, channels, H, W)."""
        joined = torch.relu(self.proj(torch.cat([first, second], dim=1)))
        found: Tensor = self.res_block(joined)
        return found


def _stem(sizes: EngineSizes) -> list[nn.Module]:
    layers: list[nn.Module] = []
    inputs = sizes.feature_dim[0]
    for _ in range(sizes.stem_num_layers):
        layers.append(nn.Conv2d(inputs, sizes.module_dim, 3, padding=1))
        layers += [nn.BatchNorm2d(sizes.module_dim)] * sizes.stem_batchnorm
        layers.append(nn.ReLU())
        inputs = sizes.module_dim
    return layers


def _classifier(sizes: EngineSizes, n_answers: int) -> list[nn.Module]:
    channels, (_, height, width) = sizes.classifier_proj_dim, sizes.feature_dim
    layers: list[nn.Module] = [nn.Conv2d(sizes.module_dim, channels, 1)]
    layers += [nn.BatchNorm2d(channels)] * sizes.classifier_batchnorm
    layers += [nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    inputs = channels * (height // 2) * (width // 2)
    for outputs in sizes.classifier_fc_layers:
        layers.append(nn.Linear(inputs, outputs))
        layers += [nn.BatchNorm1d(outputs)] * sizes.classifier_batchnorm
        layers.append(nn.ReLU())
        inputs = outputs
    return [*layers, nn.Linear(inputs, n_answers)]
