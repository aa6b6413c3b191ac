"""A world of 224 states whose transition matrix can be written down: two objects on a ring of 8 places, 4 colors.

An object cannot stand where the other stands: 8 x 7 x 4 states are valid, 32 more can be proposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tests.simulations.toy import Pixel, PixelClassifier
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import high_confidence
from trex.inference.types import Floats, State, Target, unscored

PLACES, COLORS = 8, 4
Tiny = tuple[int, int, int]  # place of a, place of b, color
VALID: tuple[Tiny, ...] = tuple(
    (a, b, c) for a, b, c in product(range(PLACES), range(PLACES), range(COLORS)) if a != b
)
Outcomes = dict[Tiny, float]


@dataclass(frozen=True)
class TinyPrior:
    """Uniform on the valid states."""

    def sample(self, rng: np.random.Generator) -> Tiny:
        return VALID[int(rng.integers(len(VALID)))]

    def log_density(self, z: Tiny) -> float:
        return -math.log(len(VALID)) if z[0] != z[1] else -math.inf


@dataclass(frozen=True)
class TinyRenderer:
    """The state as a color."""

    def render(self, zs: Sequence[Tiny]) -> list[Pixel]:
        return [Pixel(np.array([[[a * 32, b * 32, c * 64]]], np.uint8)) for a, b, c in zs]


def jitter(z: Tiny) -> Outcomes:
    """Object a goes one place back, or one on; on is likelier in the later colors, so the move is not symmetric."""
    a, b, c = z
    on = (c + 2) / (COLORS + 3)
    return {((a + 1) % PLACES, b, c): on, ((a - 1) % PLACES, b, c): 1.0 - on}


def recolor(z: Tiny) -> Outcomes:
    """Another color: color 0 with twice the chance of any other."""
    chances = {c: 2.0 if c == 0 else 1.0 for c in range(COLORS) if c != z[2]}
    return {(z[0], z[1], c): chance / sum(chances.values()) for c, chance in chances.items()}


def swap(z: Tiny) -> Outcomes:
    """The objects change places."""
    return {(z[1], z[0], z[2]): 1.0}


def redraw(z: Tiny) -> Outcomes:
    """Object b anywhere, the same place and that of a included."""
    return {(z[0], b, z[2]): 1.0 / PLACES for b in range(PLACES)}


def blocks(z: Tiny) -> Outcomes:
    """The mixture of the four moves."""
    mixed: Outcomes = {}
    for weight, move in ((0.4, jitter), (0.3, recolor), (0.1, swap), (0.2, redraw)):
        for to, chance in move(z).items():
            mixed[to] = mixed.get(to, 0.0) + weight * chance
    return mixed


def retried(z: Tiny) -> Outcomes:
    """Planted (D5): what `blocks` really does once it draws until the state is valid."""
    kept = {to: chance for to, chance in blocks(z).items() if to[0] != to[1]}
    return {to: chance / sum(kept.values()) for to, chance in kept.items()}


@dataclass(frozen=True)
class TinyProposal:
    """Proposes by `outcomes`, and says that it proposes by `claimed`."""

    outcomes: Callable[[Tiny], Outcomes]
    claimed: Callable[[Tiny], Outcomes]

    def propose(self, rng: np.random.Generator, z: Tiny) -> Tiny:
        tos, chances = zip(*self.outcomes(z).items(), strict=True)
        return tos[int(rng.choice(len(tos), p=chances))]

    def log_q(self, to: Tiny, given: Tiny) -> float:
        chance = self.claimed(given).get(to, 0.0)
        return math.log(chance) if chance > 0.0 else -math.inf


BLOCKS = TinyProposal(blocks, blocks)
TARGET = high_confidence(PixelClassifier().labels, "red", width=0.2)


def kernel(proposal: TinyProposal = BLOCKS, target: Target = TARGET, power: float = 1.0) -> Metropolis[Tiny]:
    return Metropolis(
        TinyPrior(), proposal, Scorer(TinyRenderer(), PixelClassifier(), batch=256), target, power
    )


def states(of: Metropolis[Tiny]) -> list[State[Tiny]]:
    """Every valid state, evaluated, in the order of VALID."""
    scored = of.scorer.score(VALID)
    return [of.weigh(z, of.prior.log_density(z), s) for z, s in zip(VALID, scored, strict=True)]


def posterior(of: Metropolis[Tiny]) -> Floats:
    """(224,) exact, from the target's weights alone."""
    log_weights = np.array([of.power * state.log_weight for state in states(of)])
    weights = np.exp(log_weights - log_weights.max())
    exact: Floats = weights / weights.sum()
    return exact


@dataclass(frozen=True)
class Scripted:
    """A proposal that gives a chosen point and leaves the density to the real one."""

    to: Tiny
    inner: TinyProposal

    def propose(self, rng: np.random.Generator, z: Tiny) -> Tiny:
        return self.to

    def log_q(self, to: Tiny, given: Tiny) -> float:
        return self.inner.log_q(to, given)


def transition_matrix(of: Metropolis[Tiny], proposal: TinyProposal) -> Floats:
    """(224, 224) from the kernel's own `propose` and `decide`, for every outcome of the proposal."""
    rng = np.random.default_rng(0)  # decides acceptance, which is not looked at: the ratio is
    every = states(of)
    index = {z: i for i, z in enumerate(VALID)}
    known = {state.z: state for state in every}
    matrix = np.zeros((len(VALID), len(VALID)))
    for i, state in enumerate(every):
        for to, chance in proposal.outcomes(state.z).items():
            scripted = Metropolis(of.prior, Scripted(to, proposal), of.scorer, of.target, of.power)
            candidate = scripted.propose(rng, state)
            draw = scripted.decide(rng, state, candidate, known.get(to, unscored(to)))
            accepted = chance * math.exp(min(0.0, draw.log_accept_ratio))
            matrix[i, i] += chance - accepted
            if to in index:
                matrix[i, index[to]] += accepted
    return matrix
