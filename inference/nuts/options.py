"""The options of NUTS; imports no torch, so that checking a query is fast."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError

# The figures of a draw: mean acceptance over its trajectory's points; whether its energy error exceeded Pyro's 1000;
# the number of doublings, and of gradients; the Hamiltonian at its start. They are stored with each draw.
FIGURES = ACCEPT, DIVERGENT, DEPTH, GRADIENTS, ENERGY = (
    "accept_prob",
    "is_divergent",
    "depth",
    "n_gradients",
    "energy",
)
MIN_ADAPTATION = 20  # warmup steps at the paper's target that Pyro's windows need


@dataclass(frozen=True)
class NutsOptions:
    """Warmup steps, the first `path` on the log-space path of `trex.inference.nuts.chain`; the rest as in Pyro."""

    warmup: int = 300
    path: int = 60
    accept: float = 0.8
    max_depth: int = 10

    def __post_init__(self) -> None:
        if self.path < 0 or self.warmup - self.path < MIN_ADAPTATION:
            raise InputError(
                f"warmup {self.warmup} with a path of {self.path} leaves {self.warmup - self.path} steps to tune step "
                f"size and mass matrix; leave at least {MIN_ADAPTATION}"
            )
        if not 0.0 < self.accept < 1.0:
            raise InputError(f"accept {self.accept} must lie between 0 and 1; Pyro's is 0.8")
        if not 1 <= self.max_depth <= 20:
            raise InputError(f"max_depth {self.max_depth} must be from 1 to 20 doublings; Pyro's is 10")
