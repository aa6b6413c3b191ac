"""The rate of a family weighs each prior scene by its selection from the bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.references.draws import scored
from tests.references.scene_strategies import random_scene
from tests.references.statistics import ALPHA
from trex.families.family import Family
from trex.families.lineage import Families, with_rates
from trex.families.pattern import Pattern
from trex.families.symptom import SOUGHT
from trex.inference.statistics.how_often import SampledRate, how_often, rate_of_seen
from trex.inference.statistics.proportion import Interval, Proportion
from trex.inference.statistics.two_phase import Estimate, Selection, design, everyone
from trex.inference.targets import high_confidence
from trex.inference.types import Draw
from trex.scenes.distinct import are_distinct
from trex.scenes.scene import Scene
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.latents import Latent

SEED = 20_271
TARGET = high_confidence(("0", "1"), "1")


def scenes(n: int, seed: int = SEED) -> list[Scene]:
    rng = np.random.default_rng(seed)
    return [random_scene(rng, 5) for _ in range(n)]


def draw(index: int, z: Scene, is_hit: bool) -> Draw[Latent]:
    p = 0.98 if is_hit else 0.02
    return Draw(scored(TARGET, [1.0 - p, p], z), index=index)


def sample_of(zs: Sequence[Scene], hits: Sequence[bool], selection: Selection) -> PriorSample:
    draws = tuple(draw(k, zs[k], hits[k]) for k in selection.members.tolist())
    return PriorSample(draws, selection, how_often(draws, selection, TARGET))


def distinct(item: Latent, other: Latent) -> bool:
    return are_distinct(item, other)


def family_rates(
    families: Sequence[Sequence[int]], found: Sequence[Scene], sample: PriorSample, *fragile: Scene
) -> list[Proportion | None]:
    """The rates of families, given as places among the found scenes."""
    drawn, selection = sample.counted
    draws = [(draw.z, TARGET.is_hit(draw.state.log_probs) and draw.z not in fragile) for draw in drawn]
    known = Families(known=tuple(Family(Pattern(), SOUGHT, members=tuple(places)) for places in families))
    level = sample.how_often.level
    return [family.rate for family in with_rates(known, found, draws, (selection, level), distinct).known]


def rates(
    families: Sequence[Sequence[int]], found: Sequence[Scene], sample: PriorSample, *fragile: Scene
) -> list[float]:
    """Estimates of each family; 0 where there is none."""
    return [0.0 if rate is None else value(rate) for rate in family_rates(families, found, sample, *fragile)]


def value(rate: Proportion) -> float:
    """The estimate, whether or not it may be stated."""
    return rate.estimate.value if isinstance(rate, SampledRate) else rate.count / rate.of


@pytest.mark.slow
def test_the_rate_of_a_family_is_unbiased_although_its_scenes_were_selected() -> None:
    """The mean over 400 selections of a bank lies within five standard errors of the share in the bank.

    Planted bug: with weights 1, the share among the selected is some four times too high.
    """
    n = 400
    zs = scenes(n)
    scores = np.random.default_rng(SEED).standard_normal(n)
    hits = [bool(score > 1.5) for score in scores]
    ours = [k for k in range(n) if hits[k] and k % 2]
    estimates, unweighted = [], []
    for seed in range(400):
        selection = design(seed, scores, 40)
        sample = sample_of(zs, hits, selection)
        members = [k for k in selection.members.tolist() if k in ours]
        found = [zs[k] for k in members]
        (rate,) = rates([range(len(found))], found, sample) if found else [0.0]
        estimates.append(rate)
        unweighted.append(len(members) / selection.members.size)
    truth = len(ours) / n
    assert abs(np.mean(estimates) - truth) < 5 * np.std(estimates) / np.sqrt(400)
    assert abs(np.mean(unweighted) - truth) > 5 * np.std(unweighted) / np.sqrt(400)


def missed_lower_ends(is_plain: bool) -> tuple[int, int]:
    """Of 100 kinds, each of 0.02% of scenes, how many that 400 samples of 500 show have a lower end above that."""
    rng, truth, told, missed = np.random.default_rng(SEED + 2), 2e-4, 0, 0
    for _ in range(400):
        for count in rng.multinomial(500, [*[truth] * 100, 1 - 100 * truth])[:100]:
            if count:
                rate = Proportion(int(count), 500)
                told += 1
                missed += (rate if is_plain else rate_of_seen(rate)).interval.low > truth
    return missed, told


def test_a_kind_that_the_sample_happened_to_show_is_not_said_to_be_frequent() -> None:
    """Planted bug: the interval of a kind that was to be counted from the start, told of those alone that were seen."""
    missed, told = missed_lower_ends(is_plain=False)
    assert stats.binom.sf(missed - 1, told, 0.025) > ALPHA
    missed, told = missed_lower_ends(is_plain=True)
    assert stats.binom.sf(missed - 1, told, 0.025) < ALPHA
    assert rate_of_seen(Proportion(1, 100)).interval == (0.0, Proportion(1, 100).interval.high)
    many = Proportion(60, 100)
    assert rate_of_seen(many).interval == pytest.approx(many.interval, rel=1e-6), (
        "frequent ones are seen anyway"
    )
    weighted = SampledRate(3, 50, bank=400, estimate=Estimate(0.02, 0.4, Interval(0.004, 0.06)))
    assert 0.0 < rate_of_seen(weighted).interval.low < 0.004 and rate_of_seen(weighted).interval.high == 0.06


def test_families_share_the_rate_of_all_hits() -> None:
    zs = scenes(200)
    scores = np.random.default_rng(SEED + 1).standard_normal(200)
    hits = [bool(score > 0.8) for score in scores]
    selection = design(3, scores, 60)
    sample = sample_of(zs, hits, selection)
    found = [zs[k] for k in selection.members.tolist() if hits[k]]
    families = [list(range(k, len(found), 3)) for k in range(3)]
    apart = rates(families, found, sample)
    assert min(apart) > 0.0
    assert sum(apart) == pytest.approx(value(sample.how_often.rate), rel=1e-12)


def test_a_prior_hit_counts_for_the_found_scene_that_it_resembles_and_a_fragile_one_for_none() -> None:
    zs = scenes(40)
    hits = [k < 3 for k in range(40)]
    sample = sample_of(zs, hits, everyone(40))
    like = replace(zs[1], objects=(*zs[1].objects[1:], replace(zs[1].objects[0], color="purple")))
    found = [zs[0], like, scenes(1, SEED + 9)[0]]
    assert rates([[0], [1], [2]], found, sample) == [1 / 40, 1 / 40, 0.0]
    assert rates([[0], [1], [2]], found, sample, zs[1]) == [1 / 40, 0.0, 0.0]
    assert family_rates([[2]], found, sample) == [None]


def test_of_a_common_target_only_the_further_draws_count() -> None:
    zs = scenes(30)
    whole = sample_of(zs, [True] * 10 + [False] * 20, everyone(30))
    further = how_often(whole.draws[10:], everyone(20), TARGET)
    assert rates([[0]], [zs[0]], replace(whole, how_often=further)) == [0.0]
    assert rates([[0]], [zs[0]], whole) == [1 / 30]


def test_a_family_without_a_prior_scene_has_a_dash_for_its_rate() -> None:
    zs = scenes(40)
    sample = sample_of(zs, [k < 8 for k in range(40)], everyone(40))
    found = family_rates([list(range(8)), [0], []], zs[:8], sample)
    words = [Family(Pattern(), SOUGHT, rate=rate).how_often.replace("\u00a0", " ") for rate in found]
    assert words == ["20.0% (95% CI 9.0–35.6%)", "0–13.2% (95% CI)", "—"]
