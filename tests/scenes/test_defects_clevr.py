"""What the published inspection code got wrong (its defects D1-D6, D9, D10, D14, D16), each planted and caught.

The world is the fake one: the real scenes, prior and proposals, a numpy renderer and an analytic classifier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest

from tests.references.rank_test import RankTest, end_p_values, smallest
from tests.references.statistics import ALPHA
from tests.simulations.tiny_world import (
    BLOCKS,
    VALID,
    TinyProposal,
    blocks,
    posterior,
    retried,
    transition_matrix,
)
from tests.simulations.tiny_world import kernel as kernel_of_tiny
from tests.worlds.tiny_scene_world import STATISTICS, VOCABULARY, GroundPrior, ground_kernel
from trex.clevr_models.fake import ColorArea
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.inputs import check_pictures
from trex.foundation.errors import ModelError
from trex.inference.chains import rounds, start, starts
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.statistics.importance import prior_draws
from trex.inference.targets import high_confidence, k_way
from trex.inference.types import Floats
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.clevr_format.scene_json import from_clevr, to_clevr
from trex.scenes.edits import leave_out
from trex.scenes.moves.block_moves import RedrawCategory, SceneMove
from trex.scenes.moves.random_walk import RandomWalk
from trex.scenes.prior import ScenePrior, draw_nuisances
from trex.scenes.scene import TAU, Scene
from trex.scenes.validity import MIN_GAP, is_valid, pair_clearances
from trex.scenes.vocabulary import CLEVR

COUNTER = ColorArea()
TARGET = high_confidence(ANSWERS, "1")
PRIOR = ScenePrior(CLEVR, (3, 3))
SCENE = PRIOR.sample(np.random.default_rng(2))
GROUND = GroundPrior()
SCENE_TEST = RankTest(ground_kernel(), STATISTICS, 4_000, 4, seed=26)


def answers(**probs: float) -> Floats:
    """(28,) natural logs; the rest goes to "yes"."""
    values = np.zeros(len(ANSWERS))
    for answer, p in probs.items():
        values[ANSWERS.index(answer.removeprefix("n"))] = p
    values[ANSWERS.index("yes")] += 1.0 - values.sum()
    with np.errstate(divide="ignore"):
        return np.log(values)


def fake_kernel(proposal: SceneMove) -> Metropolis[Scene]:
    return Metropolis(PRIOR, proposal, Scorer(FakeRenderer(), COUNTER), TARGET)


# D1: both factors of the ambiguous target looked at the difference, the second one wanting it to be .4.


def published_pair_score(log_probs: Floats) -> float:
    """Planted: what was computed instead of equations 6 and 7 (log density up to a constant)."""
    gap = abs(math.exp(log_probs[1]) - math.exp(log_probs[2]))
    return -0.5 * (gap / 0.05) ** 2 - 0.5 * ((gap - 0.4) / 0.05) ** 2


def highest(score: Callable[[Floats], float]) -> tuple[float, float]:
    """(P(1), P(2)) of the largest score, over a grid of both."""
    grid = [(a / 50, b / 50) for a in range(51) for b in range(51 - a)]
    return max(grid, key=lambda pair: score(answers(n1=pair[0], n2=pair[1])))


def test_d1_the_mode_of_the_ambiguous_target_is_the_exact_tie() -> None:
    pair = k_way(ANSWERS, ("1", "2"))
    tie = answers(n1=0.5, n2=0.5)
    assert highest(pair.log_weight) == (0.5, 0.5)
    assert pair.log_weight(tie) == pytest.approx(pair.log_peak) and pair.is_hit(tie)
    assert not pair.is_hit(answers(n1=0.6, n2=0.4)) and not pair.is_hit(answers(n1=0.3, n2=0.3))
    planted = highest(published_pair_score)
    assert abs(planted[0] - planted[1]) == pytest.approx(0.2)  # its mode is no tie at all
    assert published_pair_score(tie) == pytest.approx(-32.0)


# D2: camera and lights were drawn anew, unseeded, for each render of a "deterministic" scene.


@dataclass(frozen=True)
class Relighting:
    """Planted: nuisances of the renderer's own."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        return FakeRenderer().render([replace(z, nuisances=draw_nuisances(self.rng)) for z in zs])


def test_d2_a_scene_always_gives_the_same_picture_and_evaluation() -> None:
    first, again = (Scorer(FakeRenderer(), COUNTER).score([z])[0] for z in (SCENE, replace(SCENE)))
    assert np.array_equal(first.picture.pixels, again.picture.pixels)
    assert np.array_equal(first.log_probs, again.log_probs)
    planted = Scorer(Relighting(), COUNTER)
    array, other = (planted.score([SCENE])[0].picture.pixels for _ in range(2))
    assert not np.array_equal(array, other)


# D3: a saved scene was read back with z (the radius) as its rotation, so leaving an object out changed all others.


def published_read(record: dict[str, object]) -> Scene:
    """Planted: x, y, orientation = 3d_coords."""
    items = record["objects"]
    assert isinstance(items, list)
    turned = [{**item, "rotation": item["3d_coords"][2]} for item in items]
    return from_clevr({**record, "objects": turned})


