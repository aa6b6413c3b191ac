"""What a baseline counts, on pictures whose answers are known; each planted bug is one that the published code had."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from tests.running.runs import read_query
from tests.worlds.baseline_worlds import QUERY, SEED, Folder, probability, scene_with, write_query
from trex.inference.statistics.proportion import Interval, Proportion
from trex.trials.baseline import baseline as counted
from trex.trials.baseline import score as baseline_count
from trex.trials.baseline.baseline import Baseline, ScoredExample, is_mistake
from trex.trials.baseline.files import read_baselines
from trex.trials.baseline.run import make_baseline
from trex.trials.options import BaselineOptions

# (red things that the model sees, scene or None): what the query asks is P(2) >= .85
PICTURES = [
    (2.0, scene_with(2)),  # a hit, right
    (2.0, scene_with(1)),  # a hit, a true mistake
    (2.0, scene_with(3, "sphere")),  # a hit, a true mistake, outside the query's world (no red spheres)
    (2.27, scene_with(2)),  # P(2) about .97 at 2.27: a hit
    (2.385, scene_with(4)),  # P(2) between .85 and .9: a hit at the query's threshold, none at .9
    (2.42, scene_with(1)),  # P(2) below .85: no hit, though the answer is 2 and wrong
    (3.0, scene_with(3)),  # no hit, right
    (2.0, None),  # a hit, nobody knows the truth
    (0.0, None),
]
HITS, MISTAKES, KNOWN = 6, 3, 7
HITS_INSIDE, MISTAKES_INSIDE, INSIDE = 4, 2, 6


def test_the_pictures_are_what_they_are_meant_to_be() -> None:
    assert 0.85 < probability(2.385, 2) < 0.9
    assert 0.5 < probability(2.42, 2) < 0.85
    assert probability(2.27, 2) > 0.9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = Folder(tmp_path / "data")
    for number, (things, scene) in enumerate(PICTURES):
        folder.add("val" if number % 2 else "train", things, scene)
    return folder.path


def baseline(folder: Path, text: str = QUERY, **wanted: object) -> Baseline:
    query = write_query(folder.parent, text)
    options = BaselineOptions(dataset=folder, **wanted)  # type: ignore[arg-type]
    (baseline,) = make_baseline([query], [], options, folder.parent / "out", lambda *_: None).baselines
    return baseline


def check_counts(baseline: Baseline) -> None:
    assert baseline.examined == len(PICTURES)
    assert baseline.hits == Proportion(HITS, len(PICTURES))
    assert baseline.mistakes == Proportion(MISTAKES, KNOWN)
    assert (baseline.hits_inside, baseline.mistakes_inside) == (
        Proportion(HITS_INSIDE, INSIDE),
        Proportion(MISTAKES_INSIDE, INSIDE),
    )
    assert baseline.accuracy == Proportion(3, KNOWN)


def test_counts(folder: Path) -> None:
    item = baseline(folder)
    check_counts(item)
    assert sum(row.truth is None for row in item.seen) == sum(scene is None for _, scene in PICTURES)
    assert {row.split for row in item.seen} == {"train", "val"}


def test_confidence_is_what_the_model_gives(folder: Path) -> None:
    found = sorted(row.confidence for row in baseline(folder).seen)
    assert found == pytest.approx(sorted(probability(things, 2) for things, _ in PICTURES), abs=1e-3)


def test_a_threshold_that_is_not_the_querys_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published test-set evaluation took .9 whatever the search took (D11)."""
    real = baseline_count.judge

    def judge(plan, example, row):  # type: ignore[no-untyped-def]
        seen = real(plan, example, row)
        return replace(seen, is_hit=seen.confidence >= 0.9)

    monkeypatch.setattr(baseline_count, "judge", judge)
    with pytest.raises(AssertionError):
        check_counts(baseline(folder))


def test_a_split_that_is_seen_twice_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trex.datasets.clevr_folder import ClevrFolder

    real = ClevrFolder.__iter__
    monkeypatch.setattr(ClevrFolder, "__iter__", lambda self: (e for _ in range(2) for e in real(self)))
    with pytest.raises(AssertionError):
        check_counts(baseline(folder))


