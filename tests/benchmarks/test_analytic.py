"""How ranks of two looks are compared, and what CPU time is counted."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.analytic import Timed, compared, kept, scores_in, size_of
from tests.running.runs import SEARCHES, run
from trex.finding.source import query_file
from trex.foundation.errors import InputError
from trex.inference.types import Floats
from trex.runs.draw_log import read_draws


def rows(probs: Floats, place: int, n_labels: int) -> Floats:
    """(n, K) log probabilities: these of one answer, the rest shared by the others."""
    found = np.repeat((1.0 - probs)[:, None] / (n_labels - 1), n_labels, axis=1)
    found[:, place] = probs
    return np.log(found)


def test_ranks_are_those_of_the_asked_answer() -> None:
    """Planted: the ranks of another answer are those reversed, and one shuffled top fifth closes the gate."""
    plan = query_file(Path("queries/demo.toml"), ['model.name="fake"']).plan()
    labels, (answer,) = plan.bound.labels, plan.query.answer
    place, probs = labels.index(answer), np.linspace(0.01, 0.7, 100)
    dear = rows(probs, place, len(labels))
    same = compared(plan.target, [place], dear, dear)
    assert same["rank_correlation"] == same["top_fifth"] == 1.0 and same["passes"] is True
    assert same["hits"] == sum(plan.target.is_hit(row) for row in dear)
    other = compared(plan.target, [place - 1], rows(probs[::-1], place, len(labels)), dear)
    assert other["rank_correlation"] == -1.0
    turned = probs.copy()
    turned[80:] = probs[:79:-1]
    closed = compared(plan.target, [place], rows(turned, place, len(labels)), dear)
    assert closed["top_fifth"] == -1.0 and closed["passes"] is False


@pytest.mark.usefixtures("no_reports")
def test_a_run_keeps_both_scores_of_its_spread_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rendered anew at the bank's own look they agree as the kept scores do.

    Planted: scores paired by their place and not by their scene have another correlation; in a bank that was scored at
    a second look, too, those counted.
    """
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    done = run(tmp_path, SEARCHES["spread"])
    draws = read_draws(done.folder / "draws.jsonl", done.manifest)
    bank, spread = ([row for row in draws if row.phase == phase] for phase in ("bank", "spread"))
    place = done.manifest.facts.labels.index(done.manifest.query.answer[0])
    pairs = [
        (row.log_probs[place], each.log_probs[place]) for each in spread for row in bank if row.z == each.z
    ]
    found, again = kept(done.folder, "fake-small")
    assert again == found and list(kept(done.folder)) == [found]
    assert found["scenes"] == len(spread) == len(pairs)
    assert found["rank_correlation"] == pytest.approx(spearmanr(pairs).statistic, abs=6e-4)
    by_place = [
        (row.log_probs[place], each.log_probs[place]) for row, each in zip(bank, spread, strict=False)
    ]
    assert abs(spearmanr(by_place).statistic - spearmanr(pairs).statistic) > 0.05
    again_scored = [replace(row, rank=1, log_probs=row.log_probs[::-1]) for row in bank]
    first = scores_in([*draws, *again_scored], "bank")
    assert all(tuple(first[row.scene]) == row.log_probs for row in bank)
    with pytest.raises(InputError, match="spread sample"):
        list(kept(run(tmp_path, [], "without").folder))


def test_only_processor_time_inside_of_calls_is_counted() -> None:
    timed = Timed(time.sleep)
    timed(0.05)
    assert timed.cpu_s < 0.04
    busy = Timed(lambda n: sum(range(n)))
    assert busy(1_000_000) == 499_999_500_000 and busy.cpu_s > 0.0


def test_a_size_is_width_then_height() -> None:
    assert size_of("480x320") == (480, 320)
    with pytest.raises(ValueError, match="unpack"):
        size_of("480")
