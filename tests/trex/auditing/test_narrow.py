"""Rules that say too little are narrowed by random scenes that meet their conditions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trex
from benchmarks.auditing.misreader import Misreader, showing
from tests.trex.auditing.in_memory import scenes
from tests.worlds.repair_toy import tree
from trex.auditing.rare import steps
from trex.auditing.rare.narrow import ENOUGH, MORE, holds_most, is_wide, narrower
from trex.families.discover import Situation, conditions_of
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Failure, Symptom
from trex.scenes.conditions import object_rows
from trex.scenes.graph import Facts
from trex.scenes.scene import SceneObject, with_attribute
from trex.scenes.vocabulary import CLEVR, Vocabulary
from trex.trials.lines import read_lines

CONDITIONS = conditions_of(CLEVR)
OBJECT = CONDITIONS["object"]
SHAPE = Symptom("object", "shape")
NEEDED = ("shape cylinder", "material metal", "touches any", "fill high")
FEW = 25  # scenes that a rule was made from


def family_of(*keys: str) -> Family:
    """Objects that are read as cubes under these conditions."""
    return Family(Pattern.of(c for c in OBJECT if c.key in keys), SHAPE, (("cylinder", "cube", 9),))


def keys_of(family: Family | None) -> set[str]:
    """The conditions of a family."""
    return {condition.key for condition in family.pattern.conditions} if family else set()


def failing(facts: Facts, needed: Sequence[str], chance: float, number: int) -> Situation:
    """A scene in which units that meet these conditions are read as cubes, each by this chance."""
    columns = [k for k, condition in enumerate(OBJECT) if condition.key in needed]
    met = object_rows(facts, OBJECT)[:, columns].all(axis=1)
    met &= np.random.default_rng([3, number]).random(len(met)) < chance
    return Situation(facts, [Failure(SHAPE, int(k), "", "cube") for k in np.flatnonzero(met)], CONDITIONS)


@cache
def meeting(*keys: str) -> list[Facts]:
    """Random scenes in which an object meets these conditions."""
    columns = [k for k, condition in enumerate(OBJECT) if condition.key in keys]
    return [facts for facts in scenes(800)[0] if object_rows(facts, OBJECT)[:, columns].all(axis=1).any()]


def parts(wide: Sequence[str], needed: Sequence[str], chance: float = 1.0) -> list[list[Situation]]:
    """Disjoint lots of scenes that meet the conditions of a wide rule: FEW that made it, and MORE."""
    every = [failing(facts, needed, chance, k) for k, facts in enumerate(meeting(*wide))]
    return [every[at : at + FEW + MORE] for at in range(0, len(every) - FEW - MORE + 1, FEW + MORE)]


def test_further_scenes_show_what_else_a_failure_needs() -> None:
    """Planted bugs: the rule was sought among all units, so that it named what the wide one does; further conditions
    were judged by the scenes that had made the rule alone."""
    wide = ("shape cylinder", "touches any")
    lots = parts(wide, NEEDED)
    found = [keys_of(narrower(family_of(*wide), lot, CLEVR)) for lot in lots]
    before = [keys_of(narrower(family_of(*wide), lot[:FEW], CLEVR)) for lot in lots]
    assert len(lots) >= 3
    assert sum(keys == set(NEEDED) for keys in found) > sum(keys == set(NEEDED) for keys in before)
    assert sum(keys == set(NEEDED) for keys in found) >= len(lots) - 2


def test_a_failure_by_chance_is_not_narrowed() -> None:
    """Planted bug: the condition that fits best was added whatever it gained."""
    wide = ("shape cylinder", "touches any")
    lots = parts(wide, wide, 0.4)
    assert len(lots) >= 3 and not any(narrower(family_of(*wide), lot, CLEVR) for lot in lots)


def test_objects_that_are_missed_together_are_one_failure() -> None:
    """All metal objects of a scene are missed, or none is, and nothing says in which. Planted bug: each counted by
    itself, so that every third rule was narrowed by a condition that means nothing."""
    missed, metal = Symptom("object", "missed"), [c for c in OBJECT if c.key == "material metal"]
    family, n, narrowed = Family(Pattern.of(metal), missed, (("", "missed", 9),)), 16, 0
    for trial in range(n):
        rng, known = np.random.default_rng(trial), []
        for k in rng.permutation(len(meeting("material metal")))[:150]:
            facts = meeting("material metal")[k]
            seen = object_rows(facts, tuple(metal))[:, 0] & (rng.random() < 0.5)
            failures = [Failure(missed, int(unit), "", "missed") for unit in np.flatnonzero(seen)]
            known.append(Situation(facts, failures, CONDITIONS))
        assert is_wide(family, known)
        narrowed += narrower(family, known, CLEVR) is not None
    assert narrowed <= 1  # a condition that means nothing is added in 1 of 100


def test_what_follows_from_the_new_conditions_is_left_out() -> None:
    """ "Overlaps a larger object" says that it overlaps one, and that it is small."""
    wide, needed = ("size small", "touches any"), ("touches larger", "fill high")
    found = [keys_of(narrower(family_of(*wide), lot, CLEVR)) for lot in parts(wide, needed)]
    assert any("touches larger" in keys for keys in found)
    assert all(not keys & set(wide) for keys in found if "touches larger" in keys)


@pytest.mark.parametrize(("n", "chance", "wide"), [(FEW, 0.4, True), (FEW, 1.0, False), (ENOUGH, 0.4, False)])
def test_only_rules_that_hold_seldom_and_fail_in_part_are_wide(n: int, chance: float, wide: bool) -> None:
    keys = ("shape cylinder", "touches any")
    known = [failing(facts, keys, chance, k) for k, facts in enumerate(meeting(*keys)[:n])]
    assert len(known) == n and is_wide(family_of(*keys), known) == wide
    assert not is_wide(
        family_of("color red", "shape cylinder", "far back", "fill high", "touches any"), known
    )


def test_a_narrower_family_takes_the_place_of_one_whose_failures_it_holds() -> None:
    (lot, *_) = parts(("shape cylinder", "touches any"), NEEDED)
    wide, narrow = family_of("shape cylinder", "touches any"), family_of(*NEEDED)
    assert holds_most(narrow, wide, lot) and holds_most(wide, narrow, lot)
    other = family_of("shape cylinder", "touches any", "color red")
    assert not holds_most(other, wide, lot)


def half_of_red_things(facts: Facts, index: int, item: SceneObject) -> SceneObject:
    """A red object, seen as blue in every other scene: nothing says in which."""
    is_seen = item.color == "red" and int(facts.scene.objects[0].x * 1e6) % 2
    return with_attribute(item, "color", "blue") if is_seen else item


def carried_out(model: Misreader, folder: Path, out: str) -> trex.AuditResult:
    """An audit of a model that sees red objects as blue in some scenes."""
    world = folder / "world.toml"
    world.write_text("[scene]\nobjects = [3, 4]\n")
    with showing(model, folder / "cache"):
        return trex.audit(
            model, world=world, preset="fake", confirm_preset="fake", scenes=40, held_out=40, rare=24,
            questions=8, tested=1, probed=0, wordings=1, explain=False, bank=folder / "bank", out=folder / out,
            progress=False,
        )  # fmt: skip


def again(family: Family, known: Sequence[Situation], vocabulary: Vocabulary) -> Family | None:
    """In place of `narrower`: the family with a condition twice, once; so that the same scenes meet it."""
    (first, *_) = conditions = family.pattern.conditions
    return None if conditions.count(first) > 1 else replace(family, pattern=Pattern.of([*conditions, first]))


def test_an_audit_narrows_in_rounds_and_resumes_from_anywhere_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: the second round took the scenes of the first, or drew them again; a resumed audit drew others."""
    monkeypatch.setattr(steps, "MORE", 4)
    monkeypatch.setattr(steps, "narrower", again)
    model = Misreader(half_of_red_things)
    carried_out(model, tmp_path, "whole")
    whole = tmp_path / "whole"
    examined = (whole / steps.NARROWED).read_bytes().splitlines(keepends=True)
    numbers = [json.loads(line)["scene"] for line in examined]
    assert len(set(numbers)) == len(numbers) == 24 // steps.NARROWING_PART
    assert len((whole / steps.WITHIN).read_bytes().splitlines()) == 2
    for kept in (0, 2, 6):
        shutil.copytree(whole, cut := tmp_path / f"cut{kept}")
        (cut / steps.NARROWED).write_bytes(b"".join(examined[:kept]))
        if not kept:
            (cut / steps.WITHIN).unlink()
        carried_out(model, tmp_path, cut.name)
        assert tree(cut) == tree(whole)


