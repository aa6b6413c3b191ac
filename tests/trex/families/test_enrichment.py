"""What found scenes have in common: a planted cause comes first, chance names nothing, relatives count once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.families.enrichment import KINDS, Enriched, Enrichment, Example, Kind, descriptions, enriched, fits
from trex.foundation.errors import InputError
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.discoveries import discoveries, excess_p_value, groups_needed
from trex.inference.statistics.proportion import clopper_pearson
from trex.inference.statistics.two_phase import Selection
from trex.pages.page import page
from trex.report.sections.patterns import pattern_tables
from trex.scenes.conditions import Condition, has
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

PRIOR = ScenePrior(CLEVR, (4, 4))
SEED = 20_261
CAUSE = (has("size", "small"), has("material", "metal"), has("shape", "cylinder"))


def prior_scenes(n: int, seed: int) -> list[Scene]:
    rng = np.random.default_rng(seed)
    return [PRIOR.sample(rng) for _ in range(n)]


@pytest.fixture(scope="module")
def prior(slow: None) -> list[Scene]:
    return prior_scenes(300, SEED)


def blamed(scene: Scene) -> int | None:
    return next((i for i, item in enumerate(scene.objects) if fits(CAUSE, item)), None)


def planted(scenes: list[Scene]) -> list[Example]:
    """Each scene with one object made a small metal cylinder, which is responsible."""
    examples = []
    for k, scene in enumerate(scenes):
        item = replace(scene.objects[k % 4], size="small", material="metal", shape="cylinder")
        objects = (*scene.objects[: k % 4], item, *scene.objects[k % 4 + 1 :])
        examples.append(Example(replace(scene, objects=objects), k, k % 4))
    return examples


def rows(found: Enrichment, kind: Kind) -> list[Enriched]:
    return [row for row in found.rows if row.kind == kind]


def test_the_planted_cause_comes_first(prior: list[Scene]) -> None:
    found = enriched(planted(prior_scenes(60, SEED + 1)), prior, CLEVR)
    assert found is not None
    (first, *_) = rows(found, "responsible")
    assert first.description == CAUSE
    assert first.share == 1.0
    assert first.is_clear
    assert first.words == "a small metal cylinder"
    (present, *_) = rows(found, "present")
    assert present.description == CAUSE


def named(found: Enrichment | None) -> int:
    assert found is not None
    return sum(row.is_clear for row in found.rows)


def without_a_cause(seed: int, per_chain: int, counted_apart: bool, prior: list[Scene]) -> Enrichment | None:
    """24 scenes of the prior; of each chain, all but the first are the first again with another object moved in."""
    rng, examples = np.random.default_rng(seed), []
    for chain in range(24 // per_chain):
        first = PRIOR.sample(rng)
        for k in range(per_chain):
            scene = replace(first, objects=(*first.objects[:3], PRIOR.sample(rng).objects[0]))
            cluster = (chain, k) if counted_apart else chain
            examples.append(Example(scene, cluster, int(rng.integers(3))))
    return enriched(examples, prior, CLEVR)


def alarms(per_chain: int, counted_apart: bool, prior: list[Scene]) -> int:
    """In how many of 16 runs without any cause a description is named, where one of twenty is allowed."""
    return sum(named(without_a_cause(SEED + 100 + k, per_chain, counted_apart, prior)) > 0 for k in range(16))


MAX_ALARMS = int(stats.binom.isf(ALPHA, 16, 0.05))


@pytest.mark.parametrize("per_chain", [1, 6])
def test_chance_names_nothing(per_chain: int, prior: list[Scene]) -> None:
    assert alarms(per_chain, False, prior) <= MAX_ALARMS


def test_draws_of_one_chain_counted_as_independent_name_what_is_not_there(prior: list[Scene]) -> None:
    assert alarms(6, True, prior) > MAX_ALARMS  # planted


def test_rows_taken_one_by_one_name_what_is_not_there(prior: list[Scene]) -> None:
    found = [without_a_cause(SEED + 100 + k, 1, False, prior) for k in range(12)]
    assert (
        sum(any(row.p_value < 0.05 for row in enrichment.rows) for enrichment in found if enrichment) >= 9
    )  # planted


def shares_a_word(description: tuple[Condition, ...]) -> bool:
    """Whether the cause makes it more frequent: "gray object" it does not, "small gray object" it does."""
    return bool(set(description) & set(CAUSE))


@pytest.mark.parametrize("n", [8, 16])
def test_a_planted_cause_of_few_families_is_named_and_little_else(n: int, prior: list[Scene]) -> None:
    wrong = right = 0
    for seed in range(8):
        found = enriched(planted(prior_scenes(n, SEED + 300 + seed)), prior, CLEVR)
        assert found is not None
        clear = [row for row in found.rows if row.is_clear]
        assert CAUSE in [row.description for row in clear]
        right += sum(shares_a_word(row.description) for row in clear)
        wrong += sum(not shares_a_word(row.description) for row in clear)
    assert stats.binomtest(wrong, wrong + right, 0.05, alternative="greater").pvalue > ALPHA


def test_false_discoveries_among_named_rows_keep_to_the_rate() -> None:
    """950 rows without and 50 with an effect; planted: every p-value on its own."""
    rng, kept, alone = np.random.default_rng(SEED), [], []
    for _ in range(200):
        p = np.concatenate([rng.random(950), stats.norm.sf(rng.normal(3.5, 1.0, 50))])
        for rule, into in ((discoveries, kept), (lambda p: p < 0.05, alone)):
            found = rule(p)
            into.append(found[:950].sum() / max(1, found.sum()))
    assert np.mean(kept) < 0.05 + 4.3 * np.std(kept) / 200**0.5
    assert np.mean(alone) > 0.3


def test_the_p_value_of_an_excess_holds_though_the_prior_is_only_sampled() -> None:
    rng, held, naive, repeats = np.random.default_rng(SEED), 0, 0, 2000
    for _ in range(repeats):
        k, x = int(rng.binomial(60, 0.1)), int(rng.binomial(30, 0.1))
        held += excess_p_value(x, 30, (k + 1.0, 60.0 - k)) <= 0.05
        naive += stats.binom.sf(x - 1, 30, k / 60) <= 0.05  # planted: the sample taken for the prior
    assert stats.binomtest(held, repeats, 0.05, alternative="greater").pvalue > ALPHA
    assert stats.binomtest(naive, repeats, 0.05, alternative="greater").pvalue < ALPHA


def test_the_number_of_groups_that_would_be_needed_is_the_first_that_suffices() -> None:
    n = groups_needed(0.3, 0.1, 400)
    assert stats.binom.sf(math.ceil(0.3 * n) - 1, n, 0.1) <= 0.05 / 400
    assert stats.binom.sf(math.ceil(0.3 * (n - 1)) - 1, n - 1, 0.1) > 0.05 / 400
    assert groups_needed(0.9, 0.1, 400) < n < groups_needed(0.3, 0.1, 40_000)


def test_the_priors_shares_are_weighted_where_scenes_were_chosen_from_a_bank() -> None:
    """Half of the bank has the cause, and is chosen twice as often."""
    causes = [example.scene for example in planted(prior_scenes(40, SEED + 5))]
    others = [scene for scene in prior_scenes(60, SEED + 6) if blamed(scene) is None][:20]
    chosen = Selection(np.r_[np.arange(40), np.arange(200, 220)], np.repeat([0.2, 0.1], 200))
    shares = []
    for selection in (chosen, None):
        found = enriched(planted(prior_scenes(60, SEED + 8)), [*causes, *others], CLEVR, selection)
        assert found is not None
        shares += [
            row.prior_share for row in found.rows if row.description == CAUSE and row.kind == "present"
        ]
    assert shares == pytest.approx([0.5, 2 / 3])  # planted: the chosen scenes taken for the prior


def coverage(draw_clusters: bool) -> float:
    """How often the interval holds the truth, .3, for 12 clusters of 10 with a correlation of .5 inside."""
    rng, covered, repeats = np.random.default_rng(SEED), 0, 400
    for _ in range(repeats):
        hits = []
        for _ in range(12):
            common, shared = rng.random() < 0.3, rng.random(10) < 0.5**0.5
            hits.append(int(np.where(shared, common, rng.random(10) < 0.3).sum()))
        if draw_clusters:
            low, high = clustered_interval(hits, [10] * 12)
        else:
            low, high = clopper_pearson(sum(hits), 120)
        covered += low <= 0.3 <= high
    return covered / repeats


def test_the_interval_covers_although_relatives_resemble_each_other() -> None:
    # 400 repeats at 95%: below .90 has a chance under 1e-5
    assert coverage(draw_clusters=True) >= 0.90
    assert coverage(draw_clusters=False) < 0.85  # planted bug: relatives counted as independent


def test_independent_examples_give_clopper_and_pearson_at_the_ends() -> None:
    for hits in (0, 25):
        given = [int(k < hits) for k in range(25)]
        assert clustered_interval(given, [1] * 25) == clopper_pearson(hits, 25)


def test_independent_examples_give_nearly_clopper_and_pearson() -> None:
    given = [int(k < 9) for k in range(40)]
    np.testing.assert_allclose(clustered_interval(given, [1] * 40), clopper_pearson(9, 40), atol=0.01)


def test_one_chain_is_one_example() -> None:
    assert clustered_interval([9], [9]) == clopper_pearson(1, 1)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(InputError, match="not counts"):
        clustered_interval([3], [2])
    assert clustered_interval([], []) == (0.0, 1.0)


def test_descriptions_name_what_may_occur() -> None:
    found = list(descriptions(CLEVR.revoke("cube").revoke("blue spheres")))
    assert (has("shape", "sphere"),) in found and () not in found
    assert not any(has("shape", "cube") in conditions for conditions in found)
    assert not any({has("color", "blue"), has("shape", "sphere")} <= set(conditions) for conditions in found)
    assert all(sum(not each.key.startswith("shape") for each in conditions) <= 2 for conditions in found)
    assert len(found) == len(set(found))


def test_nothing_to_compare_is_none(prior: list[Scene]) -> None:
    assert enriched([], prior, CLEVR) is None
    assert enriched([Example(prior[0], 0)], [], CLEVR) is None


def test_a_row_without_prior_examples_has_no_upper_lift(prior: list[Scene]) -> None:
    bare = [scene for scene in prior if blamed(scene) is None]
    found = enriched(planted(prior_scenes(30, SEED + 2)), bare, CLEVR)
    assert found is not None
    row = next(row for row in found.rows if row.description == CAUSE)
    assert row.lift == math.inf
    assert row.is_clear
    assert row.prior_interval.high > 0


def test_echoes_are_told_once(prior: list[Scene]) -> None:
    found = enriched(planted(prior_scenes(60, SEED + 1)), prior, CLEVR)
    assert found is not None
    certain = [row for row in found.rows if row.kind == "responsible" and row.share == 1.0]
    assert [row.description for row in certain] == [CAUSE]  # not also "metal cylinder", "small object", ...


def shown(common: Enrichment) -> str:
    """The section of a report."""
    return page("commonalities.html", {"common": common, "tables": pattern_tables(common)})


def test_what_cannot_be_told_from_the_prior_is_one_sentence_and_no_table(prior: list[Scene]) -> None:
    examples = [Example(s, i // 4, i % 4) for i, s in enumerate(prior_scenes(8, SEED + 7))]
    found = enriched(examples, prior, CLEVR)
    assert found is not None and found.rows and not found.is_clear
    html = shown(found)
    assert "<table" not in html and "<h3>" not in html
    assert "Nothing can be said yet: 8 scenes in 2 independent groups" in html
    assert f"stand out among {found.needed} groups" in html


def test_only_rows_that_are_surely_more_frequent_are_shown(prior: list[Scene]) -> None:
    found = enriched(planted(prior_scenes(60, SEED + 1)), prior, CLEVR)
    assert found is not None
    named = [row for kind in KINDS for row in found.clear(kind, 8)]
    assert named and all(row.lift > 1 for row in named)
    html = shown(found)
    assert html.count("<tr>") == len(named) + html.count("<thead>")
    unclear = {row.words for row in found.rows if not row.is_clear} - {row.words for row in named}
    assert unclear and not any(f'scope="row">{words}<' in html for words in unclear)