def test_naming_a_split_twice_does_not_see_it_twice(folder: Path) -> None:
    assert baseline(folder, splits=("val", "train", "val")).examined == len(PICTURES)
    val = baseline(folder, splits=("val",))
    assert {row.split for row in val.seen} == {"val"}
    assert val.examined == len(PICTURES) // 2


def test_scenes_that_are_listed_twice_count_once(folder: Path) -> None:
    copy = folder / "scenes" / "more.json"
    copy.write_bytes((folder / "scenes" / "CLEVR_val_scenes.json").read_bytes())
    check_counts(baseline(folder))


# Queries whose level sets overlap, so that one picture is a hit of several.
LOOSER = QUERY.replace("0.85", "0.5")


def check_each_query(found: Sequence[Baseline]) -> None:
    assert [baseline.hits.count for baseline in found] == [HITS, HITS + 1]


def both(folder: Path) -> tuple[Baseline, ...]:
    queries = [write_query(folder.parent, QUERY, "a.toml"), write_query(folder.parent, LOOSER, "b.toml")]
    return make_baseline(
        queries, [], BaselineOptions(dataset=folder), folder.parent / "both", lambda *_: None
    ).baselines


def test_each_picture_counts_for_each_query(folder: Path) -> None:
    check_each_query(both(folder))


