"""Which looks lead a search: those of the query, of its preset, of its run; and the look that is shaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running.runs import BANK, change_manifest, draws, go_on, leave_draws, run
from trex.foundation.errors import InputError, RunError
from trex.query.toml_file import parse_query
from trex.render.analytic import look
from trex.render.analytic.look import shipped_weights
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.runs.record import BANK as BANK_PHASE
from trex.search.engine import ahead
from trex.worlds.looks import LADDER, LADDER_BEFORE, LADDERS
from trex.worlds.registry import make_plan

SHADED = [*BANK, 'render.looks=["analytic"]', "search.inner=2", "search.steps=3"]


def test_a_run_keeps_the_looks_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the looks of now led a run that is resumed."""
    done = run(tmp_path, [*BANK, "search.inner=3"])
    whole = draws(done.folder)
    assert done.manifest.query.render.looks == ("fake-small",)
    monkeypatch.setitem(LADDERS, "fake", ("analytic",))
    leave_draws(done.folder, b"".join(whole.splitlines(keepends=True)[:70]))
    assert draws(go_on(done.folder).folder) == whole


@pytest.mark.parametrize(("preset", "looks"), [("reference", LADDER_BEFORE), ("fast", ())])
def test_a_run_of_before_had_the_looks_of_its_preset(
    tmp_path: Path, preset: str, looks: tuple[str, ...]
) -> None:
    done = run(tmp_path, [*BANK, "search.steps=0"])

    def earlier(data: dict[str, Any]) -> None:
        del data["query"]["render"]["looks"]
        data["query"]["render"]["preset"] = preset

    change_manifest(done.folder, earlier, is_sealed=False)
    with open_run(done.folder, for_writing=False) as folder:
        assert folder.manifest.query.render.looks == looks != LADDERS[preset]
    assert LADDER[1:] == LADDER_BEFORE


def test_a_search_without_cheap_looks_judges_the_whole_bank(tmp_path: Path) -> None:
    done = run(tmp_path, [*BANK, "render.looks=[]", "search.kernel=block"])
    rows = read_draws(done.folder / "draws.jsonl", done.manifest)
    assert not any(row.phase == BANK_PHASE for row in rows)
    assert sum(row.phase == "prior" for row in rows) == 60 == done.manifest.query.search.prior_scenes


@pytest.mark.parametrize(
    ("looks", "words"),
    [
        ('["fake-small", "fast-ish"]', "fast-ish"),
        ('["fake"]', "cheaper presets"),
        ('["sketch", "sketch"]', "each once"),
        ('["sharp", "analytic"]', "name the cheapest first: analytic, sharp"),
    ],
)
def test_looks_that_cannot_lead_are_refused(tmp_path: Path, looks: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(tmp_path, [*BANK, f"render.looks={looks}"])


def test_a_look_that_is_dearer_than_the_deciding_one_is_refused() -> None:
    """Planted bug: "cheaper" meant only another name. With four pictures a scene, `coarse` is cheaper than `fast`."""
    text = (
        'question = "How many cubes are there?"\nanswer = 1\nmodel.name = "fake"\n[render]\npreset = "fast"\n'
    )
    text += 'looks = ["analytic", "coarse"]\n'
    with pytest.raises(
        InputError, match=r"'coarse' is no cheaper than render\.preset = 'fast' \(0\.521 and 0\.382"
    ):
        make_plan(parse_query(text, "q.toml"), Path())
    make_plan(parse_query(text, "q.toml", ["render.noise=4"]), Path())


def test_the_shaded_look_leads_and_leaves_no_pictures_in_banks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed search goes on to the same draws; only the deciding look's pictures are kept for others."""
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    done = run(tmp_path, SHADED)
    rows = read_draws(done.folder / "draws.jsonl", done.manifest)
    assert sum(row.phase == BANK_PHASE for row in rows) == 60
    looks = [path.read_text() for path in (tmp_path / "banks").glob("*/bank.json")]
    assert looks and not any("analytic" in text for text in looks)
    whole = draws(done.folder)
    for cut in (5, 50, 75):
        leave_draws(done.folder, b"".join(whole.splitlines(keepends=True)[:cut]))
        assert draws(go_on(done.folder).folder) == whole
    assert go_on(done.folder).results.how_often == done.results.how_often


def test_a_search_decides_at_the_shaded_look_without_blender(tmp_path: Path) -> None:
    done = run(tmp_path, ["render.preset=analytic", "search.prior_scenes=6", "search.steps=2"])
    query = done.manifest.query
    assert (query.search.bank, query.render.fresh, done.manifest.facts.size) == (0, 0, (240, 160))
    assert done.manifest.made.renderer.startswith("analytic v")


def test_a_run_is_not_resumed_with_other_weights_of_the_shaded_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: weights that are fitted anew led the rest of a run, as only the deciding look's key was compared."""
    done = run(tmp_path, SHADED)
    whole = draws(done.folder)
    leave_draws(done.folder, b"".join(whole.splitlines(keepends=True)[:70]))
    with monkeypatch.context() as other:
        other.setattr(look, "shipped_weights", lambda: 1.01 * shipped_weights())
        with pytest.raises(RunError, match="the analytic preset was analytic v1 240x160 weights="):
            go_on(done.folder)
    change_manifest(
        done.folder, lambda data: data["made"].pop("leader")
    )  # a run of before says nothing of it
    assert draws(go_on(done.folder).folder) == whole


def test_work_ahead_keeps_its_order_and_ends_with_its_user() -> None:
    made: list[int] = []

    def square(batch: range) -> int:
        made.append(batch.start)
        if batch.start == 6:
            raise InputError("no more")
        return batch.start**2

    batches = [range(k, k + 1) for k in range(9)]
    each: Iterator[int] = ahead(square, batches)
    assert [next(each) for _ in range(6)] == [0, 1, 4, 9, 16, 25]
    with pytest.raises(InputError, match="no more"):
        next(each)
    assert made == [0, 1, 2, 3, 4, 5, 6]
    made.clear()
    stopped = ahead(square, batches)
    assert next(stopped) == 0
    stopped.close()
    assert made == [0, 1], "one batch was under way"
    assert list(ahead(square, [])) == [] and list(ahead(square, batches[:1])) == [0]
