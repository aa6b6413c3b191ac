"""Rare failures: which scenes are chosen, copied and sought, and that what is said of a rare family holds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import trex
from benchmarks.auditing.misreader import Misreader, showing
from tests.trex.auditing.in_memory import FEW as SWEPT
from tests.trex.auditing.in_memory import scenes, swept
from tests.trex.auditing.judging.test_findings import ROW, asked_again
from tests.trex.auditing.planted_models import small_things_at_the_back_are_missed
from tests.trex.auditing.test_probe import BACK, SMALL
from tests.worlds.misreader import misreader
from tests.worlds.repair_toy import tree
from trex.auditing.judging.findings import HeldOut, counted_in, findings, holds_words, in_held_out
from trex.auditing.judging.membership import situations
from trex.auditing.judging.sought import FEW, Sought, inverse_interval, sought_members
from trex.auditing.rare import copies
from trex.auditing.rare import copies as copies_module
from trex.auditing.rare.choice import chosen_scenes, rare_first
from trex.auditing.rare.copies import COPIES, ROUND, SCENES, Copies, is_held, unheld
from trex.auditing.rare.steps import COPIED
from trex.families.discover import Situation, conditions_of, of_truth
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Failure, Symptom
from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.scenes import prior as prior_module
from trex.scenes.conditions import object_rows
from trex.scenes.graph import Facts, facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR

ALARM = 1e-5  # chance of a false alarm of each test
OBJECT = conditions_of(CLEVR)["object"]


@cache
def tables() -> list[np.ndarray[tuple[int, int], np.dtype[np.bool_]]]:
    """The conditions on the objects of random scenes."""
    return [object_rows(facts, OBJECT) for facts in scenes(SWEPT)[0]]


def shown(places: list[int]) -> set[tuple[int, ...]]:
    """The combinations of three conditions that some object of these scenes shows."""
    return {
        held
        for place in places
        for row in tables()[place]
        for held in combinations(np.flatnonzero(row).tolist(), 3)
    }


def test_chosen_scenes_show_more_combinations_than_random_ones() -> None:
    """Planted bug: gains were not brought up to date, so that near doubles were chosen together."""
    chosen, n = rare_first(tables(), 12), len(tables())
    assert len(set(chosen)) == 12 and rare_first(tables(), 12) == chosen
    assert len(shown(chosen)) > 1.15 * len(shown(list(range(12))))
    assert sorted(rare_first(tables(), n + 1)) == list(range(n))


def test_of_tables_with_one_rare_combination_each_the_one_that_adds_most_is_next() -> None:
    """A second table of the same combination waits until each is shown; common combinations count for nothing."""
    units = np.zeros((2000, 1, 7), dtype=np.bool_)
    units[:, :, :3] = True  # in all
    units[[10, 11], :, 3] = True
    units[12, :, 4] = True
    chosen = rare_first(list(units), 3)
    assert chosen[:2] == [10, 12] and chosen[2] == 11


def test_chosen_scenes_are_a_function_of_the_seed_and_never_crowded() -> None:
    prior = ScenePrior(n_objects=(7, 10))
    chosen = chosen_scenes(prior, 3, 2)
    assert chosen == chosen_scenes(prior, 3, 2) != chosen_scenes(prior, 4, 2)
    assert all(len(scene.objects) <= 8 for scene in chosen)


def test_where_no_scene_of_few_objects_meets_the_world_s_condition_crowded_ones_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: an audit of such a world ended with an error after its sweep."""
    monkeypatch.setattr(prior_module, "MAX_SCENES", 300)
    prior = ScenePrior(n_objects=(3, 9)).where(lambda scene: len(scene.objects) == 9, "nine objects")
    (scene,) = chosen_scenes(prior, 3, 1)
    assert len(scene.objects) == 9


