"""Chi-square of every proposal against its own log_q: each full conditional of the density is compared with draws.

For one coordinate of a proposed scene, the density along it (all else as proposed) gives a cumulative distribution;
at the proposed value it must be uniform. For a category, the probabilities of all values give expected counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.scenes.moves.block_moves import (
    FreshScene,
    JitterObject,
    Mixture,
    RedrawCategory,
    RedrawNuisances,
    RedrawObjects,
    SceneMove,
    SwapObjects,
    block_moves,
)
from trex.scenes.moves.random_walk import RandomWalk, log_wrapped_normal, wrap
from trex.scenes.prior import ScenePrior, log_object_density
from trex.scenes.scene import ATTRIBUTES, NUISANCES, TAU, Scene
from trex.scenes.validity import HALF_WIDTH
from trex.scenes.vocabulary import CLEVR

GRID = 96
PRIOR = ScenePrior(n_objects=(2, 2))
START = PRIOR.sample(np.random.default_rng(7))
Coordinate = tuple[str, int, int]  # field of object (name, index, 0) or nuisance (name, -1, axis)


def value(z: Scene, at: Coordinate) -> float:
    name, index, axis = at
    found = getattr(z.nuisances, name)[axis] if index < 0 else getattr(z.objects[index], name)
    return float(found)


def moved(z: Scene, at: Coordinate, new: float) -> Scene:
    name, index, axis = at
    if index < 0:
        old = list(getattr(z.nuisances, name))
        old[axis] = new
        return replace(z, nuisances=replace(z.nuisances, **{name: tuple(old)}))
    item = replace(z.objects[index], **{name: new})
    return replace(z, objects=(*z.objects[:index], item, *z.objects[index + 1 :]))


def reach(at: Coordinate) -> tuple[float, float]:
    name, index, _ = at
    if index < 0:
        (part,) = (part for part in NUISANCES if part.name == name)
        return -part.reach, 2 * part.reach
    return (0.0, TAU) if name == "rotation" else (-HALF_WIDTH, 2 * HALF_WIDTH)


def changed_coordinates(to: Scene, given: Scene) -> list[Coordinate]:
    every: list[Coordinate] = [(f, i, 0) for i in range(len(to.objects)) for f in ("x", "y", "rotation")]
    every += [(name, -1, axis) for name, *_ in NUISANCES for axis in range(3)]
    return [at for at in every if value(to, at) != value(given, at)]


def cumulative(move: SceneMove, to: Scene, given: Scene, at: Coordinate) -> float | None:
    """Where the proposed value lies in the conditional density, in [0, 1]."""
    low, period = reach(at)
    centers = low + (np.arange(GRID) + 0.5) / GRID * period
    logs = np.array([move.log_q(moved(to, at, float(c)), given) for c in centers])
    if not np.any(np.isfinite(logs)):
        return None
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    cell = min(int((value(to, at) - low) / period * GRID), GRID - 1)
    return float(
        mass[:cell].sum() + mass[cell] * (value(to, at) - low - cell * period / GRID) / period * GRID
    )


def continuous_p_value(propose: SceneMove, density: SceneMove, draws: int, given: Scene = START) -> float:
    rng = np.random.default_rng(11)
    ranks: list[float] = []
    for _ in range(draws):
        to = propose.propose(rng, given)
        where = changed_coordinates(to, given)
        if where:
            rank = cumulative(density, to, given, where[int(rng.integers(len(where)))])
            ranks.append(0.0 if rank is None else rank)
    counts, _ = np.histogram(ranks, bins=10, range=(0.0, 1.0))
    return float(stats.chisquare(counts).pvalue)


def category_p_value(propose: SceneMove, density: SceneMove, draws: int, given: Scene = START) -> float:
    """Chi-square over all values of all attributes of object 0, each given the rest of the proposed scene."""
    rng = np.random.default_rng(13)
    seen: dict[tuple[str, str], float] = {}
    expected: dict[tuple[str, str], float] = {}
    for _ in range(draws):
        to = propose.propose(rng, given)
        for attribute in ATTRIBUTES:
            options = [replace_category(to, attribute, v) for v in CLEVR.values(attribute)]
            logs = np.array([density.log_q(option, given) for option in options])
            if not np.any(np.isfinite(logs)):
                continue
            chances = np.exp(logs - logs.max())
            for option, chance in zip(CLEVR.values(attribute), chances / chances.sum(), strict=True):
                expected[attribute, option] = expected.get((attribute, option), 0.0) + chance
            key = (attribute, getattr(to.objects[0], attribute))
            seen[key] = seen.get(key, 0.0) + 1.0
    z2 = sum((seen.get(k, 0.0) - e) ** 2 / e for k, e in expected.items() if e > 0)
    dof = sum(1 for e in expected.values() if e > 0) - len({a for a, _ in expected})
    return float(stats.chi2.sf(z2, dof)) if all(expected.get(k, 0.0) > 0 for k in seen) else 0.0


def replace_category(z: Scene, attribute: str, option: str) -> Scene:
    return replace(z, objects=(replace(z.objects[0], **{attribute: option}), *z.objects[1:]))


CONTINUOUS: list[tuple[SceneMove, int]] = [
    (RandomWalk(CLEVR), 250),
    (JitterObject(), 800),
    (RedrawObjects(CLEVR), 800),
    (RedrawNuisances(), 800),
    (Mixture((JitterObject(), RedrawObjects(CLEVR, (1,))), (0.5, 0.5)), 800),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("move", "draws"), CONTINUOUS, ids=lambda v: "" if isinstance(v, int) else type(v).__name__
)
def test_continuous_fields_follow_log_q(move: SceneMove, draws: int) -> None:
    assert continuous_p_value(move, move, draws) > ALPHA / len(CONTINUOUS)


@pytest.mark.parametrize(
    "move", [RandomWalk(CLEVR), RedrawObjects(CLEVR), RedrawCategory(CLEVR)], ids=lambda m: type(m).__name__
)
def test_categories_follow_log_q(move: SceneMove) -> None:
    assert category_p_value(move, move, 800) > ALPHA / 3


@dataclass(frozen=True)
class Wrong:
    """A move whose log_q was tampered with."""

    move: SceneMove
    density: Callable[[Scene, Scene], float]

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        return self.move.propose(rng, z)

    def log_q(self, to: Scene, given: Scene) -> float:
        return self.density(to, given)


def test_a_wrong_step_size_is_caught() -> None:
    assert continuous_p_value(JitterObject(), JitterObject(sigma_xy=0.5), 800) < ALPHA


def test_rotation_proposed_in_degrees_is_caught() -> None:
    """D6: a step meant in another unit than the one its density is in."""
    assert continuous_p_value(JitterObject(sigma_rotation=math.degrees(0.5)), JitterObject(), 800) < ALPHA


def test_a_forgotten_keep_probability_is_caught() -> None:
    sticky = RandomWalk(CLEVR, resample=0.2)
    assert category_p_value(sticky, RandomWalk(CLEVR, resample=1.0), 600) < ALPHA


def volume_z_score(propose: SceneMove, density: SceneMove, volume: float, given: Scene) -> float:
    """The mean of 1 / q over draws from q is the volume that q covers; how many standard errors it is off."""
    rng = np.random.default_rng(29)
    inverse = np.array([math.exp(-density.log_q(propose.propose(rng, given), given)) for _ in range(4000)])
    return float(abs(inverse.mean() - volume) / (inverse.std(ddof=1) / math.sqrt(len(inverse))))


def test_a_mixture_is_the_weighted_sum_of_its_moves() -> None:
    """One category only, so that both moves reach the same scenes; wrong weights are caught."""
    single = CLEVR
    for what in ("cubes", "cylinders", "small things", "rubber things", *CLEVR.colors[1:]):
        single = single.revoke(what)
    alike = tuple(
        replace(o, shape="sphere", size="large", color="gray", material="metal") for o in START.objects
    )
    assert {o.category for o in alike} == set(single.combinations())
    moves = (JitterObject(1.0, 1.5), RedrawObjects(single, (1,)))
    volume = 2 * (2 * HALF_WIDTH) ** 2 * TAU
    right, wrong = Mixture(moves, (0.5, 0.5)), Mixture(moves, (0.7, 0.3))
    given = replace(START, objects=alike)
    limit = float(stats.norm.isf(ALPHA / 2))
    assert volume_z_score(right, right, volume, given) < limit
    assert volume_z_score(right, wrong, volume, given) > limit


def test_discrete_moves_have_the_probabilities_they_say() -> None:
    """Every scene that a purely discrete move can reach, counted: log_q sums to 1 and fits the frequencies."""
    start = ScenePrior(n_objects=(4, 4)).sample(np.random.default_rng(3))
    for move in (RedrawCategory(CLEVR), SwapObjects()):
        rng = np.random.default_rng(5)
        counts: dict[Scene, int] = {}
        for _ in range(6000):
            to = move.propose(rng, start)
            counts[to] = counts.get(to, 0) + 1
        chances = np.array([math.exp(move.log_q(to, start)) for to in counts])
        assert chances.sum() == pytest.approx(1.0)
        assert stats.chisquare(list(counts.values()), chances * 6000).pvalue > ALPHA / 2


def test_densities_are_those_of_both_directions() -> None:
    """Whatever is proposed can be proposed back, but for fresh scenes and moves from outside the prior's support."""
    rng = np.random.default_rng(17)
    moves = block_moves(PRIOR)
    for _ in range(300):
        to = moves.propose(rng, START)
        forward, backward = moves.log_q(to, START), moves.log_q(START, to)
        assert math.isfinite(forward) or PRIOR.log_density(to) == -math.inf
        if PRIOR.log_density(to) > -math.inf:
            assert math.isfinite(backward)


