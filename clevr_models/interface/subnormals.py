"""Numbers below the normal range (1.2e-38 in float32) count as 0 while a network computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SUBNORMAL = 1e-40


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Within it this thread's arithmetic on the CPU takes subnormal numbers for 0, where the processor can.

    Weight decay drives unused weights there, and processors multiply such numbers some twenty times more slowly: a
    third of the relation layers' weights of the released Relation Network are subnormal, and it answers 13 times as
    fast like this (docs/PERFORMANCE.md). A sum with any other term does not notice them.
    """
    if is_flushing():
        yield
        return
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def is_flushing() -> bool:
    """Whether this thread takes subnormal numbers for 0."""
    return float(torch.tensor(SUBNORMAL) * 1.0) == 0.0