PLANTED = frozenset({"shape cylinder", "material metal", "touches any"})
SHAPE = Symptom("object", "shape")
CONDITIONS = conditions_of(CLEVR)
COLUMNS = [OBJECT.index(c) for c in OBJECT if c.key in PLANTED]


def seen(facts: Facts, fails: bool = True) -> Situation:
    """A scene in which metal cylinders that overlap something are read as cubes, or in which nothing fails."""
    met = object_rows(facts, OBJECT)[:, COLUMNS].all(axis=1) & fails
    found = [Failure(SHAPE, int(unit), "", "cube") for unit in np.flatnonzero(met)]
    return Situation(facts, found, CONDITIONS)


def studied(start: Situation, known: list[Situation], number: int, fails: bool = True) -> Copies:
    """The copies of a scene, all of them examined."""
    copies = Copies((start, start.failures[0]), known, CLEVR, 0, number)
    while made := copies.choice(ROUND):
        copies.take(made)
        assert all(is_valid(copy, CLEVR) and copy != start.facts.scene for copy in made)
        copies.learn([seen(facts_of(copy, CLEVR), fails) for copy in made])
    return copies


def planted_scenes() -> tuple[list[Situation], list[Situation]]:
    """Scenes in which one object fails, and others in which none does."""
    every = [seen(facts) for facts in scenes(SWEPT)[0]]
    return [s for s in every if len(s.failures) == 1], [s for s in every if not s.failures]


def test_copies_of_one_failure_show_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: the unit kept its number when an object before it was left out; copies were taken in turn."""
    monkeypatch.setattr(copies_module, "POOL", 150)
    starts, known = planted_scenes()
    right = 0
    for number, start in enumerate(starts[:5]):
        found = studied(start, [*known, start], number).stated()
        right += [{c.key for c in family.pattern.conditions} for family in found] == [set(PLANTED)]
        assert all(
            family.symptom == SHAPE and family.became[0][:2] == ("cylinder", "cube") for family in found
        )
    assert right >= 4


def test_copies_of_a_failure_by_chance_state_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies_module, "POOL", 60)
    starts, known = planted_scenes()
    assert studied(starts[0], [*known, starts[0]], 0, fails=False).stated() == []


def test_no_copy_has_a_unit_that_is_what_it_would_be_taken_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies_module, "POOL", 60)
    starts, known = planted_scenes()
    copies = Copies((starts[0], starts[0].failures[0]), known, CLEVR, 0, 0)
    again = Copies((starts[0], starts[0].failures[0]), known, CLEVR, 0, 0)
    made = copies.choice(COPIES)
    assert 0 < len(made) <= COPIES and len(set(made)) == len(made) and made == again.choice(COPIES)
    unit = starts[0].failures[0].unit
    whole = [copy for copy in made if len(copy.objects) == len(starts[0].facts.scene.objects)]
    assert whole and all(copy.objects[unit].shape != "cube" for copy in whole)


def test_a_family_says_what_is_misread_where_that_is_one_thing() -> None:
    """Planted bug: a rule left out the shape that nearly all hidden objects have."""
    cylinder = [OBJECT.index(c) for c in OBJECT if c.key == "shape cylinder"]
    assert of_truth(OBJECT, SHAPE, [("cylinder", "cube", 5)]) == cylinder
    assert of_truth(OBJECT, SHAPE, [("cylinder", "cube", 4), ("cylinder", "sphere", 1)]) == cylinder
    assert of_truth(OBJECT, SHAPE, [("cylinder", "cube", 5), ("sphere", "cube", 1)]) == []
    assert of_truth(OBJECT, Symptom("object", "missed"), [("", "missed", 5)]) == []


def test_copies_are_made_of_failures_that_no_family_holds() -> None:
    """Planted bug: failures within a family's conditions took the room of those without a family."""
    item = swept(small_things_at_the_back_are_missed, n=SWEPT)
    known = situations(item.training, item.asker)
    starts = unheld(known, [])
    kinds = {(failure.symptom, failure.value) for scene in known for failure in scene.failures}
    assert 0 < len(starts) <= SCENES * len(kinds)
    (far,) = {symptom for symptom, _ in kinds if symptom.what == "missed"}
    assert not unheld(known, [Family(Pattern.of(()), far)]) or len(kinds) > 1
    assert all(is_held(start, [Family(Pattern.of(()), start[1].symptom)]) for start in starts)
    assert not any(is_held(start, []) for start in starts)


