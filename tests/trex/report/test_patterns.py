"""What found scenes have in common: a planted cause comes first, chance names nothing, relatives count once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from trex.foundation.errors import InputError
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.proportion import clopper_pearson
from trex.pages.page import page
from trex.report.patterns import KINDS, Example, Patterns, descriptions, find_patterns, fits
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

PRIOR = ScenePrior(CLEVR, (4, 4))
SEED = 20_261
BLAMED = ("small", None, "metal", "cylinder")


def prior_scenes(n: int, seed: int) -> list[Scene]:
    rng = np.random.default_rng(seed)
    return [PRIOR.sample(rng) for _ in range(n)]


@pytest.fixture(scope="module")
def prior() -> list[Scene]:
    return prior_scenes(300, SEED)


def blamed(scene: Scene) -> int | None:
    return next((i for i, item in enumerate(scene.objects) if fits(BLAMED, item)), None)


def planted(scenes: list[Scene]) -> list[Example]:
    """Each scene with one object made a small metal cylinder, which is to blame."""
    made = []
    for k, scene in enumerate(scenes):
        item = replace(scene.objects[k % 4], size="small", material="metal", shape="cylinder")
        objects = (*scene.objects[: k % 4], item, *scene.objects[k % 4 + 1 :])
        made.append(Example(replace(scene, objects=objects), k, k % 4))
    return made


def test_the_planted_cause_comes_first(prior: list[Scene]) -> None:
    found = find_patterns(planted(prior_scenes(60, SEED + 1)), prior, CLEVR)
    assert found is not None
    (first, *_) = found.top("to blame", 5)
    assert first.said == BLAMED
    assert first.share == 1.0
    assert first.is_clear
    assert first.words == "small metal cylinder"
    assert first.sentence().startswith(
        "A small metal cylinder is the object to blame in 100% of 60 scenes, prior 0.0"
    )
    (present, *_) = found.top("present", 5)
    assert present.said == BLAMED


def false_alarms(level_of: float, repeats: int, prior: list[Scene]) -> int:
    """In how many of several runs without any cause a row is called clear."""
    alarms = 0
    for k in range(repeats):
        scenes = prior_scenes(25, SEED + 100 + k)
        found = find_patterns([Example(s, i, i % 4) for i, s in enumerate(scenes)], prior, CLEVR)
        assert found is not None
        if level_of == 1:
            alarms += any(row.is_clear for row in found.rows)
        else:  # planted bug: every row on its own, as if it were the only one
            alarms += any(
                clopper_pearson(row.hits, row.n).low > row.prior_share for row in found.rows if row.hits > 1
            )
    return alarms


def test_chance_names_nothing_and_would_without_correction(prior: list[Scene]) -> None:
    assert false_alarms(1, 12, prior) == 0
    assert false_alarms(0, 12, prior) >= 6


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
    # 400 repeats at 95 %: below .90 has a chance under 1e-5
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
    with pytest.raises(InputError, match="no counts"):
        clustered_interval([3], [2])
    assert clustered_interval([], []) == (0.0, 1.0)


def test_descriptions_name_what_may_occur() -> None:
    said = list(descriptions(CLEVR.revoke("cube").revoke("blue spheres")))
    assert (None, None, None, None) in said
    assert not any("cube" in one for one in said)
    assert not any(one[1] == "blue" and one[3] == "sphere" for one in said)
    assert all(sum(word is not None for word in one[:3]) <= 2 for one in said)
    assert len(said) == len(set(said))


def test_nothing_to_compare_is_none(prior: list[Scene]) -> None:
    assert find_patterns([], prior, CLEVR) is None
    assert find_patterns([Example(prior[0], 0)], [], CLEVR) is None


def test_a_row_without_prior_examples_has_no_upper_lift(prior: list[Scene]) -> None:
    bare = [scene for scene in prior if blamed(scene) is None]
    found = find_patterns(planted(prior_scenes(30, SEED + 2)), bare, CLEVR)
    assert found is not None
    row = next(row for row in found.rows if row.said == BLAMED)
    assert row.lift == math.inf
    assert row.lift_interval.low > 1
    assert row.prior_interval.high > 0


def test_echoes_are_told_once(prior: list[Scene]) -> None:
    found = find_patterns(planted(prior_scenes(60, SEED + 1)), prior, CLEVR)
    assert found is not None
    certain = [row for row in found.rows if row.kind == "to blame" and row.share == 1.0]
    assert [row.said for row in certain] == [BLAMED]  # not also "metal cylinder", "small thing", ...


def shown(common: Patterns) -> str:
    """The section of a report."""
    return page("commonalities.html", {"common": common, "most_rows": 8})


def test_what_cannot_be_told_from_the_prior_is_one_sentence_and_no_table(prior: list[Scene]) -> None:
    examples = [Example(s, i // 4, i % 4) for i, s in enumerate(prior_scenes(8, SEED + 7))]
    found = find_patterns(examples, prior, CLEVR)
    assert found is not None and found.rows and not found.is_clear
    html = shown(found)
    assert "<table" not in html and "<h3>" not in html
    assert "Nothing can be said yet: 8 scenes in 2 independent groups" in html


def test_only_rows_that_are_surely_more_frequent_are_shown(prior: list[Scene]) -> None:
    found = find_patterns(planted(prior_scenes(60, SEED + 1)), prior, CLEVR)
    assert found is not None
    rows = [row for kind in KINDS for row in found.clear(kind, 8)]
    assert rows and all(row.lift_interval.low > 1 for row in rows)
    html = shown(found)
    assert html.count("<tr>") == len(rows) + html.count("<thead>")
    unclear = {row.words for row in found.rows if not row.is_clear} - {row.words for row in rows}
    assert unclear and not any(f'scope="row">{words}<' in html for words in unclear)
