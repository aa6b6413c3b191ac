"""The protocols and values of a search; Z is any latent (a scene, or a float array of shape (d,))."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Z = TypeVar("Z")
Z_contra = TypeVar("Z_contra", contravariant=True)
Floats = NDArray[np.float64]
Pixels = NDArray[np.float32]  # (B, H, W, C) in [0, 1]
PRIOR_CHAIN = -1  # the chain number of draws that come from the prior


class Picture(Protocol):
    """A renderer's output for one latent."""

    @property
    def pixels(self) -> NDArray[np.uint8] | NDArray[np.float32]:
        """(H, W, C), C = 3 (1 for gray digits): bytes 0-255, or not rounded, float32 in [0, 1]."""
        ...


class Prior(Protocol[Z]):
    """A distribution of latents."""

    def sample(self, rng: np.random.Generator) -> Z:
        """One draw."""
        ...

    def log_density(self, z: Z) -> float:
        """Natural log; -inf outside the support, from geometry alone, without a render."""
        ...


class Proposal(Protocol[Z]):
    """A way to change a latent."""

    def propose(self, rng: np.random.Generator, z: Z) -> Z:
        """One proposal; never retries until valid."""
        ...

    def log_q(self, to: Z, given: Z) -> float:
        """The exact log density of `propose`, with respect to a symmetric dominating measure."""
        ...


class Renderer(Protocol[Z_contra]):
    """Renders latents: Blender, a VAE or GAN decoder, a cache, a farm, a fake."""

    def render(self, zs: Sequence[Z_contra]) -> Sequence[Picture]:
        """One picture per latent, in the same order; a pure function of (z, preset)."""
        ...


class Classifier(Protocol):
    """The model under inspection, already bound to its question if it has one."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The K answers, in the order of the probabilities."""
        ...

    def log_probs(self, images: Pixels) -> Floats:
        """(B, H, W, C) in [0, 1] -> (B, K), natural log."""
        ...


class Target(Protocol):
    """A level set of the classifier, relaxed to a Gaussian observation of a statistic of its probabilities."""

    @property
    def log_peak(self) -> float:
        """The maximum of `log_weight`."""
        ...

    def log_weight(self, log_probs: Floats) -> float:
        """log Normal(observed; statistic(probs), width); log_probs is (K,)."""
        ...

    def simulate(self, rng: np.random.Generator, log_probs: Floats) -> Target:
        """The same target with `observed` drawn for these probabilities; for exact tests of samplers."""
        ...

    def is_hit(self, log_probs: Floats) -> bool:
        """Whether these probabilities lie in the level set, within the tolerance that `describe` states."""
        ...

    def confidence(self, log_probs: Floats) -> float:
        """The one number in [0, 1] to display for a hit."""
        ...

    def describe(self) -> str:
        """The target, its width and its tolerance in words."""
        ...


@dataclass(frozen=True)
class State(Generic[Z]):
    """A latent and its score: everything that the next step needs.

    Without a render there is no score: see `unscored`. `picture` is None too if it was stored elsewhere.
    """

    z: Z
    log_prior: float
    log_weight: float
    log_probs: Floats  # (K,); empty without a score
    picture: Picture | None = None

    @property
    def is_scored(self) -> bool:
        """Whether the classifier has answered."""
        return self.log_probs.size > 0


def unscored(z: Z) -> State[Z]:
    """A latent that was not rendered: it lies outside the prior's support, or nothing is to be decided."""
    return State(z, -math.inf, -math.inf, np.empty(0))


@dataclass(frozen=True)
class Draw(Generic[Z]):
    """One step of a chain: the state after it, which a rejection repeats, and its course; or one prior draw.

    `proposed` is the point that was tried, accepted or not; None for draws that are no steps, and for those read from
    the disk. `figures` are the kernel's numbers about its trajectory, empty for single steps. A kernel leaves it to
    its caller to number its draws and to mark those of the warmup.
    """

    state: State[Z]
    is_accepted: bool = True
    proposed: State[Z] | None = None
    log_accept_ratio: float = 0.0
    was_rendered: bool = True
    figures: Mapping[str, float] = field(default_factory=dict)
    chain: int = PRIOR_CHAIN
    index: int = 0
    is_warmup: bool = False

    @property
    def z(self) -> Z:
        """The state's latent."""
        return self.state.z


class Kernel(Protocol[Z]):
    """A Markov transition that leaves the posterior invariant: Metropolis, or surrogate transitions."""

    def step(self, rngs: Sequence[np.random.Generator], states: Sequence[State[Z]]) -> list[Draw[Z]]:
        """One step of every chain, each with its own rng, so that none depends on the others."""
        ...
