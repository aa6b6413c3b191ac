"""What a suite compares: groups of each batch by themselves, and each scene with what is known of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from trex.families.lineage import Families
from trex.scenes.scene import Nuisances, Scene, scene_id
from trex.suite import add as add
from trex.suite.batch import Batch, BatchFile, BatchScene, related
from trex.suite.run import Change, SceneResult, SuiteRun, _selected

SCENE = BatchScene("a.png", "1", "2", 0.9, (), "Q?", (), 3)


def batch(name: str) -> Batch:
    return Batch(Path(name), BatchFile("run", "model", (SCENE,), {}), {})


def result(
    key: str, fails: bool, before: bool | None, group: str = "", selected: bool = False
) -> SceneResult:
    return SceneResult(key, "Q?", "1", "2" if fails else "1", 0.9, before, selected, group)


def test_groups_of_different_batches_are_different_groups() -> None:
    """Planted bug: group 3 of every batch was one group."""
    assert batch("one").group(SCENE) != batch("other").group(SCENE)
    assert batch("one").group(SCENE) == batch("one").group(SCENE)


def test_scenes_of_one_chain_are_related_in_whatever_batch_they_are() -> None:
    """A run was added, resumed, and added again. Planted bug: a chain counted once for each time it was added."""
    rows = (("a", 0, "run x chain 1"), ("b", 0, "run x chain 2"), ("c", 1, "scene 7"))
    first = tuple(replace(SCENE, name=name, group=group, origin=origin) for name, group, origin in rows)
    again = (
        replace(SCENE, name="d", group=0, origin="run x chain 2"),
        replace(SCENE, name="e", group=1, origin="run y chain 2"),
        replace(SCENE, name="f", group=2),
    )
    batches = [
        Batch(Path(name), BatchFile("x", "m", rows, {}), {}) for name, rows in (("1", first), ("2", again))
    ]
    groups = related(batches)
    assert groups["1/a"] == groups["1/b"] == groups["2/d"] and len(set(groups.values())) == 4
    assert related(batches[1:])["2/d"] != related(batches[1:])["2/e"]


def test_a_scene_that_no_run_has_asked_counts_as_failed_before() -> None:
    """It was added because a model failed. Planted bug: it counted as passed, and was newly failing."""
    changes = [result("a", fails, before).change for before in (None, True, False) for fails in (True, False)]
    still, fixed, new, passing = Change.STILL_FAILING, Change.FIXED, Change.NEWLY_FAILING, Change.PASSING
    assert changes == [still, fixed, still, fixed, new, passing]


def test_only_scenes_that_both_runs_have_and_none_of_them_chose_are_compared() -> None:
    """Planted bugs: a scene without an earlier answer counted as failed; those chosen for a failure counted too."""
    rows = (
        result("a", True, False, "g"),
        result("b", True, False, "g"),
        result("c", False, True, "h"),
        result("d", False, None, "h"),
        result("e", False, True, "i", selected=True),
    )
    done = SuiteRun("new", "old", rows)
    test, groups = done.paired, done.paired_groups
    assert test is not None and (test.n, test.only_first, test.only_second) == (3, 1, 2)
    assert groups is not None and (groups.n, groups.only_first, groups.only_second) == (2, 1, 1)
    assert SuiteRun("new", "old", rows[3:]).paired is None
    assert set(done.record().failed) == {"a", "b", "c", "d", "e"}


def test_models_that_share_failures_leave_none_that_one_of_them_cannot_have() -> None:
    """B was added first, then A, which fails on one scene of B's as well. Any third model is compared with B on what
    A fails on: its own scene and the shared one. Planted bug: on A's own alone, where B is always right, so that
    every third model was worse than B."""
    theirs = tuple(replace(SCENE, name=name) for name in ("shared.png", "alone.png"))
    of_b = Batch(Path("b"), BatchFile("run", "B", theirs, {}), {})
    of_a = Batch(Path("a"), BatchFile("run", "A", (SCENE,), {}, also=("b/shared.png",)), {})
    assert _selected([of_b, of_a], {("C", ""), ("B", "")}) == {"b/alone.png"}
    assert _selected([of_b, of_a], {("C", ""), ("A", "")}) == {"a/a.png"}
    assert _selected([of_b, of_a], {("A", ""), ("B", "")}) == {"b/alone.png", "b/shared.png", "a/a.png"}
    assert _selected(
        [of_b, replace(of_a, content=replace(of_a.content, also=()))], {("C", ""), ("B", "")}
    ) == {
        "b/alone.png",
        "b/shared.png",
    }, "a suite of before, which does not know"


def test_a_hit_that_one_look_takes_back_is_no_failure() -> None:
    """Planted bug: one look at which it was wrong was enough."""

    def confirmation(preset: str, is_wrong: bool) -> SimpleNamespace:
        return SimpleNamespace(preset=preset, of=lambda picture: SimpleNamespace(is_wrong=is_wrong))

    item = SimpleNamespace(picture="x")
    both = [confirmation("clevr", True), confirmation("reference", False)]
    assert add._confirmed_at(item, both[:1]) == ("clevr",)  # type: ignore[arg-type]
    assert add._confirmed_at(item, both) is None and add._confirmed_at(item, both[::-1]) is None  # type: ignore[arg-type]
    assert add._confirmed_at(item, []) == ()  # type: ignore[arg-type]


def test_hits_of_one_chain_are_related_though_their_families_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: each family of a chain was a case of its own."""
    chains = {"a": 0, "b": 1, "c": -1}
    found = [
        SimpleNamespace(
            record=SimpleNamespace(picture=name, phase="chain", chain=chain, scene=Scene((), Nuisances()))
        )
        for name, chain in chains.items()
    ]
    families = Families(numbers=(1, 2, 3), clusters=(1, 1, 2), sources=(1, 1, 2))
    monkeypatch.setattr(add, "run_draws", lambda folder: [])
    monkeypatch.setattr(add, "read_results", lambda *given: SimpleNamespace(found=found, families=families))
    groups = add._groups(SimpleNamespace(manifest=None), "one")  # type: ignore[arg-type]
    assert {name: group for name, (group, _) in groups.items()} == {"a": 1, "b": 1, "c": 2}
    assert [origin for _, origin in groups.values()] == [
        "run one chain 0",
        "run one chain 1",
        f"scene {scene_id(Scene((), Nuisances()))}",
    ]