@pytest.mark.parametrize("rate", [0.003, 0.02, 0.3])
def test_the_interval_of_draws_until_enough_hits_covers_exactly(rate: float) -> None:
    """All outcomes, each with its probability. Planted bug: the limits of one draw and one hit more cover too often."""
    from scipy.stats import nbinom

    draws = np.arange(FEW, int(nbinom.isf(1e-9, FEW, rate)) + FEW + 1)
    chance = nbinom.pmf(draws - FEW, FEW, rate)
    inside = [low <= rate <= high for low, high in (inverse_interval(FEW, int(n), 0.95) for n in draws)]
    below = [rate < inverse_interval(FEW, int(n), 0.95).low for n in draws]
    above = [rate > inverse_interval(FEW, int(n), 0.95).high for n in draws]
    assert float(chance @ inside) >= 0.95
    assert 0.015 < float(chance @ below) <= 0.025 and 0.015 < float(chance @ above) <= 0.025


def numbered(n: int) -> list[tuple[int, Scene]]:
    prior = ScenePrior(n_objects=(5, 6))
    return [(i, prior.sample(np.random.default_rng([21, i]))) for i in range(n)]


def test_scenes_are_sought_until_there_are_enough() -> None:
    members, common = numbered(60), SMALL
    missed = Symptom("object", "missed")
    never = Family(
        Pattern.of(c for c in OBJECT if c.key in ("visible 0.2", "far front", "color red")), missed
    )
    first, second = sought_members([common, never], members, CLEVR, lambda scene, number: [])
    held = [member for member in members if any(item.size == "small" for item in member[1].objects)]
    assert list(first.members) == held[:FEW] and first.is_full and first.drawn == held[FEW - 1][0] + 1
    assert not second.is_full and second.drawn == len(members) and len(second.members) < FEW


def test_only_units_that_meet_the_conditions_count_in_scenes_that_were_sought() -> None:
    """Planted bug: the other units of sought scenes counted as outside, and pulled the rate elsewhere."""
    item = swept(small_things_at_the_back_are_missed, n=SWEPT)
    held_out, further = situations(item.held_out, item.asker), situations(item.training, item.asker)
    sought = Sought(tuple((k, scene.facts.scene) for k, scene in enumerate(further)), 500, False)
    (plain,), (both,) = in_held_out([BACK], held_out), in_held_out([BACK], held_out, {0: (sought, further)})
    (alone,) = counted_in([BACK], further)
    assert both.outside == plain.outside and both.inside == plain.inside + alone.inside
    assert len(both.failures) == len(plain.failures) + len(alone.failures) and both.sought == sought
    assert both.p_value < plain.p_value


def test_the_rate_of_a_rare_family_is_the_product_and_its_interval_covers() -> None:
    """Audits simulated: how often the conditions hold, fail and stay. Planted bug: the interval of the first factor
    alone covers the product seldom."""
    rng, holds, fails, stays, n = np.random.default_rng(5), 0.002, 0.7, 0.8, 400
    covered = alone = 0
    for _ in range(n):
        drawn, met = _drawn(rng, holds)
        failing = int(rng.binomial(met, fails))
        again = [bool(rng.random() < stays) for _ in range(min(10, failing))]
        sought = Sought(tuple((k, ROW[0].scene) for k in range(met)), drawn, met == FEW)
        seen = HeldOut(
            BACK, (1.0,) * failing + (0.0,) * (met - failing), ((0, 1),) * 50, (ROW,) * failing, None, sought
        )
        (found,) = findings([seen], [asked_again(stay, 0.9) for stay in again], [[]] * 50, {})
        low, high = found.rate_interval
        covered += low <= holds * fails * stays <= high
        alone += Interval(*sought.holds(0.95).interval).low <= holds * fails * stays
        share = sum(again) / len(again) if again else 0.0
        holding = sought.value * (failing / met if met else 0.0)
        assert found.rate == pytest.approx(holding * share)
    from scipy.stats import binom

    assert covered >= binom.ppf(ALARM, n, 0.95)
    assert alone < binom.ppf(ALARM, n, 0.95)


