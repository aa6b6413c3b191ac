"""How ranks of two looks are compared, and what CPU time is counted."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.analytic import Timed, compared, size_of
from trex.finding.source import query_file
from trex.inference.types import Floats


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
    same = compared(plan, dear, dear)
    assert same["rank_correlation"] == same["top_fifth"] == 1.0 and same["passes"] is True
    assert same["hits"] == sum(plan.target.is_hit(row) for row in dear)
    other = replace(plan, query=plan.query.model_copy(update={"answer": (labels[place - 1],)}))
    assert compared(other, rows(probs[::-1], place, len(labels)), dear)["rank_correlation"] == -1.0
    turned = probs.copy()
    turned[80:] = probs[:79:-1]
    closed = compared(plan, rows(turned, place, len(labels)), dear)
    assert closed["top_fifth"] == -1.0 and closed["passes"] is False


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
