"""Families in fresh scenes: what they hold of the mistakes there, and whether other scenes make the same families."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex
from tests.trex.auditing.in_memory import Row, Swept, families_of, swept
from tests.trex.auditing.planted_models import View, as_it_is, small_things_at_the_back_are_missed
from tests.worlds.color_models import NAMED
from tests.worlds.repair_toy import tree
from trex.auditing.compare import Fresh, agreement, in_fresh_scenes
from trex.auditing.judging.membership import memberships_of, situations
from trex.families.discover import discover
from trex.families.family import Family
from trex.scenes.conditions import FAR
from trex.scenes.graph import Facts
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.scene import Scene, SceneObject, with_attribute
from trex.scenes.validity import BEHIND
from trex.scenes.vocabulary import CLEVR

ARGUMENTS = (
    "audit", NAMED, "--preset", "fake", "--confirm-preset", "fake", "--world", "one_cube_without_cubes",
    "--scenes", "40", "--held-out", "40", "--questions", "12", "--tested", "3", "--probed", "0",
)  # fmt: skip
N = 180  # a third makes the rules, a third judges them, a third is fresh


def two_faults(facts: Facts) -> SceneSets:
    """Small things at the back are missed, and large rubber spheres are seen as cubes."""
    seen = [_seen(item) for item in facts.scene.objects]
    return scene_sets(Scene(tuple(item for item in seen if item is not None), facts.scene.nuisances))


def _seen(item: SceneObject) -> SceneObject | None:
    if item.size == "small" and depth(item) > FAR:
        return None
    if (item.size, item.material, item.shape) == ("large", "rubber", "sphere"):
        return with_attribute(item, "shape", "cube")
    return item


def depth(item: SceneObject) -> float:
    """How far back it lies."""
    return item.x * BEHIND[0] + item.y * BEHIND[1]


def thirds(view: View) -> tuple[Swept, list[Row], list[Row], list[Row]]:
    """A sweep, and its scenes in three parts."""
    item = swept(view, n=N)
    rows = [*item.training, *item.held_out]
    return item, rows[: N // 3], rows[N // 3 : 2 * N // 3], rows[2 * N // 3 :]


def families(item: Swept, built: Sequence[Row]) -> list[Family]:
    """The families that these scenes show."""
    return families_of(item._replace(training=list(built)))


def judged(view: View, kinds: set[str]) -> tuple[Fresh, list[Row], list[Family], Swept]:
    """Families with these symptoms taken as confirmed, in fresh scenes; those, all families, and the sweep."""
    item, built, remaining, fresh = thirds(view)
    found = families(item, built)
    chosen = {k for k, family in enumerate(found) if family.symptom.what in kinds}
    assert chosen
    halves = situations(built, item.asker), situations(remaining, item.asker)
    return in_fresh_scenes(halves, found, chosen, situations(fresh, item.asker), CLEVR), fresh, found, item


@pytest.mark.slow
def test_one_planted_fault_holds_all_mistakes_and_both_halves_tell_of_it() -> None:
    message, fresh, *_ = judged(small_things_at_the_back_are_missed, {"missed"})
    n = sum(len(examined.mistakes) for _, examined in fresh)
    assert message.scenes == N // 3 and message.coverage.of == n > 20
    assert message.coverage.value > 0.9
    (fails,) = message.fails.values()
    hold = [
        any(item.size == "small" and depth(item) > FAR for item in facts.scene.objects) for facts, _ in fresh
    ]
    assert fails.of == sum(hold), "the fresh scenes with the conditions, and no others"
    assert fails.value > 0.9 and fails.count <= sum(bool(examined.misread) for _, examined in fresh)
    assert message.agreement.words == (1, 1, 1)
    assert message.agreement.same.value > 0.9


@pytest.mark.slow
def test_coverage_counts_the_mistakes_of_confirmed_families_alone() -> None:
    """Of two faults one is taken as confirmed: the other's mistakes are not held; a count of all families is caught."""
    message, fresh, found, item = judged(two_faults, {"missed"})
    assert {family.symptom.what for family in found} >= {"missed", "shape"}
    holders = memberships_of(found, situations(fresh, item.asker))
    missed = {k for k, family in enumerate(found) if family.symptom.what == "missed"}
    held = [mistake & missed for picture in holders for mistake in picture]
    assert message.coverage.count == sum(bool(mistake) for mistake in held)
    of_any = sum(bool(mistake) for picture in holders for mistake in picture)
    assert message.coverage.count < 0.8 * of_any, (
        "the planted bug: mistakes of families that were not confirmed"
    )
    (number,) = message.covers
    assert message.covers[number].count == message.coverage.count


