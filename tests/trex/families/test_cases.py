"""Families of found scenes: the planted condition is named and no other; other prior scenes judge it honestly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest

from trex.families.cases import Case, families_of, judged
from trex.families.discover import Situation, conditions_of
from trex.families.family import Family, Judged, Share
from trex.families.one_question import OneQuestion
from trex.families.pattern import Pattern
from trex.families.symptom import PHANTOM, Failure, Symptom
from trex.inference.statistics.two_phase import Selection, design, everyone
from trex.scenes.conditions import object_conditions, scene_conditions
from trex.scenes.graph import Facts, facts_of, scene_graph
from trex.scenes.misreading import counting
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR

SEED = 20_420
NO_CUBES = CLEVR.revoke("cube")
SHAPE = Symptom("object", "shape")
CONDITIONS = conditions_of(NO_CUBES)
KEYS = {condition.key: condition for condition in object_conditions(NO_CUBES)}
Planted = Callable[[nx.DiGraph, int], bool]  # whether the model misreads this cylinder


@cache
def prior_scenes(n: int = 320) -> tuple[Facts, ...]:
    rng, prior = np.random.default_rng(SEED), ScenePrior(NO_CUBES, (5, 5))
    return tuple(facts_of(prior.sample(rng), NO_CUBES) for _ in range(n))


@cache
def cohort() -> tuple[Situation, ...]:
    return tuple(situation(facts) for facts in prior_scenes()[:100])


def situation(facts: Facts, failures: Sequence[Failure] = ()) -> Situation:
    return Situation(facts, failures, CONDITIONS)


def touching(graph: nx.DiGraph, index: int) -> Iterator[int]:
    return (j for j, edge in graph.pred[index].items() if "touches" in edge)


def same_color(graph: nx.DiGraph, index: int) -> bool:
    return any(graph.nodes[j]["color"] == graph.nodes[index]["color"] for j in touching(graph, index))


def hidden_by_larger(graph: nx.DiGraph, index: int) -> bool:
    return any("hides" in edge and "larger" in edge for edge in graph.pred[index].values())


def small_left_of_red(graph: nx.DiGraph, index: int) -> bool:
    right = (j for j, edge in graph.pred[index].items() if "right" in edge)
    return graph.nodes[index]["size"] == "small" and any(graph.nodes[j]["color"] == "red" for j in right)


PLANTED: dict[str, tuple[Planted, set[str]]] = {
    "touches its color": (same_color, {"touches same color"}),
    "behind a larger one": (hidden_by_larger, {"hidden by larger"}),
    "small, left of a red one": (small_left_of_red, {"size small", "left color red"}),
    "any": (lambda graph, index: True, set()),
}


def failing(fault: Planted, facts: Facts) -> list[int]:
    graph = scene_graph(facts)
    return [i for i, item in enumerate(facts.scene.objects) if item.shape == "cylinder" and fault(graph, i)]


def case(facts: Facts, unit: int, place: int, cluster: int) -> Case:
    return Case(situation(facts), Failure(SHAPE, unit, "", "cube"), cluster, place)


def cases_of(fault: Planted, n: int, rng: np.random.Generator) -> list[Case]:
    """n failures of different scenes, one each."""
    scenes = [(facts, units) for facts in prior_scenes()[100:] if (units := failing(fault, facts))]
    picked = rng.permutation(len(scenes))[:n]
    return [case(scenes[k][0], int(rng.choice(scenes[k][1])), place, place) for place, k in enumerate(picked)]


def named(family: Family) -> set[str]:
    return {condition.key for condition in family.pattern.conditions} - {"shape cylinder"}


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_condition_is_named_and_no_other(name: str) -> None:
    fault, expected = PLANTED[name]
    found = []
    for seed in range(5):
        cases = cases_of(fault, 24, np.random.default_rng(seed))
        family, *others = families_of(cases, cohort(), NO_CUBES)
        assert family.words.startswith("The model reads a") and " as a cube" in family.words
        found.append((named(family), family.is_clear and not others))
    right = sum(keys == expected and is_clear == bool(expected) for keys, is_clear in found)
    assert right >= 4, found


def small_rubber_left_of_red(graph: nx.DiGraph, index: int) -> bool:
    return small_left_of_red(graph, index) and graph.nodes[index]["material"] == "rubber"


def test_units_that_are_known_to_fail_are_held_against_no_condition() -> None:
    """Planted bug: random scenes as if nothing failed in them, so that half of the small ones left of red "do not"."""
    scenes = [(facts, failing(small_rubber_left_of_red, facts)) for facts in prior_scenes()]
    cases = [case(facts, units[0], k, k) for k, (facts, units) in enumerate(scenes) if units][:10]
    known = [
        situation(facts, [Failure(SHAPE, unit, "", "cube") for unit in units]) for facts, units in scenes
    ]
    (family,) = families_of(cases, known, NO_CUBES)
    assert named(family) == {"size small", "material rubber", "left color red"} and family.is_clear
    (wider,) = families_of(cases, [situation(facts) for facts, _ in scenes], NO_CUBES)
    assert named(wider) < named(family)


def test_it_is_said_how_many_objects_of_random_scenes_meet_the_conditions() -> None:
    """A reader of "far more often than in random scenes" asked for the number. Planted bug: spheres counted as well."""
    ordinary = prior_scenes()[:100]
    family, *_ = families_of(cases_of(same_color, 24, np.random.default_rng(0)), cohort(), NO_CUBES)
    cylinders = [
        (facts, i)
        for facts in ordinary
        for i, item in enumerate(facts.scene.objects)
        if item.shape == "cylinder"
    ]
    meet = sum(same_color(scene_graph(facts), i) for facts, i in cylinders)
    assert family.usual == (meet, len(cylinders))
    share = f"{meet / len(cylinders):.0%}"
    assert family.evidence == (
        f"In all {family.size} this is an object that overlaps an object of its color in the picture, "
        f"as are only {share} of cylinders in random scenes."
    )
    assert "far more often" in replace(family, usual=None).evidence, "a run of an earlier version"


def test_failures_of_one_start_show_nothing() -> None:
    """Planted bug: fourteen variations of one scene counted as fourteen failures."""
    cases = cases_of(same_color, 14, np.random.default_rng(3))
    of_one = [Case(each.scene, each.failure, "one", each.place) for each in cases]
    (family,) = families_of(of_one, cohort(), NO_CUBES)
    assert named(family) == set() and not family.is_clear and family.clusters == 1
    assert family.evidence == (
        "When it does so is not known: no condition stands out in the scenes of 1 start."
    )


def test_two_faults_of_one_kind_are_two_families() -> None:
    rng = np.random.default_rng(5)
    mine, others = cases_of(same_color, 12, rng), cases_of(small_left_of_red, 12, rng)
    both = [case(each.scene.facts, each.failure.unit, k, k) for k, each in enumerate([*mine, *others])]
    families = families_of(both, cohort(), NO_CUBES)
    assert len(families) == 2 and sum(family.size for family in families) == 24
    assert any({"touches same color"} <= named(family) for family in families)


def seen_as_cyan(n: int, rng: np.random.Generator, colors: Sequence[str]) -> list[Case]:
    """n failures, one a scene, of objects that a larger one hides, painted in these colors."""
    found = {
        k: (facts, i)
        for k, facts in enumerate(prior_scenes()[100:])
        for i in range(len(facts.scene.objects))
        if hidden_by_larger(scene_graph(facts), i)
    }
    cases = []
    for place, k in enumerate(rng.permutation(list(found))[:n]):
        facts, i = found[k]
        items = list(facts.scene.objects)
        items[i] = replace(items[i], color=colors[place % len(colors)])
        painted = facts_of(replace(facts.scene, objects=tuple(items)), NO_CUBES)
        cases.append(
            Case(situation(painted), Failure(Symptom("object", "color"), i, "", "cyan"), place, place)
        )
    return cases


def test_one_mistake_with_objects_of_all_colors_is_told_once() -> None:
    """Planted bug: a sentence for each color that something had: seven for one fault."""
    colors = [color for color in NO_CUBES.available("color") if color != "cyan"]
    told = []
    for seed in range(5):
        cases = seen_as_cyan(21, np.random.default_rng(seed), colors)
        families = families_of(cases, cohort(), NO_CUBES)
        told.append((len(families), families[0].words, families[0].is_clear))
        assert sum(family.size for family in families) == 21
        hidden = [
            hidden_by_larger(scene_graph(facts), i)
            for facts in prior_scenes()[:100]
            for i, item in enumerate(facts.scene.objects)
            if item.color != "cyan"
        ]
        if families[0].words == told[0][1]:
            assert families[0].usual == (sum(hidden), len(hidden)), "what is cyan cannot be seen as cyan"
    whole = (1, "The model sees an object as cyan where it is partly hidden by a larger object.", True)
    assert told.count(whole) >= 4, told


def test_objects_that_are_not_there_are_one_mistake_whatever_else_they_are() -> None:
    """Planted bug: "a small brown metal cube", "a large red rubber cube" and six more, each told by itself."""
    seen = (
        "small brown metal cube",
        "large red rubber cube",
        "small gray rubber cube",
        "large red metal cube",
    )
    cases = [
        Case(situation(facts), Failure(Symptom("scene", PHANTOM), 0, "", value), k, k)
        for k, (facts, value) in enumerate(zip(prior_scenes()[100:], seen, strict=False))
    ]
    shows = OneQuestion(counting([("shape", "cube")]), CLEVR).shows(lambda answer: answer == "1")
    (family,) = families_of(cases, [scene.showing(shows) for scene in cohort()], NO_CUBES)
    assert (family.words, family.size) == ("The model sees a cube that is not there.", 4)
    shown = cohort()[0].showing(shows)
    assert shown.can_show(family.symptom, family.value).all()
    assert not shown.can_show(family.symptom, "large red metal sphere").any(), "one more sphere is no cube"
    reds = replace(family, became=(("", seen[1], 1), ("", "large red rubber sphere", 1)))
    assert reds.words == "The model sees a large red rubber object that is not there."


def test_one_mistake_that_ends_in_many_colors_is_told_once() -> None:
    """Planted bug: red things seen as brown, as gray and as purple, each told by itself, without a condition."""
    color, rng = Symptom("object", "color"), np.random.default_rng(5)
    units = [
        (facts, i)
        for facts in prior_scenes()
        for i, item in enumerate(facts.scene.objects)
        if item.color == "red" and any(True for _ in touching(scene_graph(facts), i))
    ]
    cases = [
        Case(situation(facts), Failure(color, i, "", ("brown", "gray", "purple", "cyan")[k % 4]), k, k)
        for k, (facts, i) in enumerate(units[n] for n in rng.permutation(len(units))[:16])
    ]
    shows = OneQuestion(counting([("color", "red")]), CLEVR).shows(lambda answer: True)
    (family,) = families_of(cases, [scene.showing(shows) for scene in cohort()], NO_CUBES)
    words = "The model sees a red object in another color where it overlaps another object in the picture."
    assert (family.words, family.size, family.is_clear) == (words, 16, True)
    mostly = [replace(each, failure=replace(each.failure, value="brown")) for each in cases[:8]]
    brown, *_ = families_of([*mostly, *cases[8:]], cohort(), NO_CUBES)
    assert brown.words.startswith("The model sees a red object as brown"), "half of them and more are"


def test_of_one_mistake_it_is_said_what_most_of_its_objects_are() -> None:
    for colors, words in (
        (("green",), "The model sees a green object as cyan"),
        (("green", "red"), "The model sees an object as cyan"),
    ):
        cases = seen_as_cyan(12, np.random.default_rng(1), colors)
        families = families_of(cases, cohort(), NO_CUBES)
        assert families[0].words.startswith(words) and families[0].size >= 10
    (odd,) = seen_as_cyan(1, np.random.default_rng(2), ("red",))
    most = [*seen_as_cyan(9, np.random.default_rng(1), ("green",)), replace(odd, cluster=99, place=9)]
    first, *others = families_of(most, cohort(), NO_CUBES)
    assert "a green object as cyan" in first.words and first.size == 9
    assert [family.words for family in others] == ["The model sees a red object as cyan."]


def test_what_one_kind_of_object_shows_is_not_said_of_another() -> None:
    """Planted bug: two of four red things that happen to be hidden made "an object" of "a green object"."""
    rng = np.random.default_rng(4)
    green, hidden_red = seen_as_cyan(6, rng, ("green",)), seen_as_cyan(2, rng, ("red",))
    open_red = [
        Case(situation(facts), Failure(Symptom("object", "color"), i, "", "cyan"), 0)
        for facts in prior_scenes()[100:]
        for i, item in enumerate(facts.scene.objects)
        if item.color == "red" and not hidden_by_larger(scene_graph(facts), i)
    ]
    reds = [*hidden_red, *(open_red[k] for k in rng.permutation(len(open_red))[:2])]
    every = [replace(each, cluster=k, place=k) for k, each in enumerate([*green, *reds])]
    first, *others = families_of(every, cohort(), NO_CUBES)
    assert (
        first.words == "The model sees a green object as cyan where it is partly hidden by a larger object."
    )
    assert first.size == 6 and sum(family.size for family in others) == 4
    assert all("a red object" in family.words for family in others)


def test_two_failures_suggest_at_most_and_one_nothing() -> None:
    for n in (1, 2):
        (family,) = families_of(cases_of(same_color, n, np.random.default_rng(8)), cohort(), NO_CUBES)
        assert not family.is_clear and (n > 1 or not named(family))


RULE = Family(
    Pattern.of([KEYS["shape cylinder"], KEYS["touches any"]]), SHAPE, (("cylinder", "cube", 5),), members=(0,)
)


def drawn_failures(inside: float, outside: float, rng: np.random.Generator) -> list[Situation]:
    """What fails in each prior scene if a cylinder under the rule does with one chance, and elsewhere with another."""
    rows = []
    for facts in prior_scenes():
        holds = RULE.holds(facts)
        failures = [
            Failure(SHAPE, i, "", "cube")
            for i, item in enumerate(facts.scene.objects)
            if item.shape == "cylinder" and rng.random() < (inside if holds[i] else outside)
        ]
        rows.append(situation(facts, failures))
    return rows


def judgments(
    inside: float, outside: float, repeats: int, *, thinned: bool = True, uniform: float = 1.0
) -> list[tuple[bool, bool]]:
    """Whether both intervals hold the truth, and whether the family is confirmed, in each repeat."""
    found = []
    scores = np.arange(len(prior_scenes()), dtype=np.float64)
    for repeat in range(repeats):
        rng = np.random.default_rng([SEED, repeat])
        rows = drawn_failures(inside, outside, rng)
        chosen = design(repeat, scores, 240, uniform)
        half = rng.random(chosen.members.size) < 0.5  # the others made the rule
        others = {
            place: rows[member]
            for place, (member, judges) in enumerate(zip(chosen.members.tolist(), half, strict=True))
            if judges and rows[member].failures
        }
        selection = Selection(chosen.members, chosen.inclusion / (2.0 if thinned else 1.0))
        known = judged(RULE, others, selection, cohort())
        holds = (
            known.inside.low <= inside <= known.inside.high
            and known.outside.low <= outside <= known.outside.high
        )
        found.append((holds, known.is_confirmed))
    return found


@pytest.mark.slow
def test_the_intervals_of_other_scenes_cover_and_chance_is_not_confirmed() -> None:
    """Planted bug: the half of the scenes that made the rule is forgotten, and every share is half of what it is."""
    covered, confirmed = zip(*judgments(0.5, 0.02, 60), strict=True)
    assert np.mean(covered) >= 0.9 and np.mean(confirmed) >= 0.5
    chosen, _ = zip(*judgments(0.5, 0.02, 60, uniform=0.5), strict=True)  # by a score that means nothing
    assert np.mean(chosen) >= 0.9
    _, by_chance = zip(*judgments(0.08, 0.08, 60), strict=True)
    assert np.mean(by_chance) <= 0.05
    biased, _ = zip(*judgments(0.5, 0.02, 60, thinned=False), strict=True)
    assert np.mean(biased) < 0.8 < 0.95 < np.mean(covered)


def mostly_metal(facts: Facts, rng: np.random.Generator) -> Facts:
    """The scene with each object of metal with a chance of 85%."""
    items = (
        replace(item, material="metal" if rng.random() < 0.85 else "rubber") for item in facts.scene.objects
    )
    return facts_of(replace(facts.scene, objects=tuple(items)), NO_CUBES)


@pytest.mark.parametrize("together", [False, True], ids=["each by itself", "all of a scene"])
def test_what_most_objects_meet_is_not_confirmed_by_being_met_in_more_scenes(together: bool) -> None:
    """Where objects fail whatever they are, no condition matters, however many of them meet it.

    Planted bug: scenes with a failing unit, of scenes with one: 85% of objects are metal, so that nearly twice as
    large a share of scenes failed inside as outside.
    """
    most = Family(Pattern.of([KEYS["material metal"]]), SHAPE, (("cylinder", "cube", 5),), members=(0,))
    scenes = [mostly_metal(facts, np.random.default_rng([SEED, k])) for k, facts in enumerate(prior_scenes())]
    cohorts = [situation(facts) for facts in scenes[:200]]
    confirmed = 0
    for seed in range(20):
        rng = np.random.default_rng([SEED, seed])
        others = {}
        for place, facts in enumerate(scenes):
            n = len(facts.scene.objects)
            fails = np.repeat(rng.random() < 0.15, n) if together else rng.random(n) < 0.15
            failures = [Failure(SHAPE, int(unit), "", "cube") for unit in np.flatnonzero(fails)]
            if failures:
                others[place] = situation(facts, failures)
        confirmed += judged(most, others, everyone(len(scenes)), cohorts).is_confirmed
    assert confirmed == 0


def test_units_of_one_scene_are_one_event_and_few_scenes_say_little_of_how_many_units_there_are() -> None:
    """Planted bugs: an event for each failing unit; the cohort's mean number of units taken for known."""
    anything = Family(Pattern.of([]), SHAPE, (), members=(0,))

    def width(scenes: int, units: int, cohort_size: int = 320) -> tuple[float, float, float]:
        others = {
            k: situation(facts, [Failure(SHAPE, unit, "", "cube") for unit in range(units)])
            for k, facts in enumerate(prior_scenes()[:scenes])
        }
        every = [situation(facts) for facts in prior_scenes()[:cohort_size]]
        inside = judged(anything, others, everyone(320), every).inside
        assert inside.value == pytest.approx(scenes * units / (320 * 5)) and inside.low < inside.value
        return inside.value - inside.low, inside.high - inside.value, inside.value

    (few_low, few_high, few), (many_low, many_high, many) = width(10, 5), width(50, 1)
    assert few == many and few_low > 1.3 * many_low and few_high > 1.3 * many_high
    small_low, small_high, _ = width(50, 1, 10)
    assert small_low > 1.3 * many_low and small_high > 1.3 * many_high


