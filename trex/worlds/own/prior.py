"""A prior of the user's own: an object with `sample(rng)` and `log_density(z)`, checked at each use."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.own_code import array_words, called, code_hash
from trex.inference.types import Floats, Prior

PROBES = 16  # draws by which a prior is known


@dataclass(frozen=True)
class OwnPrior:
    """The user's object as a prior of vectors with 64 bits, as run folders hold them."""

    prior: Prior[Floats]
    shape: tuple[int, ...]

    def sample(self, rng: np.random.Generator) -> Floats:
        """One draw, a copy; InputError for anything but finite floats (d,), always as many."""
        found = drawn(self.prior, rng)
        if found.shape != self.shape:
            raise InputError(f"the prior draws {found.shape} after {self.shape}; it must keep the shape")
        return found

    def log_density(self, z: Floats) -> float:
        """The object's; InputError for anything but a number, or -inf."""
        with called("log_density of the prior"):
            found = float(self.prior.log_density(z.copy()))
        if not found < np.inf:
            raise InputError(f"log_density of the prior is {found}; it must be a number, or -inf")
        return found

    @cached_property
    def code(self) -> str:
        """32 hex digits that change with the code of its classes, and with PROBES draws and their densities."""
        rng, words = np.random.default_rng(0), [code_hash(self.prior)]
        for _ in range(PROBES):
            z = self.sample(rng)
            words += [f"{number:.6g}" for number in (*z.tolist(), self.log_density(z))]
        return hashlib.sha256(" ".join(words).encode()).hexdigest()[:32]


def drawn(prior: Prior[Floats], rng: np.random.Generator) -> Floats:
    """One draw of the user's object, float64 (d,); InputError if it is none."""
    with called("sample of the prior"):
        found = np.array(prior.sample(rng))
    if found.ndim != 1 or found.dtype.kind != "f" or not np.isfinite(found).all():
        raise InputError(f"trex.World: the prior draws {array_words(found)}; it must draw finite floats (d,)")
    return found.astype(np.float64)
