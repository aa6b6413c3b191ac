"""What `benchmarks.efficiency` counts: all processor time of a search, and the effective scenes for it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks import efficiency
from benchmarks.efficiency import figures_of, search, settings, until, used_s
from trex.inference.statistics.diagnostics import Diagnosis
from trex.search.results import Results

NAN = float("nan")
BUSY = "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {inner!r}])\ntime.sleep(60)"
FOR_A_WHILE = "import time\nwhile time.process_time() < 0.6: pass"


def results(sizes: tuple[float, ...], *, hitting: int = 4, hits: int = 0, prior_ess: float = 1.0) -> Results:
    """Results of a search by the effective sizes of its summaries; the last summary never changed."""
    informative = [Diagnosis(f"summary {i}", ess, 1.2, "", True) for i, ess in enumerate(sizes)]
    constant = Diagnosis("constant", NAN, NAN, "", False)
    return cast(
        Results,
        SimpleNamespace(
            conclusion=SimpleNamespace(diagnoses=(*informative, constant), n_chains_hit=hitting),
            how_often=SimpleNamespace(hits=hits, ess=prior_ess, rate=SimpleNamespace(figure="")),
            found=(), fragile=(), families=SimpleNamespace(count=0), chains=(), renders=0, cheap=0,
        ),
    )  # fmt: skip


def test_the_worst_summary_and_the_median_one() -> None:
    found = figures_of(results((99.0, 6.0, 33.0)), is_rival=False)
    assert (found["worst_effective"], found["median_effective"]) == (6.0, 33.0)


def test_prior_scenes_count_if_they_are_more_and_hit() -> None:
    assert figures_of(results((4.9,), hits=7, prior_ess=6.25), is_rival=False)["worst_effective"] == 6.25
    assert figures_of(results((5.0,), hits=0, prior_ess=6.25), is_rival=False)["worst_effective"] == 5.0


@pytest.mark.parametrize("sizes", [(), (12.0, NAN), (12.0, 0.0)])
def test_stuck_chains_count_for_the_rivals_alone(sizes: tuple[float, ...]) -> None:
    """Planted bug: a rival without an effective size had none, and the ratio was left out or unbounded."""
    stuck = results(sizes, hitting=3)
    assert figures_of(stuck, is_rival=True)["worst_effective"] == 3.0
    assert figures_of(stuck, is_rival=False)["worst_effective"] == 0.0


def test_chains_that_never_hit_have_no_effective_size() -> None:
    assert figures_of(results((50.0,), hitting=0), is_rival=True)["worst_effective"] == 0.0


@pytest.mark.process
def test_the_time_of_children_that_have_ended_counts_and_the_budget_interrupts(heeds_ctrl_c: None) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY.format(inner=FOR_A_WHILE)], stderr=subprocess.DEVNULL
    )
    spent = until(lambda: used_s(process.pid), process, 0.5)
    assert spent >= 0.5 and process.returncode == -signal.SIGINT


def test_the_search_of_before_has_the_ladder_without_the_analytic_look() -> None:
    query = Path("queries/one_cube_without_cubes.toml")
    assert settings(query, ["render.preset=fast"], "before") == ["render.looks=[]"]
    (looks,) = settings(query, ["render.preset=reference"], "before")
    assert json.loads(looks.partition("=")[2])[0] == "sketch" and "analytic" not in looks


def test_what_a_record_has_is_not_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted bug: a line of another model, look, budget or seed was taken for this search's."""
    made = list[tuple[str, float, int]]()

    def counted(path: Path, overrides: list[str], place: Path, cpu_s: float) -> float:
        made.append((place.name, cpu_s, len(made)))
        return cpu_s

    monkeypatch.setattr(efficiency, "search", counted)
    monkeypatch.setattr(
        efficiency,
        "figures_at",
        lambda place, is_rival: {"distinct": len(made), "worst_effective": 1.0, "median_effective": 1.0},
    )
    words = [
        "queries/five_spheres.toml",
        "--out",
        str(tmp_path / "out"),
        "--record",
        str(tmp_path / "record"),
    ]

    def lines(*more: str) -> list[str]:
        efficiency.main([*words, "--search", "now", *more])
        return [line for line in capsys.readouterr().out.splitlines() if '"query"' in line]

    (first,) = lines("--cpu", "30")
    assert lines("--cpu", "30") == [first] and len(made) == 1
    for other in (
        ["--cpu", "60"],
        ["--cpu", "30", "--set", "render.preset=fast"],
        ["--cpu", "30", "--set", "model.name=fake"],
    ):
        assert lines(*other) != [first]
    assert len(lines("--cpu", "30", "--seeds", "2")) == 2
    assert len(made) == 5 and len((tmp_path / "record").read_text().splitlines()) == 5


@pytest.mark.process
@pytest.mark.slow
def test_a_search_ends_with_its_budget_goes_on_with_a_larger_one_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heeds_ctrl_c: None
) -> None:
    query = tmp_path / "query.toml"
    query.write_text(
        'question = "How many red things are there?"\nanswer = "1"\n[scene]\nrevoke = ["red"]\n'
        '[model]\nname = "fake"\n[render]\npreset = "fake"\n[search]\nprior_scenes = 8\nfurther = 0\n'
    )
    place = tmp_path / "out" / "run"
    overrides = [*efficiency.ENDLESS, "search.bank=0"]
    first = search(query, overrides, place, 6.0)
    draws = len((place / "draws.jsonl").read_bytes())
    assert 6.0 <= first < 60.0 and draws
    second = search(query, overrides, place, first + 6.0)
    assert second >= first + 6.0 and len((place / "draws.jsonl").read_bytes()) > draws
    monkeypatch.setattr(subprocess, "Popen", None)
    assert search(query, overrides, place, second) == pytest.approx(second)
