"""Surrogate transitions on the tiny world and the toy square: cheap looks, and kernels with a planted bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tests.references.rank_test import Transition
from tests.simulations.tiny_world import BLOCKS, VALID, Tiny, kernel, states, transition_matrix
from tests.simulations.toy import Pixel, PixelClassifier, PixelRenderer
from trex.inference.leading_target import LeadingTarget
from trex.inference.metropolis import Candidate, Metropolis
from trex.inference.scoring import Scored, Scorer
from trex.inference.surrogate import Surrogate, Trail
from trex.inference.types import Floats, State, Z

POWER, LOG_FLOOR = 1.0, -8.0  # hardly flattened, so that a wrong ratio shows


@dataclass(frozen=True)
class FewLevels:
    """A cheap look at the tiny world: half as many places, and the colors not at all."""

    def render(self, zs: Sequence[Tiny]) -> list[Pixel]:
        return [Pixel(np.array([[[a // 2 * 64, b // 2 * 64, 0]]], np.uint8)) for a, b, _ in zs]


@dataclass(frozen=True)
class Scrambled:
    """A cheap look that says nothing about the picture: each state shows another one, always the same."""

    def render(self, zs: Sequence[Tiny]) -> list[Pixel]:
        shown = [VALID[(VALID.index(z) * 101 + 7) % len(VALID)] for z in zs]
        return [Pixel(np.array([[[a * 32, b * 32, c * 64]]], np.uint8)) for a, b, c in shown]


def led_by(
    deciding: Metropolis[Z], cheap: Scorer[Z], n_inner: int, kind: type[Surrogate[Z]] = Surrogate
) -> Surrogate[Z]:
    """Surrogate transitions with the deciding kernel's own prior and proposal at the cheap look."""
    leading = replace(deciding, scorer=cheap, target=LeadingTarget(deciding.target, POWER, LOG_FLOOR))
    return kind(deciding, leading, n_inner)


def tiny_surrogate(
    cheap: FewLevels | Scrambled | None = None,
    n_inner: int = 3,
    power: float = 1.0,
    kind: type[Surrogate[Tiny]] = Surrogate,
) -> Surrogate[Tiny]:
    scorer = Scorer(cheap or FewLevels(), PixelClassifier(), batch=256)
    return led_by(kernel(power=power), scorer, n_inner, kind)


def surrogate_matrix(of: Surrogate[Tiny]) -> Floats:
    """(224, 224): the inner steps' exact matrix to the power n_inner, then the kernel's own correction."""
    inner = np.linalg.matrix_power(transition_matrix(of.leading, BLOCKS), of.n_inner)
    led, decided = states(of.leading), states(of.deciding)
    matrix, rng = np.zeros_like(inner), np.random.default_rng(0)
    for i, j in np.argwhere(inner > 0.0):
        if i != j:
            candidate = of.candidate(Trail(led[i], led[j]))
            draw = of.deciding.decide(rng, decided[i], candidate, decided[j])
            matrix[i, j] = inner[i, j] * np.exp(min(0.0, draw.log_accept_ratio))
    whole: Floats = matrix + np.diag(1.0 - matrix.sum(axis=1))
    return whole


class Uncorrected(Surrogate[Z]):
    """Planted: the inner chain's end is always accepted."""

    def candidate(self, trail: Trail[Z]) -> Candidate[Z]:
        return replace(super().candidate(trail), log_q_ratio=np.inf)


class UpsideDown(Surrogate[Z]):
    """Planted: the cheap look's ratio the wrong way round."""

    def candidate(self, trail: Trail[Z]) -> Candidate[Z]:
        right = super().candidate(trail)
        return replace(right, log_q_ratio=-right.log_q_ratio)


class OfTheStart(Surrogate[Z]):
    """Planted: the end is weighed with the cheap score of the start."""

    def candidate(self, trail: Trail[Z]) -> Candidate[Z]:
        return super().candidate(Trail(trail.start, replace(trail.start, z=trail.end.z)))


class OtherLook(Surrogate[Z]):
    """Planted: the start's score at the cheap look is that of the deciding look."""

    def _at_leading_look(self, states: Sequence[State[Z]]) -> list[State[Z]]:
        return [replace(s, log_weight=self.leading.target.log_weight(s.log_probs)) for s in states]


class Rescored(Surrogate[Z]):
    """Both ends are scored once more for the ratio: right for a function of the latent, and only then."""

    def candidate(self, trail: Trail[Z]) -> Candidate[Z]:
        start, end = (self._again(state) for state in (trail.start, trail.end))
        return super().candidate(Trail(start, end))

    def _again(self, state: State[Z]) -> State[Z]:
        (scored,) = self.leading.scorer.score([state.z])
        return self.leading.weigh(state.z, state.log_prior, scored)


@dataclass(frozen=True)
class Analytic(Scorer[Floats]):
    """The toy square's answers without pictures, as fast as can be; `shift` makes it another look."""

    shift: float = 0.0

    def score(self, zs: Sequence[Floats]) -> list[Scored]:
        return [Scored(self.log_probs(z), None) for z in zs]  # type: ignore[arg-type]  # no picture

    def log_probs(self, z: Floats) -> Floats:
        x, y = z.tolist()
        off = self.off(x, y)
        logits = 6.0 * np.array([x + off, y - off, 0.5])
        return logits - np.log(np.exp(logits).sum())  # type: ignore[no-any-return]

    def off(self, x: float, y: float) -> float:
        """The cheap look's error: smooth in the latent."""
        return self.shift * float(np.sin(9.0 * x + 4.0 * y))


@dataclass(frozen=True)
class Hashed(Analytic):
    """A cheap look with an error that jumps from latent to latent, but is the same at every score."""

    def off(self, x: float, y: float) -> float:
        return self.shift * float(np.sin(1e6 * (x + 1.7 * y)))


@dataclass(frozen=True)
class Noisy(Analytic):
    """A cheap look with an error that is drawn anew at every score, so that it is no function of the latent."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def off(self, x: float, y: float) -> float:
        return self.shift * float(self.rng.standard_normal())


def analytic(shift: float = 0.0) -> Analytic:
    return Analytic(PixelRenderer(), PixelClassifier(), shift=shift)


def surrogate_steps(
    cheap: Analytic, n_inner: int, kind: type[Surrogate[Floats]] = Surrogate
) -> Transition[Floats]:
    """A step of surrogate transitions for every chain, each with its own target."""

    def transition(
        rng: np.random.Generator, kernels: Sequence[Metropolis[Floats]], at: Sequence[State[Floats]]
    ) -> list[State[Floats]]:
        steps = zip(kernels, at, strict=True)
        return [led_by(k, cheap, n_inner, kind).step([rng], [state])[0].state for k, state in steps]

    return transition