def keeps_everything_else(read: Callable[[dict[str, object]], Scene]) -> bool:
    """The remove-nothing control, and each object left out in turn: nothing else may change, in scene and picture."""
    back = read(to_clevr(SCENE))
    control = FakeRenderer().render([back])[0].pixels
    same = back == SCENE and np.array_equal(control, FakeRenderer().render([SCENE])[0].pixels)
    for i in range(len(SCENE.objects)):
        left = leave_out(back, i)
        same = same and left.objects == SCENE.objects[:i] + SCENE.objects[i + 1 :]
        same = same and left.nuisances == SCENE.nuisances
    return same


def test_d3_a_scene_read_back_and_thinned_keeps_all_else() -> None:
    assert keeps_everything_else(from_clevr)
    assert not keeps_everything_else(published_read)


# D4: pictures were rendered at 320x240 and squashed; CLEVR's are 480x320.


def test_d4_pictures_of_another_aspect_are_refused() -> None:
    for width, height in ((480, 320), (240, 160), (120, 80)):
        Scorer(FakeRenderer(width, height), COUNTER).score([SCENE])
    with pytest.raises(ModelError, match="aspect ratio 3:2"):
        Scorer(FakeRenderer(160, 120), COUNTER).score([SCENE])
    squashed = np.zeros((1, 240, 320, 3), np.float32)  # what the published code gave its model
    with pytest.raises(ModelError, match="320x240"):
        check_pictures(squashed)


# D5: proposals were drawn until one was valid, with no correction for it.


@dataclass(frozen=True)
class Trying:
    """A move that notes its tries; planted: `while True` until the scene is valid."""

    retries: bool
    tried: list[Scene] = field(default_factory=list)
    inner: RandomWalk = field(default_factory=lambda: RandomWalk(CLEVR))

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        while True:
            self.tried.append(self.inner.propose(rng, z))
            if not self.retries or PRIOR.log_density(self.tried[-1]) > -math.inf:
                return self.tried[-1]

    def log_q(self, to: Scene, given: Scene) -> float:
        return self.inner.log_q(to, given)


def test_d5_an_invalid_proposal_is_a_rejection_and_costs_no_render() -> None:
    draws, tries = {}, {}
    for retries in (False, True):
        move = Trying(retries)
        kernel, rng = fake_kernel(move), np.random.default_rng(5)
        state = kernel.init(SCENE)
        draws[retries] = [kernel.step([rng], [state])[0] for _ in range(30)]
        tries[retries] = len(move.tried)
    invalid = [draw for draw in draws[False] if not is_valid(draw.proposed.z, CLEVR)]
    assert invalid and not any(draw.was_rendered or draw.is_accepted for draw in invalid)
    assert tries[False] == 30  # one try a step, and most of them are seen to be invalid at once
    assert tries[True] > 30 and all(is_valid(draw.proposed.z, CLEVR) for draw in draws[True])  # planted


def test_d5_retrying_until_valid_breaks_the_stationary_distribution() -> None:
    """Exactly, on the world of 224 states; the exact tests of `test_inference_rank` see it from draws."""
    retrying = TinyProposal(retried, blocks)
    exact = posterior(kernel_of_tiny(BLOCKS))
    drifts = [
        float(np.abs(exact @ transition_matrix(kernel_of_tiny(move), move) - exact).max())
        for move in (BLOCKS, retrying)
    ]
    assert drifts[0] < 1e-15
    assert drifts[1] > 1e-5


# D6: the rotation's step of .05 turns was taken times 360 and used as radians: 18 rad, as good as uniform.


def mean_turn(move: SceneMove) -> float:
    """The mean resultant length of one object's change of rotation: 1 where it stays, 0 where it is uniform."""
    rng = np.random.default_rng(6)
    turns = [move.propose(rng, SCENE).objects[0].rotation - SCENE.objects[0].rotation for _ in range(2_000)]
    return float(abs(np.exp(1j * np.array(turns)).mean()))


def test_d6_rotation_steps_are_radians_and_wrap_at_a_turn() -> None:
    walk = RandomWalk(CLEVR)
    assert mean_turn(walk) == pytest.approx(math.exp(-0.5 * (0.05 * TAU) ** 2), abs=0.01)
    assert mean_turn(replace(walk, sigma_rotation=0.05 * 360)) < 0.1  # planted
    rng = np.random.default_rng(7)
    near = replace(SCENE, objects=(replace(SCENE.objects[0], rotation=TAU - 0.01), *SCENE.objects[1:]))
    rotations = [walk.propose(rng, near).objects[0].rotation for _ in range(200)]
    assert all(0.0 <= r < TAU for r in rotations)
    assert any(r < 1.0 for r in rotations) and any(r > 5.0 for r in rotations)  # both sides of the seam


# D9: only accepted scenes were kept; repeats, which averages need, and rejected proposals were lost.


