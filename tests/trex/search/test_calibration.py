"""The cheapest look that ranks scenes as the deciding one does leads the chains; if none does, none leads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import BANK, QUERY, draws, go_on, run
from tests.serving.html_page import read_page
from trex.finding.conclude import Outcome
from trex.inference.statistics.two_phase import design
from trex.query.toml_file import parse_query
from trex.runs.draw_log import read_draws
from trex.runs.record import Record
from trex.search.sampling import calibration
from trex.search.sampling.prior_plan import SAMPLED_LEVEL
from trex.worlds.costs import CPU_S, inner_steps, rescores_bank
from trex.worlds.latents import identity
from trex.worlds.looks import DECIDING, LADDER

SURROGATE = [*BANK, "search.inner=2", "search.steps=4"]


def looked(done: Outcome) -> dict[str, bool]:
    assert done.results.calibration is not None
    return {look.look: look.gate.passes for look in done.results.calibration.tried}


def records(done: Outcome) -> list[Record]:
    return read_draws(done.folder / "draws.jsonl", done.manifest)


def lead(done: Outcome) -> str:
    assert done.results.calibration is not None
    return done.results.calibration.lead


def test_the_cheapest_look_leads_if_it_passes_and_no_other_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_ladder(monkeypatch, SMALL, TINY)
    done = run(tmp_path, SURROGATE)
    assert looked(done) == {SMALL: True} and lead(done) == SMALL
    assert not any(record.phase == "calibration" for record in records(done))


def test_a_useless_look_does_not_lead_and_the_next_one_that_passes_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_ladder(monkeypatch, TINY, SMALL)
    done = run(tmp_path, SURROGATE)
    assert looked(done) == {TINY: False, SMALL: True} and lead(done) == SMALL
    rows = records(done)
    scored = [record for record in rows if record.phase == "calibration"]
    assert {record.rank for record in scored} == {1} and len(scored) >= 24
    prior = {record.z for record in rows if record.phase == "prior"}
    assert {record.z for record in scored} <= prior, "they are scored at the deciding look too"
    steps = [record for record in rows if record.phase == "chain"]
    assert all(record.figures["inner_steps"] == 2 for record in steps)
    assert done.results.cheap == 2 * 60 + len(scored) + sum(r.figures["inner_renders"] for r in steps)
    assert "Preset fake-small led the chains" in read_page(done.report).text


def test_the_dearer_a_look_the_fewer_steps_it_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the costs in docs/reference/presets.md; a query that says `inner` decides itself (above).

    Planted bug: the leading look alone decided, whatever a picture at the deciding look costs.
    """

    def steps_of(*overrides: str) -> list[int]:
        query = parse_query(QUERY, "test", ["render.preset=reference", *overrides])
        return [inner_steps(query, look) for look in LADDER]

    assert LADDER == ("analytic", "sketch", "fast", "coarse", "sharp")
    assert steps_of() == [16, 16, 8, 8, 4] and steps_of("search.inner=7") == [7] * 5
    assert steps_of("render.noise=8") == steps_of("render.preset=clevr") == [16] * 5
    use_ladder(monkeypatch, SMALL, TINY)
    for name, cost in {"fake": 12.0, SMALL: 1.0}.items():
        monkeypatch.setitem(CPU_S, name, cost)
    done = run(tmp_path, [*BANK, "search.steps=4"])
    steps = [record for record in records(done) if record.phase == "chain"]
    assert all(record.figures["inner_steps"] == 8 for record in steps)
    assert "Preset fake-small led the chains, 8 of its steps for one" in read_page(done.report).text


