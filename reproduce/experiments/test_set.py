"""The queries of an experiment counted on a data set's labelled pictures, whose mistakes people can mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reproduce.experiments.experiment_file import Cell
from trex.labelling.polls import marking_of, mistakes_of, write_marks
from trex.labelling.votes import VOTES
from trex.trials.baseline.files import MARKS_FOLDER, StoredBaseline
from trex.trials.baseline.run import empty_baseline
from trex.trials.baseline.score import SourceResult, score_examples
from trex.worlds.registry import check

TEST_SET = "test-set"  # a folder beside those of the cells


def count_test_set(query: Path, chosen: Sequence[Cell], dataset: Path, place: Path) -> SourceResult:
    """Count every cell's query on the pictures of a data folder; each model scores a picture once.

    Writes the queries with mistakes as a baseline for `trex label`, and takes over the marks that its mistakes have.
    """
    plans = [check(query, cell.ways[0]) for cell in chosen]
    planned = [
        (plan, replace(empty_baseline(query, plan), query=cell.name))
        for cell, plan in zip(chosen, plans, strict=True)
    ]
    found = score_examples(plans[0].world.examples(plans, dataset, ()), planned, False, lambda *_: None)
    wrong = tuple(baseline for baseline in found.baselines if baseline.mistakes.count)
    if not wrong:
        return found
    counted = StoredBaseline(place, (replace(found, baselines=wrong),), found.problems, False)
    marked = {baseline.query: baseline for baseline in write_with_earlier_marks(counted).baselines}
    return replace(
        found, baselines=tuple(marked.get(baseline.query, baseline) for baseline in found.baselines)
    )


def write_with_earlier_marks(counted: StoredBaseline) -> StoredBaseline:
    """Write a baseline that was counted anew, with the marks that people gave to the same mistakes before.

    RunError, before anything is written, if they marked other ones.
    """
    if (counted.folder / MARKS_FOLDER / VOTES).exists() and mistakes_of(counted.baselines):
        return write_marks(marking_of(counted))
    counted.write()
    return counted


def surest_picture(counted: SourceResult, number: int) -> str:
    """The data URL of the picture in a query's level set of which the model is surest, "" if there is none."""
    hits = [row for row in counted.baselines[number].seen if row.is_hit]
    best = max(hits, key=lambda row: row.confidence, default=None)
    return (
        ""
        if best is None
        else next(picture.url for picture in counted.thumbnails if picture.name == best.name)
    )
