"""Subnormal numbers count as 0 while a bound network computes, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from trex.clevr_models.interface.bound import SUBNORMAL, BoundModule, is_flushing, subnormals_as_zero

BIG = 1e38  # makes a subnormal weight visible
pytestmark = pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this processor cannot do it")


class Inside(nn.Module):
    """Two answers; remembers how the processor was set while it computed."""

    flushing: bool | None = None

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([weight, 1.0 / BIG]))

    def forward(self, images: Tensor) -> Tensor:
        self.flushing = is_flushing()
        return images.mean(dim=(1, 2, 3))[:, None] * self.weight * BIG


def log_probs(module: nn.Module) -> np.ndarray:
    return BoundModule(module, ("a", "b")).log_probs(np.full((1, 32, 48, 3), 0.5, np.float32))


def test_a_bound_module_computes_so_and_the_thread_is_as_before() -> None:
    module = Inside(1.0)
    log_probs(module)
    assert module.flushing is True
    assert not is_flushing()


def test_a_subnormal_weight_counts_as_zero() -> None:
    assert np.array_equal(log_probs(Inside(SUBNORMAL)), log_probs(Inside(0.0)))


def test_the_setting_ends_with_an_error_and_outer_ones_stay() -> None:
    with pytest.raises(RuntimeError, match="inside"), subnormals_as_zero():
        raise RuntimeError("inside")
    assert not is_flushing()
    with subnormals_as_zero():
        with subnormals_as_zero():
            assert is_flushing()
        assert is_flushing()
    assert not is_flushing()
