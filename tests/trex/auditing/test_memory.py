"""What an audit of 100,000 questions holds in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.trex.auditing.in_memory import swept
from tests.trex.auditing.planted_models import CAP, as_it_is
from trex.auditing.by_kind import by_question, looked_for
from trex.auditing.records import EXAMINED, Answer, Examined
from trex.clevr_models.interface.answers import ANSWERS
from trex.scenes.graph import Facts
from trex.trials.lines import Lines

SCENES, QUESTIONS = 2000, 50
MAX_MIB = 80.0
Rows = list[tuple[Facts, Examined]]


def write(path: Path, known: Rows) -> None:
    """A log of 100,000 answers about many scenes, as a sweep writes it."""
    rng = np.random.default_rng(3)
    with Lines(path, EXAMINED) as log:
        for begin in range(0, SCENES, 100):
            rows = []
            for number in range(begin, begin + 100):
                examined = known[number % len(known)][1]
                draws = zip(rng.integers(90, size=QUESTIONS), rng.integers(28, size=QUESTIONS), strict=True)
                answers = (
                    Answer(int(k), ANSWERS[a], ANSWERS[a], round(float(rng.random()), 6)) for k, a in draws
                )
                rows.append(
                    Examined(number, tuple(answers), (), examined.misread, examined.shares, examined.hiders)
                )
            log.append(rows)


@pytest.mark.slow
def test_one_hundred_thousand_questions_fit_into_little_memory(tmp_path: Path) -> None:
    """Reading the log back, the table of questions and the bounds; pictures and scenes are not held."""
    item = swept(as_it_is, CAP, n=12)
    known = [*item.training, *item.held_out]
    write(tmp_path / "swept.jsonl", known)
    tracemalloc.start()
    with Lines(tmp_path / "swept.jsonl", EXAMINED) as log:
        read = tracemalloc.get_traced_memory()[1] / 2**20
        rows = [(known[k % len(known)][0], row) for k, row in enumerate(log.values)]
        assert by_question(log.values)[0].right.of == SCENES * QUESTIONS
        assert looked_for(rows).kinds > 0
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"{read:.0f} MiB after reading, {peak:.0f} MiB at most")
    assert peak < MAX_MIB


def test_an_answer_that_is_read_back_shares_its_words() -> None:
    """The planted bug would keep two strings for each of 100,000 answers."""
    row = Examined(0, (Answer(0, "cylinder", "sphere", 0.5),) * 2, (), (), (), ())
    answer, other = EXAMINED.parse(EXAMINED.line(row).decode(), "here", "").answers
    assert answer.truth is other.truth and answer.said is other.said and not hasattr(answer, "__dict__")