def test_a_family_that_never_fails_elsewhere_is_not_confirmed_by_nothing() -> None:
    known = judged(RULE, {}, everyone(320), cohort())
    assert not known.is_confirmed and known.inside.value == 0.0 and known.scenes == 0


def test_what_speaks_for_a_confirmed_condition_is_said_of_objects_or_of_scenes() -> None:
    """Planted bug: of a phantom it was said how many of such objects are misread, which there are none of."""
    known = Judged(Share(0.3, 0.2, 0.4), Share(0.01, 0.0, 0.03), scenes=9)
    misread = replace(RULE, judged=known)
    assert misread.evidence == (
        "In other random scenes, the model makes this mistake with 30.0% (95% CI 20.0–40.0%) of such objects; "
        "elsewhere, with 1.0% (95% CI 0–3.0%)."
    )
    (crowded, *_) = scene_conditions()
    phantom = Family(Pattern.of([crowded]), Symptom("scene", PHANTOM), (("", "cube", 5),), judged=known)
    assert replace(phantom, members=(0,)).evidence == (
        "Of other random scenes where this holds, the model does so in 30.0% (95% CI 20.0–40.0%); "
        "elsewhere, in 1.0% (95% CI 0–3.0%)."
    )


def test_what_a_sentence_says() -> None:
    def words(keys: Sequence[str], what: str = "shape", value: str = "cube") -> str:
        return Family(
            Pattern.of(KEYS[key] for key in keys), Symptom("object", what), (("cylinder", value, 3),)
        ).words

    assert words(["shape cylinder", "touches same color", "size small"]) == (
        "The model reads a small cylinder as a cube where it overlaps an object of its color in the picture."
    )
    assert words(["shape cylinder", "hides", "left color red"], "missed", "") == (
        "The model misses a cylinder where it hides part of another object and is left of a red object."
    )
    assert words(["2 others of its shape"], "color", "red") == (
        "The model sees an object as red where it is one of at least 3 of its shape."
    )
    assert words([], "doubled", "") == "The model counts an object twice."
