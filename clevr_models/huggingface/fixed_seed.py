"""Models that draw random numbers, such as ViLT for the order of its patches, on the same ones for every picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SEED = 0


@contextmanager
def fixed_seed(device: torch.device) -> Iterator[None]:
    """Inference with torch's generators at a fixed seed; their states are put back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.inference_mode():
        torch.manual_seed(SEED)
        yield