def test_the_look_that_leads_chooses_from_the_bank_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bank that a useless look has chosen from is scored at the leading one, and sampled once more."""
    use_ladder(monkeypatch, TINY, SMALL)
    done = run(tmp_path, [*SURROGATE, "search.further=0"])
    rows = records(done)
    at_first = {row.index: row for row in rows if row.phase == "bank" and row.rank == 0}
    again = {row.index: row for row in rows if row.phase == "bank" and row.rank == 1}
    assert [again[index].z for index in range(60)] == [at_first[index].z for index in range(60)]
    assert [again[index].log_weight for index in range(60)] != [
        at_first[index].log_weight for index in range(60)
    ]
    sample = done.results.sample
    chosen = design(0, np.array([again[index].log_weight for index in range(60)]), 30)
    assert sample.selection.members.tolist() == chosen.members.tolist()
    assert sample.inclusion.tolist() == chosen.inclusion[chosen.members].tolist()
    assert [identity(draw.z) for draw in sample.draws] == [again[int(k)].z for k in chosen.members]
    prior = [row.z for row in rows if row.phase == "prior"]
    assert len(prior) == len(set(prior)) > len(sample.draws), "a member of both samples is rendered once"
    assert "It also chose anew which scenes of the bank were rendered." in read_page(done.report).text
    assert done.results.how_often.level == SAMPLED_LEVEL


def test_a_dear_look_leads_without_scoring_the_whole_bank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: `sharp` scored 1,000 scenes before the first step, which took a search's whole budget."""
    query = parse_query(QUERY, "test", ["render.preset=reference"])
    assert [rescores_bank(query, look) for look in LADDER] == [False, True, True, True, False]
    use_ladder(monkeypatch, TINY, SMALL)
    for name, cost in {"fake": 3.0, SMALL: 1.0}.items():
        monkeypatch.setitem(CPU_S, name, cost)
    done = run(tmp_path, [*SURROGATE, "search.further=0"])
    rows = records(done)
    assert "Preset fake-small led the chains" in read_page(done.report).text
    assert any(row.phase == "chain" for row in rows)
    assert not any(row.phase == "bank" and row.rank == 1 for row in rows)
    assert "chose anew" not in read_page(done.report).text
    sampled = {identity(draw.z) for draw in done.results.sample.draws}
    assert sampled == {row.z for row in rows if row.phase == "prior"}, "the first sample stands"


@pytest.mark.parametrize("names", [(TINY,), (TINY, TINY + "-too")])
def test_if_no_look_passes_every_step_is_at_the_deciding_look_and_the_report_says_so(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trex.worlds import world

    use_ladder(monkeypatch, *names)
    monkeypatch.setitem(world.WITHOUT_BLENDER, TINY + "-too", (3, 2))
    done = run(tmp_path, SURROGATE)
    assert looked(done) == dict.fromkeys(names, False) and lead(done) == DECIDING
    assert not any(record.figures for record in records(done))
    assert f"No cheap preset led the chains (tried: {', '.join(names)})" in read_page(done.report).text


def test_too_few_scenes_to_compare_looks_do_not_end_the_search(tmp_path: Path) -> None:
    done = run(tmp_path, [*SURROGATE, "search.prior_scenes=12"])
    assert len(done.results.prior) < 24 and done.results.chains
    assert not any(record.figures for record in records(done))
    assert "are too few to compare presets" in read_page(done.report).text


def test_the_places_are_the_likeliest_and_others_once_each(tmp_path: Path) -> None:
    done = run(tmp_path, [*SURROGATE, "search.prior_scenes=60"])
    sample = done.results.sample
    places = calibration.calibration_places(0, sample)
    assert len(places) == len(set(places)) == calibration.SCENES and list(places) == sorted(places)
    weights = sorted((draw.state.log_weight for draw in sample.draws), reverse=True)
    taken = sorted((sample.draws[place].state.log_weight for place in places), reverse=True)
    assert taken[: calibration.SCENES // 2] == weights[: calibration.SCENES // 2]
    assert calibration.calibration_places(1, sample) != places


def test_a_look_that_is_taken_unseen_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the cheapest look leads whatever the calibration shows."""
    use_ladder(monkeypatch, TINY)
    real = calibration.gate
    monkeypatch.setattr(calibration, "gate", lambda *looks: real(*looks)._replace(passes=True))
    assert any(record.figures for record in records(run(tmp_path, SURROGATE)))


@pytest.mark.slow
@pytest.mark.usefixtures("no_reports")
@pytest.mark.parametrize("phase", ["bank", "prior", "noise", "calibration", "chain"])
def test_a_run_that_is_cut_in_any_phase_goes_on_to_the_same_bytes(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between a round and the fresh draws of its hits, and in the middle of these."""
    use_ladder(monkeypatch, TINY, SMALL)
    done = run(tmp_path, [*SURROGATE, "search.steps=6"])
    whole = draws(done.folder)
    lines = whole.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if f'"phase":"{phase}"'.encode() in line]
    assert places, Counter(record.phase for record in records(done))
    for at in {places[0], places[len(places) // 2], places[-1]}:
        for name in ("draws.jsonl", "draws.check"):
            kept = (done.folder / name).read_bytes().splitlines(keepends=True)[:at]
            (done.folder / name).write_bytes(b"".join(kept))
        (done.folder / "finished").unlink()
        again = go_on(done.folder)
        assert draws(again.folder) == whole
        assert again.results.fragile == done.results.fragile and again.results.found == done.results.found
