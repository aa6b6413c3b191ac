"""Surrogate transitions as chains use them: batches, renders, figures, and resumption bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.inference.test_sampler import Counting, begin, bits, flat, through_json
from tests.simulations.toy import Pixel, PixelClassifier, SquarePrior
from trex.foundation.errors import InputError
from trex.inference.chains import rounds
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.leading_target import LeadingTarget
from trex.inference.metropolis import Metropolis
from trex.inference.rng import load_rng
from trex.inference.scoring import Scorer
from trex.inference.surrogate import MAX_REMEMBERED, Remembered, Surrogate
from trex.inference.targets import high_confidence
from trex.inference.types import Floats, unscored

TARGET = high_confidence(PixelClassifier().labels, "red", width=0.2)
N_INNER = 4


@dataclass(frozen=True)
class Dim(Counting):
    """The cheap look: a darker picture."""

    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        return [Pixel((0.8 * pixel.pixels).astype(np.uint8)) for pixel in super().render(zs)]


@dataclass(frozen=True)
class Flickering(Dim):
    """Planted: a cheap look that is not a function of the latent."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        return [
            Pixel((self.rng.uniform(0.5, 1.0) * p.pixels).astype(np.uint8)) for p in Counting.render(self, zs)
        ]


def toy_surrogate(
    dear: Counting | None = None, cheap: Counting | None = None, scale: float = 0.3
) -> Surrogate[Floats]:
    scorer = Scorer(dear or Counting(), PixelClassifier())
    deciding = Metropolis(SquarePrior(), GaussianWalk(scale), scorer, TARGET)
    leading = Scorer(cheap or Dim(), PixelClassifier())
    return Surrogate(
        deciding, replace(deciding, scorer=leading, target=LeadingTarget(TARGET, 0.3, -6.0)), N_INNER
    )


def test_all_at_once_is_one_by_one_with_one_batch_per_inner_step_and_one_to_decide() -> None:
    dear, cheap = Counting(), Dim()
    found = list(rounds(toy_surrogate(dear, cheap), begin(), 25))
    single, states = toy_surrogate(), list(begin().states)
    rngs = [load_rng(state) for state in begin().rng_states]
    for checkpoint in found:
        steps = [single.step([rng], [state])[0] for rng, state in zip(rngs, states, strict=True)]
        states = [draw.state for draw in steps]
        assert [s.z.tobytes() for s in states] == [d.z.tobytes() for d in checkpoint.draws]
        assert [draw.figures for draw in steps] == [draw.figures for draw in checkpoint.draws]
    assert len(dear.batches) <= 25 and max(dear.batches) > 1
    assert len(cheap.batches) <= 25 * N_INNER + 1 and max(cheap.batches) > 1
    assert sum(dear.batches) == sum(draw.was_rendered for item in found for draw in item.draws)
    inner = sum(draw.figures["inner_renders"] for item in found for draw in item.draws)
    assert sum(cheap.batches) == inner + 4  # the starts' own cheap scores, once
    assert inner < 25 * 4 * N_INNER  # invalid points cost nothing


@pytest.mark.parametrize("stop", [1, 7, 19])
def test_a_stopped_run_resumes_to_the_same_draws_and_figures(stop: int) -> None:
    unbroken = list(rounds(toy_surrogate(), begin(), 20, n_warmup=3))
    before = list(rounds(toy_surrogate(), begin(), stop, n_warmup=3))
    after = list(rounds(toy_surrogate(), through_json(before[-1]), 20, n_warmup=3))
    assert bits(flat(before)) + bits(flat(after)) == bits(flat(unbroken))
    assert [draw.figures for checkpoint in before + after for draw in checkpoint.draws] == [
        draw.figures for checkpoint in unbroken for draw in checkpoint.draws
    ]


def test_a_flickering_cheap_look_does_not_resume() -> None:
    unbroken = bits(flat(list(rounds(toy_surrogate(cheap=Flickering()), begin(), 20))))
    before = list(rounds(toy_surrogate(cheap=Flickering()), begin(), 7))
    after = list(rounds(toy_surrogate(cheap=Flickering()), through_json(before[-1]), 20))
    assert bits(flat(before)) + bits(flat(after)) != unbroken


