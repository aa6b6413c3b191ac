"""Stated families are held against scenes that no search has seen: a true one holds, a false one does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import pytest

from benchmarks import confirmed
from benchmarks.auditing.misreader import Misreader, showing
from benchmarks.confirmed import figures, main, whole
from tests.trex.families.test_cases import KEYS, SHAPE, failing, prior_scenes, situation, touching
from tests.worlds.misreader import misreader
from trex.bank.bank import BATCH
from trex.clevr_models.adapters.live import as_session_model, session_model_available
from trex.commands.results.run import Run
from trex.explain import traces
from trex.explain.run_families import explained_results
from trex.families.discover import Situation
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Failure
from trex.foundation.errors import InputError
from trex.render.picture import Picture
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.scenes.graph import Facts
from trex.scenes.scene import Scene, scene_id

FRESH = 2 * BATCH + 8
SEED = 7


def scenes() -> tuple[Facts, ...]:
    return prior_scenes(80)


def situations(rows: Sequence[confirmed.Asked]) -> list[Situation]:
    return [situation(facts, row.failures) for facts, row in zip(scenes(), rows, strict=True)]


def touches(graph: nx.DiGraph, index: int) -> bool:
    return bool(list(touching(graph, index)))


def overlapped(graph: nx.DiGraph, index: int) -> bool:
    """A cylinder that overlaps another object."""
    return bool(graph.nodes[index]["shape"] == "cylinder") and touches(graph, index)


def family(*keys: str) -> Family:
    """A cylinder under these conditions is read as a cube."""
    conditions = [KEYS["shape cylinder"], *(KEYS[key] for key in keys)]
    return Family(Pattern.of(conditions), SHAPE, (("cylinder", "cube", 5),), members=(0,), is_clear=True)


def misread_as(value: str, half: bool = False) -> list[tuple[Failure, ...]]:
    """A cylinder beside another object is read so, in every such scene or in every second one."""
    units = [failing(touches, facts) for facts in scenes()]
    return [
        (Failure(SHAPE, each[0], "", value),) if each and (k % 2 or not half) else ()
        for k, each in enumerate(units)
    ]


def asked(failures: Sequence[tuple[Failure, ...]], in_set: bool = True) -> list[confirmed.Asked]:
    return [
        confirmed.Asked("run", SEED, True, k, in_set, bool(each), each) for k, each in enumerate(failures)
    ]


def test_a_true_family_holds_and_a_false_one_does_not() -> None:
    rows = asked(misread_as("cube", half=True))
    true = figures(family("touches any"), situations(rows), rows)
    assert true["holds"] and _of(true, "outside")["count"] == 0
    assert 0.2 < _of(true, "inside")["share"] < 0.7 and _of(true, "as")["share"] == 1.0
    for key in ("material metal", "material rubber", "color red"):
        false = figures(family(key), situations(rows), rows)
        assert not false["holds"], (key, false)


def test_what_is_misread_as_another_value_does_not_count() -> None:
    """Planted bug: any misreading of the object counted, whatever it is taken for."""
    rows = asked(misread_as("sphere"))
    spheres = figures(family("touches any"), situations(rows), rows)
    assert _of(spheres, "inside")["count"] == 0 and not spheres["holds"]
    assert _of(spheres, "as")["count"] == 0 and _of(spheres, "as")["of"] > 10


def test_a_run_states_those_wrong_answers_that_meet_the_conditions() -> None:
    """Planted bug: every misreading of the kind counted as stated, wherever it is."""
    rows = asked(misread_as("cube"))
    n = sum(row.is_wrong for row in rows)
    found = whole([family("touches any")], situations(rows), rows)
    assert (_of(found, "wrong")["count"], _of(found, "wrong")["of"]) == (n, n) and n > 20
    red = _of(whole([family("color red")], situations(rows), rows), "wrong")
    assert 0 < red["count"] < n / 2 and red["of"] == n


def test_what_lies_outside_the_level_set_counts_for_the_answers_alone() -> None:
    rows = asked(misread_as("cube"), in_set=False)
    row = figures(family("touches any"), situations(rows), rows)
    assert _of(row, "inside")["count"] > 10 and _of(row, "in_set")["inside"]["count"] == 0


def test_a_sentence_is_judged_without_the_conditions_that_it_leaves_out() -> None:
    """Planted bug: a family that only suggests a condition, judged under it."""
    vague = replace(family("touches any"), is_clear=False)
    assert vague.stated.pattern == family().pattern and vague.words == family().words
    assert family("touches any").stated == family("touches any")
    rows = asked(misread_as("cube"))
    row = figures(vague.stated, situations(rows), rows)
    cylinders = sum(o.shape == "cylinder" for facts in scenes() for o in facts.scene.objects)
    assert _of(row, "inside")["of"] == cylinders and _of(row, "outside")["of"] == 0


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Misreader, Path]:
    import trex

    folder, model = tmp_path_factory.mktemp("confirmed"), misreader(overlapped)
    with showing(model, folder / "cache"):
        run = trex.find(
            question="How many cubes are there?", answer="1", revoke=["cube"], objects=5, preset="fake", model=model,
            prior_scenes=64, steps=0, control=False, out=folder / "run", progress=False, large=False,
        )  # fmt: skip
    return run, model, folder


@pytest.mark.slow
def test_a_run_is_confirmed_by_fresh_scenes_and_resumes(
    searched: tuple[Run, Misreader, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: members of the run's own bank reused, as if no search had seen them."""
    run, model, folder = searched
    out = folder / "confirmed.jsonl"
    command = [str(run.path), "--out", str(out), "--scenes", str(FRESH), "--seed", str(SEED)]
    shown: list[str] = []
    remember = model.shown

    class Killed(Exception):
        pass

    calls = 0

    def dies(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise Killed
        return traces.traced(*given)

    def remembers(scene: Scene, picture: Picture) -> None:
        shown.append(scene_id(scene))
        remember(scene, picture)

    monkeypatch.setattr(model, "shown", remembers)
    with showing(model, folder / "cache"), session_model_available(as_session_model(model)):
        with patch.object(confirmed, "traced", dies), pytest.raises(Killed):
            main(command)
        main(command)
        first = capsys.readouterr().out
        main(command)
        assert capsys.readouterr().out == first and calls > 2
        main([*command, "--in-set"])
        *_, of_set = map(json.loads, capsys.readouterr().out.splitlines())
        with pytest.raises(InputError, match="give another"):
            main([*command[:-1], str(run.query.search.bank_seed)])
    with open_run(run.path, for_writing=False) as opened:
        records = run_draws(opened)
        results = explained_results(opened, records)
    assert len(set(shown)) == FRESH and not set(shown) & {scene_id(record.scene) for record in records}
    *rows, last = map(json.loads, first.splitlines())
    assert [row["sentence"] for row in rows] == [each.words for each in results.families.known]
    assert last["scenes"] == FRESH and last["wrong"]["count"] >= 8
    assert of_set["wrong"] == of_set["in_set"] == last["in_set"] and last["in_set"]["count"] >= 3
    assert rows[0]["holds"] and rows[0]["outside"]["count"] == 0 and rows[0]["inside"]["count"] >= 5


def _of(row: dict[str, object], name: str) -> Any:
    return row[name]
