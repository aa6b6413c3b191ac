"""What the released CLEVR models cost: pictures a second for features and execution engine, one CPU thread.

Weights are made up: what they are does not change the cost.
"""

from __future__ import annotations

import time

import torch

from benchmarks.figure import note, show
from trex.clevr_models.iep.checkpoint import build
from trex.clevr_models.iep.model import Bound, answer_order
from trex.clevr_models.iep.resnet_features import ResNet
from trex.clevr_models.iep.sizes import EngineSizes
from trex.clevr_models.iep.vocabulary import IepVocabulary, calls_of

# "Does the small sphere have the same color as the cube left of the gray cube?"
PROGRAM = (
    "equal_color query_color unique filter_shape[sphere] filter_size[small] scene query_color unique "
    "filter_shape[cube] relate[left] unique filter_shape[cube] filter_color[gray] scene"
)
BATCHES = {1: 8, 32: 1}  # pictures at a time, and how many times


def released() -> None:
    """Features plus execution engine on 480x320 pictures, 1 and 32 at a time; other work may run beside."""
    note("released models: ResNet-101 features and execution engine")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    vocabulary = IepVocabulary()
    engine = build(EngineSizes(), vocabulary)
    calls = calls_of(PROGRAM.split())
    bound = Bound(ResNet(), "engine", engine, calls, answer_order(vocabulary)[1]).eval()
    for batch, times in BATCHES.items():
        rate = _pictures_per_s(bound, batch, times)
        show(f"released_models_batch_{batch}", rate, "pictures per CPU second")
    stages = ((bound.features, torch.rand(1, 3, 320, 480)), (_Engine(engine), torch.rand(1, 1024, 14, 14)))
    for name, (module, given) in zip(("features", "engine_15_modules"), stages, strict=True):
        show(f"released_models_{name}", _cpu_s(module, given, 8) / 8, "CPU seconds a picture")


class _Engine(torch.nn.Module):
    """The engine alone, with its program."""

    def __init__(self, engine: torch.nn.Module) -> None:
        super().__init__()
        self.engine = engine

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.engine(features, calls_of(PROGRAM.split()))
        return logits


def _pictures_per_s(module: torch.nn.Module, batch: int, times: int) -> float:
    return batch * times / _cpu_s(module, torch.rand(batch, 3, 320, 480), times)


def _cpu_s(module: torch.nn.Module, given: torch.Tensor, times: int) -> float:
    with torch.inference_mode():
        module(given[:1])
        begin = time.process_time()
        for _ in range(times):
            module(given)
    return time.process_time() - begin