def test_a_kernel_that_remembers_draws_what_one_that_forgets_draws() -> None:
    """Each chain forgets at another time, so a score kept for the wrong state would show."""
    states, rngs = list(begin().states), [load_rng(state) for state in begin().rng_states]
    remembering, steps = toy_surrogate(), list(rounds(toy_surrogate(), begin(), 30))
    assert any(draw.is_accepted for checkpoint in steps for draw in checkpoint.draws)
    for step in steps:
        after = [toy_surrogate().step([r], [s])[0].state for r, s in zip(rngs, states, strict=True)]
        assert [s.z.tobytes() for s in after] == [d.z.tobytes() for d in step.draws]
        states = after
    again = list(rounds(remembering, begin(), 30))
    assert bits(flat(again)) == bits(flat(steps))


def test_nothing_is_rendered_to_decide_if_every_inner_step_was_rejected() -> None:
    dear, cheap = Counting(), Dim()
    of = toy_surrogate(dear, cheap, scale=1e3)  # every proposal leaves the square
    state = of.init(np.array([0.2, 0.9]))
    (draw,) = of.step([np.random.default_rng(0)], [state])
    assert draw.state is state and dear.batches == [1] and cheap.batches == [1]
    assert (draw.proposed.is_scored, draw.was_rendered, draw.is_accepted) == (False, False, False)
    assert draw.figures == {"inner_steps": 4, "inner_renders": 0, "inner_accepted": 0, "is_moved": 0.0}
    of.step([np.random.default_rng(1)], [state])
    assert cheap.batches == [1]  # the score of the state is remembered


def test_figures_tell_the_course_of_a_step() -> None:
    of, rng = toy_surrogate(), np.random.default_rng(5)
    state = of.init(np.array([0.2, 0.9]))
    draws = []
    for _ in range(60):
        before = state
        (draw,) = of.step([rng], [state])
        state, figures = draw.state, draw.figures
        draws.append(draw)
        assert 0 <= figures["inner_accepted"] <= figures["inner_renders"] <= figures["inner_steps"] == N_INNER
        assert (figures["is_moved"] == 1.0) == draw.was_rendered == draw.proposed.is_scored
        assert (figures["inner_accepted"] > 0) == draw.was_rendered
        assert (state is not before) == draw.is_accepted
    assert {draw.is_accepted for draw in draws} == {True, False}


def test_the_state_keeps_the_evaluation_of_the_deciding_look() -> None:
    of, rng = toy_surrogate(), np.random.default_rng(5)
    state = of.init(np.array([0.2, 0.9]))
    for _ in range(20):
        state = of.step([rng], [state])[0].state
    (scored,) = of.deciding.scorer.score([state.z])
    assert np.array_equal(state.log_probs, scored.log_probs)
    assert state.log_weight == TARGET.log_weight(scored.log_probs)


def test_the_leading_weight_is_flattened_and_has_a_floor() -> None:
    sure, not_at_all = np.log([0.998, 0.001, 0.001]), np.log([1e-9, 0.5, 0.5])
    narrow = replace(TARGET, width=(0.01,))
    of = LeadingTarget(narrow, 0.1, -8.0)
    relative = narrow.log_weight(sure) - narrow.log_peak
    assert of.log_weight(sure) == pytest.approx(np.log(np.exp(0.1 * relative) + np.exp(-8.0)))
    assert of.log_weight(not_at_all) == pytest.approx(-8.0)
    assert -8.0 <= of.log_weight(not_at_all) < of.log_weight(sure) <= of.log_peak
    simulated = of.simulate(np.random.default_rng(0), sure)
    assert (simulated.power, simulated.log_floor) == (0.1, -8.0) and simulated.inner != narrow
    for power, floor in ((0.0, -8.0), (1.5, -8.0), (0.1, 0.0)):
        with pytest.raises(InputError, match="the power must be in"):
            LeadingTarget(TARGET, power, floor)


def test_no_inner_step_is_refused_and_the_oldest_scores_are_forgotten() -> None:
    with pytest.raises(InputError, match="at least 1"):
        replace(toy_surrogate(), n_inner=0)
    known = Remembered()
    known.keep(unscored(np.array([float(i)])) for i in range(MAX_REMEMBERED + 5))
    assert len(known.known) == MAX_REMEMBERED
    assert known.get(np.array([4.0])) is None and known.get(np.array([5.0])) is not None


def test_another_look_in_a_copy_does_not_inherit_remembered_scores() -> None:
    of = toy_surrogate()
    of.step([np.random.default_rng(0)], [of.init(np.array([0.2, 0.9]))])
    assert of.remembered.known and not replace(of, n_inner=2).remembered.known