def test_a_faultless_model_has_nothing_to_cover() -> None:
    item, built, remaining, fresh = thirds(as_it_is)
    halves = situations(built, item.asker), situations(remaining, item.asker)
    message = in_fresh_scenes(halves, families(item, built), set(), situations(fresh, item.asker), CLEVR)
    assert (message.coverage.count, message.coverage.of, message.coverage.interval) == (0, 0, (0.0, 1.0))
    assert message.agreement.kappa is None and message.agreement.words == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made_by", "judged_by", "confirmed"),
    [(as_it_is, two_faults, 0), (two_faults, small_things_at_the_back_are_missed, 1)],
)
def test_the_second_set_of_rules_is_made_and_judged_the_other_way_round(
    made_by: View, judged_by: View, confirmed: int
) -> None:
    """The parts come from models with other faults. Planted bugs: the second set judged by the scenes that made it (two
    rules instead of none), or made from the same scenes as the first (two instead of one)."""
    item, built, _, _ = thirds(made_by)
    other, _, remaining, fresh = thirds(judged_by)
    halves = situations(built, item.asker), situations(remaining, other.asker)
    scenes = situations(fresh, other.asker)
    message = in_fresh_scenes(halves, discover(halves[0], CLEVR), set(), scenes, CLEVR).agreement
    assert message.words[:2] == (confirmed, confirmed)


def owners(table: dict[tuple[bool, bool], int]) -> tuple[list[list[set[int]]], list[list[set[int]]]]:
    """Pictures with one mistake each, in the cells of a table of two sets."""
    rows = [cell for cell, n in table.items() for _ in range(n)]
    return [[{3} if a else set()] for a, _ in rows], [[{8} if b else set()] for _, b in rows]


def test_agreement_is_cohens_kappa() -> None:
    """A table worked out by hand: .7 agree, .5 would by chance, so kappa is .4; raw agreement is no kappa."""
    table = {(True, True): 20, (True, False): 5, (False, True): 10, (False, False): 15}
    same, kappa = agreement(*owners(table))
    assert (same.count, same.of) == (35, 50)
    assert kappa == pytest.approx(0.4)
    independent = {(a, b): (24 if a else 6) * (3 if b else 1) for a in (True, False) for b in (True, False)}
    same, kappa = agreement(*owners(independent))
    assert same.value == pytest.approx(0.65) and kappa == pytest.approx(0.0)


def test_sets_that_hold_everything_agree_by_chance_alone() -> None:
    same, kappa = agreement(*owners({(True, True): 9}))
    assert same.value == 1.0 and kappa is None


@pytest.fixture(scope="module")
def whole(slow: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An audit with fresh scenes, and its bank."""
    folder = tmp_path_factory.mktemp("fresh")
    assert carried_out(folder / "audit", folder / "bank", "--fresh", "40")["fresh"]
    return folder / "audit", folder / "bank"


def carried_out(out: Path, bank: Path, *more: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        trex(*ARGUMENTS, "--bank", bank, "--out", out, "--json", *more).stdout
    )
    return found


def test_fresh_scenes_are_none_of_the_others(whole: tuple[Path, Path]) -> None:
    numbers = [
        [json.loads(line)["scene"] for line in (whole[0] / name).read_text().splitlines()]
        for name in ("swept.jsonl", "fresh.jsonl")
    ]
    assert numbers == [[*range(80)], [*range(80, 120)]]


def test_the_page_tells_of_fresh_scenes(whole: tuple[Path, Path]) -> None:
    page, message = (whole[0] / "report.html").read_text(), json.loads((whole[0] / "report.json").read_text())
    assert message["fresh"]["scenes"] == 40 and "40 fresh scenes" in message["headline"]
    assert "40 more scenes neither made nor judged a rule" in page
    assert page.count("In fresh scenes the model fails in this way") == len(message["fresh"]["families"]) > 0
    assert "both sets of rules hold the same or leave out the same" in page


@pytest.mark.parametrize("before", [(), ("--fresh", "21")])
def test_fresh_scenes_can_be_asked_for_later(
    whole: tuple[Path, Path], tmp_path: Path, before: tuple[str, ...]
) -> None:
    carried_out(tmp_path / "audit", whole[1], *before)
    assert (tmp_path / "audit" / "fresh.jsonl").exists() == bool(before)
    carried_out(tmp_path / "audit", whole[1], "--fresh", "40")
    assert tree(tmp_path / "audit") == tree(whole[0])
    carried_out(tmp_path / "audit", whole[1])
    assert tree(tmp_path / "audit") == tree(whole[0]), "what is there is told of without the option, too"


def test_cut_among_the_fresh_scenes_it_ends_in_the_same_bytes(
    whole: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(whole[0], tmp_path / "cut"))
    (folder / "report.html").unlink()
    lines = (folder / "fresh.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "fresh.jsonl").write_bytes(b"".join(lines[:19]) + lines[19][:9])
    carried_out(folder, whole[1], "--fresh", "40")
    assert tree(folder) == tree(whole[0])


def test_a_wrong_number_is_refused(tmp_path: Path) -> None:
    refused(trex(*ARGUMENTS, "--fresh", "-1", "--out", tmp_path / "audit"), "--fresh -1: give 0 to")
    assert not (tmp_path / "audit").exists()
