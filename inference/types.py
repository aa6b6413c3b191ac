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
    """A renderer's output for one latent.

    Examples
    --------
    >>> import types
    >>> import numpy as np
    >>> picture = types.SimpleNamespace(pixels=np.zeros((28, 28, 1), np.float32))
    """

    @property
    def pixels(self) -> NDArray[np.uint8] | NDArray[np.float32]:
        """(H, W, C), C = 3 (1 for gray digits): bytes 0-255, or not rounded, float32 in [0, 1]."""
        ...


class Prior(Protocol[Z]):
    """A distribution of latents.

    Examples
    --------
    Points of a square, for `trex.World(prior=Square(), render=...)`:

    >>> import numpy as np
    >>> class Square:
    ...     def sample(self, rng):
    ...         return rng.uniform(-1.0, 1.0, 2)
    ...
    ...     def log_density(self, z):
    ...         return -np.log(4.0) if abs(z).max() <= 1.0 else -np.inf
    """

    def sample(self, rng: np.random.Generator) -> Z:
        """One draw.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of randomness, so that a seed repeats the result. Example: np.random.default_rng(0).
        """
        ...

    def log_density(self, z: Z) -> float:
        """Natural log; -inf outside the support, from geometry alone, without a render.

        Parameters
        ----------
        z : latent
            Any latent, also one outside the support. Example: np.array([0.5, -0.5]).
        """
        ...


class Proposal(Protocol[Z]):
    """A way to change a latent.

    Examples
    --------
    A Gaussian step, for `trex.find(proposal=Walk())`:

    >>> class Walk:
    ...     def propose(self, rng, z):
    ...         return z + 0.1 * rng.standard_normal(z.shape)
    ...
    ...     def log_q(self, to, given):
    ...         return -0.5 * float((((to - given) / 0.1) ** 2).sum())
    """

    def propose(self, rng: np.random.Generator, z: Z) -> Z:
        """One proposal; never retries until valid.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of randomness, so that a seed repeats the result. Example: np.random.default_rng(0).
        z : latent
            Where the chain is; it must not be changed in place. Example: np.zeros(2).
        """
        ...

    def log_q(self, to: Z, given: Z) -> float:
        """The log density of `propose`, with respect to a symmetric dominating measure.

        A constant that is the same in both directions may be left out.

        Parameters
        ----------
        to : latent
            Where the move ends. Example: np.array([0.1, 0.0]).
        given : latent
            Where the move starts. Example: np.zeros(2).
        """
        ...


class Renderer(Protocol[Z_contra]):
    """Renders latents: Blender, a VAE or GAN decoder, a cache, a farm, a fake.

    Examples
    --------
    A gray pixel, the brighter the farther out:

    >>> import types
    >>> import numpy as np
    >>> class Dots:
    ...     key = "dots 1"
    ...
    ...     def render(self, zs):
    ...         grays = [np.full((1, 1, 1), np.tanh(z @ z / 8), np.float32) for z in zs]
    ...         return [types.SimpleNamespace(pixels=gray) for gray in grays]
    ...
    ...     def close(self):
    ...         pass
    """

    def render(self, zs: Sequence[Z_contra]) -> Sequence[Picture]:
        """One picture per latent, in the same order; the same latent always gives the same picture.

        Parameters
        ----------
        zs : sequence of latents
            What to draw, all at once. Example: [np.zeros(2), np.ones(2)].
        """
        ...


class Classifier(Protocol):
    """The model under inspection, already bound to its question if it has one.

    Examples
    --------
    Says "far" of bright pixels:

    >>> import numpy as np
    >>> class Sign:
    ...     labels = ("near", "far")
    ...
    ...     def log_probs(self, images):
    ...         far = np.clip(images.mean(axis=(1, 2, 3), dtype=np.float64), 0.01, 0.99)
    ...         return np.log(np.stack([1.0 - far, far], axis=1))
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The K answers, in the order of the probabilities."""
        ...

    def log_probs(self, images: Pixels) -> Floats:
        """The natural log of the probabilities, (B, K); the probabilities of a row sum to 1.

        Parameters
        ----------
        images : float32 array (B, H, W, C)
            Pictures, 0 to 1; C is 3, or 1 for gray. Example: np.zeros((2, 28, 28, 1), np.float32).
        """
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

    Parameters
    ----------
    z : latent
        A scene, or a float array (d,).
    log_prior : float
        The prior's natural log density at z; -inf if it was not rendered.
    log_weight : float
        The target's `log_weight` of the probabilities; -inf if it was not rendered.
    log_probs : float array (K,)
        Natural logs of the model's probabilities; empty if it was not rendered.
    picture : Picture, default None
        What the model saw. None without a render, or if the picture is stored elsewhere. Example: picture=drawn[0].

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.types import State
    >>> state = State(np.zeros(2), log_prior=-1.8, log_weight=2.1, log_probs=np.log([0.1, 0.9]))
    >>> state.is_scored
    True
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

    A kernel leaves the last three parameters out: `rounds` numbers its draws and marks those of the warmup.

    Parameters
    ----------
    state : State
        Where the chain is after the step.
    is_accepted : bool, default True
        Whether the chain moved to what was proposed.
    proposed : State, default None
        The point that was tried, accepted or not. None for draws that are no steps, and for those read from a run
        folder. Example: proposed=tried.
    log_accept_ratio : float, default 0.0
        Natural log of the acceptance ratio; -inf for a point outside the prior's support. Example:
        log_accept_ratio=-0.7.
    was_rendered : bool, default True
        Whether the step rendered a picture.
    figures : mapping of str to float, default {}
        The kernel's numbers about its trajectory, by names of its own; none for single steps. Example:
        figures={"depth": 3.0}.
    chain : int, default -1
        The number of the chain, from 0; -1 for a draw of the prior. Example: chain=2.
    index : int, default 0
        The number of the step in its chain, from 0. Example: index=17.
    is_warmup : bool, default False
        Whether summaries leave it out.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.types import Draw, State
    >>> old = State(np.zeros(2), -1.8, 2.1, np.log([0.1, 0.9]))
    >>> tried = State(np.ones(2), -2.8, 1.4, np.log([0.2, 0.8]))
    >>> rejected = Draw(old, is_accepted=False, proposed=tried, log_accept_ratio=-1.7)
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
    """A Markov transition that leaves the posterior invariant: Metropolis, or one of your own.

    Examples
    --------
    Each chain takes a small or a large step, with equal probability:

    >>> class Mixed:
    ...     def __init__(self, small, large):
    ...         self.kernels = (small, large)
    ...
    ...     def step(self, rngs, states):
    ...         pairs = zip(rngs, states, strict=True)
    ...         return [self.kernels[rng.integers(2)].step([rng], [state])[0] for rng, state in pairs]
    """

    def step(self, rngs: Sequence[np.random.Generator], states: Sequence[State[Z]]) -> list[Draw[Z]]:
        """One step of every chain, in the order of the states.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One for each chain, so that no chain depends on the others. Example: [np.random.default_rng(0)].
        states : sequence of State
            Where each chain is. Example: [draw.state for draw in before].
        """
        ...