def test_a_fresh_scene_cancels_against_the_prior() -> None:
    prior = ScenePrior(n_objects=(3, 6))
    rng = np.random.default_rng(19)
    a, b = prior.sample(rng), prior.sample(rng)
    fresh = FreshScene(prior)
    assert fresh.log_q(b, a) == prior.log_density(b)
    assert fresh.log_q(a, a) == -math.inf


def test_revoked_values_are_never_proposed() -> None:
    prior = ScenePrior(CLEVR.revoke("cube"), (3, 3))
    rng = np.random.default_rng(23)
    z = prior.sample(rng)
    for move in (RandomWalk(prior.vocabulary), block_moves(prior)):
        for _ in range(300):
            assert all(o.shape != "cube" for o in move.propose(rng, z).objects)


def test_wrapping_stays_inside() -> None:
    assert wrap(-1e-20, 0.0, TAU) < TAU
    grid = np.linspace(-3, 3, 4001)
    for sigma in (0.1, 1.0, 3.0):
        mass = np.trapezoid if hasattr(np, "trapezoid") else np.trapz
        assert mass(
            [math.exp(log_wrapped_normal(float(d), sigma, 6.0)) for d in grid], grid
        ) == pytest.approx(1.0, abs=1e-6)


MANY = ScenePrior(n_objects=(4, 4)).sample(np.random.default_rng(8))
ALL_LARGE = replace(MANY, objects=tuple(replace(o, size="large") for o in MANY.objects))
NONE_LARGE = replace(MANY, objects=tuple(replace(o, size="small") for o in MANY.objects))