def test_an_elif_chain_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published code counted a picture for the first query that it met, and for no other (D11)."""
    real = baseline_count.score_example

    def one(example, plans):  # type: ignore[no-untyped-def]
        rows = real(example, plans)
        first = next((k for k, row in enumerate(rows) if row.is_hit), 0)
        return [row if k == first else replace(row, is_hit=False) for k, row in enumerate(rows)]

    monkeypatch.setattr(baseline_count, "score_example", one)
    with pytest.raises(AssertionError):
        check_each_query(both(folder))


def test_a_question_is_put_to_a_picture_once_however_many_queries_ask_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = baseline_count.log_probs, []

    def log_probs(plan, example):  # type: ignore[no-untyped-def]
        calls.append(example.name)
        return real(plan, example)

    monkeypatch.setattr(baseline_count, "log_probs", log_probs)
    both(folder)
    assert sorted(calls) == sorted(set(calls))
    assert len(calls) == len(PICTURES)


def check_rows(baseline: Baseline) -> None:
    """Each row of the confusion matrix has as many as there are pictures of that truth, which is known here."""
    truths = [len(scene.objects) - 1 for _, scene in PICTURES if scene is not None]
    sums = {truth: sum(row.values()) for truth, row in baseline.confusion.items()}
    assert sums == {str(truth): truths.count(truth) for truth in sorted(set(truths))}
    answers = {"2": 6, "3": 1}
    for answer, number in answers.items():
        assert sum(row[answer] for row in baseline.confusion.values()) == number
    assert {answer for row in baseline.confusion.values() for answer in row} == set(answers)
    right = sum(row.get(truth, 0) for truth, row in baseline.confusion.items())
    assert right == baseline.accuracy.count


def test_confusion(folder: Path) -> None:
    check_rows(baseline(folder))


def test_a_confusion_matrix_of_hits_alone_is_caught(folder: Path) -> None:
    item = baseline(folder)
    with pytest.raises(AssertionError):
        check_rows(replace(item, seen=tuple(row for row in item.seen if row.is_hit)))


def test_a_transposed_confusion_matrix_is_caught(folder: Path) -> None:
    item = baseline(folder)
    turned = [replace(row, answer=row.truth, truth=row.answer) for row in item.seen if row.truth]
    with pytest.raises(AssertionError):
        check_rows(replace(item, seen=tuple(turned)))


# --- intervals

N, LEVEL, ALARM = 88, 0.95, 1e-5


def coverage(interval: Callable[[int], Interval], p: float) -> float:
    """The exact probability that the interval of a binomial count covers its rate: a sum, not a simulation."""
    return math.fsum(binom.pmf(k, N, p) for k in range(N + 1) if interval(k).low <= p <= interval(k).high)


def check_coverage(interval: Callable[[int], Interval]) -> None:
    for p in (0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.99):
        assert coverage(interval, p) >= LEVEL - 1e-12, p


def test_intervals_cover_at_any_rate() -> None:
    check_coverage(lambda k: Proportion(k, N).interval)


def test_walds_interval_is_caught() -> None:
    def wald(k: int) -> Interval:
        p = k / N
        half = 1.959964 * math.sqrt(p * (1 - p) / N)
        return Interval(p - half, p + half)

    with pytest.raises(AssertionError):
        check_coverage(wald)


def test_the_bound_after_no_hit() -> None:
    assert (1 - Proportion(0, 15000).interval.high) ** 15000 == pytest.approx(0.025)
    assert Proportion(0, 15000).interval.low == 0.0
    assert Proportion(0, 0).interval == (0.0, 1.0)


# --- what is a mistake


@pytest.mark.parametrize(
    ("truth", "answer", "named", "is_one"),
    [
        ("2", "2", ("2",), False),
        ("3", "2", ("2",), True),
        (None, "2", ("2",), False),
        ("no answer", "2", ("2",), False),
        ("1", "2", ("1", "2"), False),  # torn between the truth and another
        ("3", "2", ("1", "2"), True),
        ("2", "2", (), False),
        ("2", "1", (), True),
    ],
)
def test_a_mistake(truth: str | None, answer: str, named: tuple[str, ...], is_one: bool) -> None:
    assert is_mistake(truth, answer, named) is is_one


def test_the_answers_that_a_target_names(tmp_path: Path) -> None:
    query = read_query(
        write_query(tmp_path, QUERY.replace('answer = "2"', "")),
        ['target.kind="probabilities"', 'target.probabilities={"3" = 0.5, "4" = 0.5, "5" = 0.0}'],
    )
    assert baseline_count.named_answers(query) == ("3", "4")


def test_a_question_without_an_answer_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    folder.add("val", 2.0, scene_with(2))
    folder.add("val", 2.0, scene_with(1))
    text = QUERY.replace("How many red things are there?", "What color is the cube?").replace('"2"', '"red"')
    item = baseline(folder.path, text)  # two red cubes: "the cube" is none
    assert item.accuracy.of == item.mistakes.of == 1
    assert "no answer" in item.confusion


# --- the file


def test_the_file_gives_back_what_was_counted(folder: Path) -> None:
    item = baseline(folder)
    assert read_baselines(folder.parent / "out") == (item,)
    data = json.loads((folder.parent / "out" / "baseline.json").read_text())
    (summary,) = data["baselines"]
    assert summary["hits"]["count"] == HITS
    assert summary["hits"]["interval_95"] == list(item.hits.interval)
    assert summary["confusion"] == item.confusion


def test_any_rows_give_consistent_figures() -> None:
    """Figures are counted from rows, so those of random rows have to agree with sums over all pairs."""
    rng = np.random.default_rng(SEED)
    words = ("0", "1", "2", "no answer", None)
    seen = tuple(
        ScoredExample(f"{k}", "val", words[rng.integers(3)], 0.5, 0.5, bool(rng.integers(2)), words[rng.integers(5)],  # type: ignore[arg-type]
             False, (None, True, False)[rng.integers(3)])
        for k in range(300)
    )  # fmt: skip
    baseline = Baseline("q", "q", "t", "m", "h", "w", "s", ("1",), seen)
    assert sum(sum(row.values()) for row in baseline.confusion.values()) == sum(
        r.truth is not None for r in seen
    )
    assert list(baseline.confusion) == ["0", "1", "2", "no answer"]
    assert baseline.hits_inside.of == sum(r.in_world is True for r in seen)
    assert counted.in_order({"10", "9", "no answer", "cube", "2"}) == ("2", "9", "10", "cube", "no answer")
