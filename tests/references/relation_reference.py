"""The Relation Network written out plainly, pair by pair, from the facts of its release; and made-up weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from trex.clevr_models.relation_network.network import RelationNetwork

State = Mapping[str, Tensor]


@dataclass(frozen=True)
class Reading:
    """How the facts are read; every other choice than these is a bug that the tests plant."""

    reversed: bool = True
    padded: bool = True
    x_first: bool = True
    norm_before_relu: bool = True
    ordered_pairs: bool = True  # False: each pair once


def random_state(variant: str, seed: int = 0) -> dict[str, Tensor]:
    """Weights of the right shapes under which every part of the network matters to the answer."""
    built = torch.Generator().manual_seed(seed)
    state = {}
    for name, tensor in RelationNetwork(variant).state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        width = tensor[0].numel() if tensor.ndim > 1 else 1
        drawn = torch.randn(tensor.shape, generator=built)
        state[name] = drawn.abs() + 0.5 if name.endswith("running_var") else drawn * (1.5 / width) ** 0.5
    for name in ("rl.f_fc1.weight", "rl.f_fc2.weight"):
        state[name] = state[name] * 0.05  # the sum over 4,096 pairs is large
    return state


def reference_logits(
    state: State, variant: str, image: Tensor, words: Sequence[int], how: Reading | None = None
) -> Tensor:
    """One picture (3, 128, 128) and one question to logits (28,), the slow way."""
    how = how or Reading()
    cells, question = _cells(state, image, how), _question(state, words, how)
    total = torch.zeros(256)
    for i in range(64):
        for j in range(0 if how.ordered_pairs else i, 64):
            total = total + _pair(state, variant, cells[i], cells[j], question)
    x = functional.relu(_linear(state, "rl.f_fc1", total))
    return _linear(state, "rl.f_fc3", functional.relu(_linear(state, "rl.f_fc2", x)))


def _pair(state: State, variant: str, first: Tensor, second: Tensor, question: Tensor) -> Tensor:
    joins = {"original": 0, "ir": 2}[variant]
    x = torch.cat([first, second])
    for layer in range(4):
        x = torch.cat([x, question]) if layer == joins else x
        x = functional.relu(_linear(state, f"rl.g_layers.{layer}", x))
    return x


def _cells(state: State, image: Tensor, how: Reading) -> list[Tensor]:
    x = image[None]
    for layer in range(1, 5):
        norm = f"conv.batchNorm{layer}"
        x = functional.conv2d(x, state[f"conv.conv{layer}.weight"], state[f"conv.conv{layer}.bias"], 2, 1)
        statistics = [state[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        if how.norm_before_relu:
            x = functional.relu(functional.batch_norm(x, *statistics))
        else:
            x = functional.batch_norm(functional.relu(x), *statistics)
    line = torch.linspace(-4, 4, 8)
    return [
        torch.cat([x[0, :, row, column], line[[column, row] if how.x_first else [row, column]]])
        for row in range(8)
        for column in range(8)
    ]


def _question(state: State, words: Sequence[int], how: Reading) -> Tensor:
    lstm = torch.nn.LSTM(32, 128)
    lstm.load_state_dict({name[10:]: state[name] for name in state if name.startswith("text.lstm.")})
    read = [0] * (45 - len(words) if how.padded else 0) + (list(words)[::-1] if how.reversed else list(words))
    output, _ = lstm(state["text.wembedding.weight"][read].unsqueeze(1))
    last: Tensor = output[-1, 0]
    return last


def _linear(state: State, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])