def redraw_count_p_value(move: RedrawObjects, given: Scene, draws: int = 3000) -> float:
    """How well the numbers of redrawn objects follow log_q, which leaves one density for each object redrawn."""
    rng, n = np.random.default_rng(11), len(given.objects)
    counts, shares = np.zeros(n + 1), np.zeros(n + 1)
    for _ in range(draws):
        to = move.propose(rng, given)
        changed = sum(a != b for a, b in zip(to.objects, given.objects, strict=True))
        counts[changed] += 1
        own = move.log_q(to, given) - changed * log_object_density(move.vocabulary)
        shares[changed] = math.comb(n, changed) * math.exp(own)
    seen = shares > 0
    assert shares.sum() == pytest.approx(1.0)
    return float(stats.chisquare(counts[seen], draws * shares[seen]).pvalue)


class RedrawsByTheState(RedrawObjects):
    """Planted: the more large objects, the more of them are redrawn; log_q knows nothing of it."""

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        large = sum(item.size == "large" for item in z.objects)
        for _ in range(20):
            to = super().propose(rng, z)
            changed = sum(a != b for a, b in zip(to.objects, z.objects, strict=True))
            if rng.random() < (changed if large else 4 - changed) / 3:
                break
        return to


@pytest.mark.parametrize("given", [MANY, ALL_LARGE, NONE_LARGE], ids=["mixed", "large", "small"])
def test_the_number_of_redrawn_objects_follows_log_q_from_every_state(given: Scene) -> None:
    assert redraw_count_p_value(RedrawObjects(CLEVR), given) > ALPHA
    assert redraw_count_p_value(RedrawsByTheState(CLEVR), given) < ALPHA