def test_scenes_are_sought_whatever_a_unit_is_taken_for_and_the_rate_counts_them_all() -> None:
    """Planted bug: scenes of which the units could not be taken for the named value were not sought; once the sentence
    lost that value, its rate was too low by them. Twenty of 100 draws meet the conditions, five with a cube."""
    sought, failing = Sought(tuple((k, ROW[0].scene) for k in range(FEW)), 100, True), (ROW,) * 5
    wider = HeldOut(BACK, (1.0,) * 5 + (0.0,) * 15, ((0, 1),) * 50, failing)
    named = replace(wider, inside=(1.0,) * 5 + (0.0,) * 10, wider=wider, sought=sought)
    for seen in (named, replace(wider, sought=sought)):
        (found,) = findings([seen], [asked_again(True, 0.9)], [[]] * 50, {})
        assert found.rate == pytest.approx(19 / 99 * 5 / 20) and found.is_sought
        assert "drawn for this (20 of 100; " in holds_words(found)


def _drawn(rng: np.random.Generator, rate: float) -> tuple[int, int]:
    """Draws until FEW meet the conditions, of 8,000 at most; and how many do."""
    places = np.flatnonzero(rng.random(8000) < rate)
    return (8000, len(places)) if len(places) < FEW else (int(places[FEW - 1]) + 1, FEW)


def test_draws_that_end_before_there_are_enough_have_the_usual_interval() -> None:
    sought = Sought(((4, ROW[0].scene),), 100, False)
    assert (
        sought.holds(0.9).interval == clopper_pearson(1, 100, 0.9) and sought.holds(0.9).counted == "1 of 100"
    )


def red_metal(graph: nx.DiGraph, index: int) -> bool:
    """A red metal object."""
    return graph.nodes[index]["color"] == "red" and graph.nodes[index]["material"] == "metal"


def carried_out(model: Misreader, folder: Path, out: str) -> None:
    """An audit with a few scenes, in which the model's fault shows too seldom for a rule."""
    world = folder / "world.toml"
    world.write_text("[scene]\nobjects = [3, 4]\n")
    with showing(model, folder / "cache"):
        trex.audit(
            model, world=world, preset="fake", confirm_preset="fake", scenes=12, held_out=12, rare=12,
            questions=8, tested=1, probed=0, wordings=1, explain=False, bank=folder / "bank", out=folder / out,
            progress=False,
        )  # fmt: skip


def test_copies_resume_from_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: a log of more copies than those of the first round was refused, so that no audit resumed; a choice
    that came out otherwise, on another processor, gave answers to other scenes than those that were asked about."""
    monkeypatch.setattr(copies, "POOL", 100)
    model = misreader(red_metal)
    carried_out(model, tmp_path, "whole")
    copied = (tmp_path / "whole" / COPIED).read_bytes().splitlines(keepends=True)
    assert len(copied) > ROUND, "copies of several rounds"
    carried_out(model, tmp_path, "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / COPIED).write_bytes(b"".join(copied[: ROUND + 1]))
    carried_out(model, tmp_path, "cut")
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
    monkeypatch.setattr(copies, "POOL", 60)
    (tmp_path / "cut" / COPIED).write_bytes(b"".join(copied[: ROUND + 1]))
    carried_out(model, tmp_path, "cut")
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
