"""Mistakes grow from the scenes that runs have found, too, and are judged and counted apart from the prior's."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.running.runs import run as search
from tests.trex.repair.scenes.planted import TAKEN, loaded, opened, query
from trex.foundation.errors import InputError, RunError
from trex.foundation.progress import silent
from trex.repair.scenes.bench import raw_mistakes
from trex.repair.scenes.found import (
    FIRST,
    found_scenes,
    has_stored,
    stored_scenes,
)
from trex.repair.scenes.identify import GROWN, SceneIdentifyResult, learned, misread, read_misreads
from trex.repair.settings import SceneQuery
from trex.repair.steps import identify
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.scenes.scene import scene_id, scene_to_dict
from trex.scenes.vocabulary import CLEVR
from trex.search.results import read_results

pytestmark = pytest.mark.usefixtures("one_thread")
ENOUGH = ["target.kind=threshold", "target.threshold=0.3", "answer=1", "search.further=0", "search.steps=40"]


@pytest.fixture(scope="module")
def searched(slow: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the fake world that has found some scenes in several chains."""
    done = search(tmp_path_factory.mktemp("searched"), ENOUGH)
    assert len(done.results.found) >= 12
    return done.folder


def wanted(*runs: Path) -> SceneQuery:
    """A repair that grows mistakes from these runs."""
    return query(identify={"runs": [str(run) for run in runs], "draws": 3})


def test_found_scenes_give_mistakes_of_their_own(searched: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "r", wanted(searched)) as folder, loaded(tmp_path / "r") as given:
        identify(folder, given, silent)
        place, result = folder.require("identify"), folder.found("identify", SceneIdentifyResult)
    with opened(tmp_path / "without") as folder, loaded(tmp_path / "without") as given:
        identify(folder, given, silent)
        without = folder.found("identify", SceneIdentifyResult)
    rows = read_misreads(place / GROWN)
    found = found_scenes([str(searched)], CLEVR)
    mine = [row for row in rows if row.member >= FIRST]
    plain = [item for item in mine if not item.is_grown]
    assert result.found == len(found) >= 12 and result.found_misread == len(plain) > 0
    assert all(item.scene in [other.scene for other in found] for item in plain)
    assert all(item.seen == TAKEN for item in mine) and len(mine) > len(plain)
    assert {item.member for item in mine} <= {scene.member for scene in found}
    assert (result.misread, result.scenes) == (without.misread, without.scenes)  # of the prior, as before
    assert (without.found, without.found_misread) == (0, 0)


def test_scenes_of_one_chain_are_a_cluster_and_their_changes_differ(searched: Path, tmp_path: Path) -> None:
    found = found_scenes([str(searched)], CLEVR)
    assert 1 < len({scene.member for scene in found}) < len(found)
    with open_run(searched, for_writing=False) as folder:
        results = read_results(folder.manifest, run_draws(folder))
    starts = {
        scene_id(hit.record.z): start
        for hit, start in zip(results.found, results.families.clusters, strict=True)
    }
    pairs = {(starts[scene_id(scene.value)], scene.member) for scene in found}
    assert len(pairs) == len({start for start, _ in pairs}) == len({member for _, member in pairs}), (
        "planted bug: a chain and the prior scene that it began at were two members"
    )
    assert [scene_to_dict(scene.value) for scene in found] == [scene.scene for scene in found]
    with opened(tmp_path / "r", wanted(searched)) as folder, loaded(tmp_path / "r") as given:
        identify(folder, given, silent)
        rows = read_misreads(folder.require("identify") / GROWN)
    noises = [row.value.noise for row in rows if row.is_grown]
    assert len(set(noises)) == len(noises)


def test_the_scenes_are_read_once(searched: Path, tmp_path: Path) -> None:
    """Planted bug: a run that was resumed between a kill and its repair's resuming would mix two sets of scenes."""
    copy = tmp_path / "copy"
    shutil.copytree(searched, copy)

    def stop(what: str, done: int, total: int | None, /, *facts: str) -> None:
        raise KeyboardInterrupt

    with opened(tmp_path / "r", wanted(copy)) as folder, loaded(tmp_path / "r") as given:
        with pytest.raises(KeyboardInterrupt):
            identify(folder, given, stop)
        first = stored_scenes(tmp_path / "r" / "identify")
        shutil.rmtree(copy)
        identify(folder, given, silent)
    assert first and stored_scenes(tmp_path / "r" / "identify") == first
    assert stored_scenes(tmp_path) == []


WHOLE = [
    "scene.objects=[3, 10]",
    "scene.revoke=[]",
    "search.bank=40",
    "search.prior_scenes=40",
    "search.steps=4",
]


@pytest.mark.slow
def test_scenes_of_the_repairs_own_prior_are_learned_once_and_never_judge(tmp_path: Path) -> None:
    """Planted bugs: found prior scenes were learned from and judged by, and counted as clusters of their own."""
    runs = [
        str(search(tmp_path, [*WHOLE, *ENOUGH[:3], f"search.seed={seed}"], f"whole-{seed}").folder)
        for seed in (0, 1)
    ]
    with opened(tmp_path / "r", wanted(*map(Path, runs))) as folder, loaded(tmp_path / "r") as given:
        identify(folder, given, silent)
        rows = stored_scenes(folder.require("identify"))
        names = {scene_id(scene): number for number, scene in enumerate(given.members(learned(folder.query)))}
    mine = {scene_id(row.value): row.member for row in rows}
    assert len(mine) == len(rows) < len(found_scenes(runs[:1], CLEVR)) + len(found_scenes(runs[1:], CLEVR))
    known = mine.keys() & names.keys()
    assert known and all(mine[name] == names[name] for name in known)
    few = query(identify={"runs": runs, "seeds": 25, "held_out": 5, "validation": 5})
    judged = pytest.raises(InputError, match="by which this repair is judged")
    with opened(tmp_path / "few", few) as folder, loaded(tmp_path / "few") as given, judged:
        identify(folder, given, silent)


def test_raw_mistakes_take_found_scenes_before_those_that_are_learned_anyway(searched: Path) -> None:
    scene = found_scenes([str(searched)], CLEVR)[0].value
    rows = [misread(scene, 0, "missed", k if k % 2 else FIRST + k, is_grown=False) for k in range(20)]
    some = raw_mistakes(np.random.default_rng(1), rows, 15)
    assert all(item.member >= FIRST for item in some[:10]) and not any(
        item.member >= FIRST for item in some[10:]
    )


def test_what_gives_no_scenes_is_refused(searched: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        found_scenes([str(tmp_path)], CLEVR)
    nothing = search(tmp_path, ["answer=6", "target.width=1e-6", "search.steps=2"], "nothing")
    assert not nothing.results.found
    with pytest.raises(InputError, match="nothing has found no scene"):
        found_scenes([str(searched), str(nothing.folder)], CLEVR)
    with pytest.raises(InputError, match="a shape that CLEVR's models have no word for"):
        found_scenes([str(searched)], CLEVR.revoke("sphere"))


def test_other_runs_are_read_before_anything_of_a_finished_step_is_deleted(
    searched: Path, tmp_path: Path
) -> None:
    with opened(tmp_path / "r", wanted(searched)) as folder, loaded(tmp_path / "r") as given:
        identify(folder, given, silent)
    place = tmp_path / "r" / "identify"
    assert has_stored(place, [str(searched)]) and not has_stored(place, [str(searched), "typo"])