def test_an_audit_of_before_is_read_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: a finished audit got further scenes and other families when its page was made again; one that was
    resumed judged a rare family by more drawn scenes than before."""
    monkeypatch.setattr(steps, "MORE", 1000)
    model, old = Misreader(half_of_red_things), tmp_path / "old"
    carried_out(model, tmp_path, "old")
    (now,) = read_lines(old / steps.SOUGHT, steps.SOUGHT_ROWS)
    settings = old / "audit.json"
    text = settings.read_text().replace(f'"narrows": {ENOUGH}', '"narrows": 0')
    settings.write_text(text.replace(f'"sought": {steps.SOUGHT_IN_SPARSE}', '"sought": 0'))
    for log in (steps.SOUGHT, steps.JUDGED):
        (old / log).unlink()
    monkeypatch.setattr(steps, "MORE", 4)
    monkeypatch.setattr(steps, "SOUGHT_IN_BEFORE", 1)
    carried_out(model, tmp_path, "old")
    assert '"narrows": 0' in settings.read_text() and not (old / steps.NARROWED).exists()
    (then,) = read_lines(old / steps.SOUGHT, steps.SOUGHT_ROWS)
    assert '"sought": 0' in settings.read_text() and then.drawn == 40 < now.drawn


def test_families_of_other_numbers_are_refused(tmp_path: Path) -> None:
    """Planted bug: what a test showed of one family was taken for another's, as both had the same number."""
    carried_out(model := Misreader(half_of_red_things), tmp_path, "whole")
    before = tree(tmp_path / "whole")
    carried_out(model, tmp_path, "whole")
    assert tree(tmp_path / "whole") == before
    numbers = tmp_path / "whole" / "families.json"
    assert json.loads(numbers.read_text()) == {"families": ["color, color red"]}
    numbers.write_text(json.dumps({"families": ["color, color blue"]}))
    with pytest.raises(trex.RunError, match=r"families.json is of another version"):
        carried_out(model, tmp_path, "whole")


def test_lines_about_other_families_or_scenes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a resumed audit whose rules differ took the scenes of another rule, and its rate."""
    monkeypatch.setattr(steps, "MORE", 4)
    model = Misreader(half_of_red_things)
    carried_out(model, tmp_path, "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    with monkeypatch.context() as other:
        other.setattr(Family, "key", "shape, color red")
        with pytest.raises(trex.RunError, match=r"rare-within.jsonl is of another version"):
            carried_out(model, tmp_path, "whole")
    for path in (tmp_path / "cut").glob("rare-within.*"):
        path.unlink()
    monkeypatch.setattr(steps, "FIRST_WITHIN", steps.FIRST_WITHIN + 100)
    with pytest.raises(trex.RunError, match=r"rare-narrowed.jsonl is of another version"):
        carried_out(model, tmp_path, "cut")