def test_d9_every_step_leaves_a_draw_and_its_proposal() -> None:
    kernel = fake_kernel(RandomWalk(CLEVR))
    draws = prior_draws(3, range(8), PRIOR, kernel.scorer, TARGET)
    found = list(rounds(kernel, start(3, starts(3, draws, 2)), 15))
    kept = [draw for checkpoint in found for draw in checkpoint.draws if draw.chain == 0]
    assert [draw.index for draw in kept] == list(range(15))
    repeated = [b for a, b in pairwise(kept) if not b.is_accepted and a.z == b.z]
    assert len(repeated) == sum(not draw.is_accepted for draw in kept[1:]) > 0
    assert all(draw.proposed.z != draw.z for draw in kept if not draw.is_accepted)
    assert all(draw.proposed.is_scored == draw.was_rendered for draw in kept)


def test_d9_keeping_only_accepted_draws_gives_wrong_averages() -> None:
    """Exactly, on the world of 224 states: what the draws average to with and without the repeats."""
    exact = posterior(kernel_of_tiny())
    matrix = transition_matrix(kernel_of_tiny(), BLOCKS)
    stayed = np.array(
        [blocks(z).get(z, 0.0) for z in VALID]
    )  # the state itself may be proposed, and accepted
    accepted = exact @ (matrix - np.diag(np.diag(matrix) - stayed))
    assert np.abs(exact @ matrix - exact).max() < 1e-15
    assert 0.5 * np.abs(accepted / accepted.sum() - exact).sum() > 0.04  # planted: total variation


# D10: densities were multiplied and divided, which underflows.


def published_ratio(new: float, old: float, width: float) -> float:
    """Planted: a ratio of normal densities."""
    return math.exp(-0.5 * ((new - 1) / width) ** 2) / math.exp(-0.5 * ((old - 1) / width) ** 2)


@pytest.mark.parametrize("width", [0.02, 1e-3, 1e-6])
def test_d10_narrow_widths_do_not_underflow(width: float) -> None:
    target = high_confidence(ANSWERS, "1", width=width)
    worse, better = answers(n1=0.0), answers(n1=0.1)
    assert math.isfinite(target.log_weight(worse)) and target.log_weight(better) > target.log_weight(worse)
    with pytest.raises(ZeroDivisionError):
        published_ratio(0.1, 0.0, width)


# D14: a scene that is invalid for its coordinates was tried 50 times over.


@dataclass(frozen=True)
class CountingPrior:
    """The real prior, which notes how often it is asked."""

    asked: list[Scene] = field(default_factory=list)

    def sample(self, rng: np.random.Generator) -> Scene:
        return PRIOR.sample(rng)

    def log_density(self, z: Scene) -> float:
        self.asked.append(z)
        return PRIOR.log_density(z)


@dataclass(frozen=True)
class Colliding:
    """A move that puts two objects on one spot; planted: up to 50 times, as if that helped."""

    tries: int = 1
    prior: CountingPrior = field(default_factory=CountingPrior)

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        a, b, *others = z.objects
        to = replace(z, objects=(a, replace(b, x=a.x, y=a.y), *others))
        for _ in range(self.tries - 1):
            if self.prior.log_density(to) > -math.inf:
                break
        return to

    def log_q(self, to: Scene, given: Scene) -> float:
        return 0.0


@pytest.mark.parametrize(("tries", "expected"), [(1, 1), (50, 50)])
def test_d14_an_invalid_scene_is_seen_at_once_without_a_renderer(tries: int, expected: int) -> None:
    prior = CountingPrior()
    kernel = Metropolis(prior, Colliding(tries, prior), Scorer(FakeRenderer(), COUNTER), TARGET)
    state = kernel.init(SCENE)
    prior.asked.clear()
    (draw,) = kernel.step([np.random.default_rng(0)], [state])
    assert draw.state is state and not draw.was_rendered
    assert len(prior.asked) == expected  # one look is enough; the planted move takes 50
    collided = draw.proposed.z
    assert not is_valid(collided, CLEVR)
    upper = np.triu_indices(len(collided.objects), 1)
    assert pair_clearances(collided)[0][upper].min() < MIN_GAP


# D16: a material forced on becoming a novel shape and kept on leaving it.


@dataclass(frozen=True)
class StickyMaterial:
    """Planted: becoming a cone forces rubber, leaving keeps it, and log_q knows nothing of it."""

    inner: RedrawCategory

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        to = self.inner.propose(rng, z)
        forced = (replace(o, material="rubber") if o.shape == "cone" else o for o in to.objects)
        return replace(to, objects=tuple(forced))

    def log_q(self, to: Scene, given: Scene) -> float:
        return 0.0


@pytest.mark.slow
def test_d16_a_sticky_material_is_caught() -> None:
    right, sticky = RedrawCategory(VOCABULARY), StickyMaterial(RedrawCategory(VOCABULARY))
    assert smallest(end_p_values(replace(SCENE_TEST, n=2_000, kernel=ground_kernel(right)))) > ALPHA
    assert smallest(end_p_values(replace(SCENE_TEST, kernel=ground_kernel(sticky)))) < ALPHA
