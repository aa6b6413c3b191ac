"""An experiment's table, published values beside ours, for the page and for LOG.md."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduce.experiments.experiment import CellResult, Outcome
from reproduce.experiments.experiment_file import cells
from trex.pages.table import Column, Table


@dataclass(frozen=True)
class Row:
    """A cell in words."""

    name: str
    published: str
    ours: str
    prior: str
    ending: str  # and the effective number of draws, or the disagreement of the chains
    test_set: str  # hits and true mistakes among labelled pictures, "" if none were given
    how: str  # draws and their cost
    note: str


NAME: Column[Row] = Column("cell", lambda row: row.name)
VALUES: tuple[Column[Row], ...] = (
    Column("published", lambda row: row.published or "–", is_number=True),
    Column("here", lambda row: row.ours, is_number=True),
    Column("prior draws in the level set (95%)", lambda row: row.prior, is_number=True),
    Column("ending", lambda row: row.ending),
)
TEST_SET: Column[Row] = Column("test set: hits, true mistakes", lambda row: row.test_set, is_number=True)


def rows(outcome: Outcome) -> tuple[Row, ...]:
    """One row for each cell."""
    return tuple(map(_row, outcome.results))


def values_of(outcome: Outcome) -> tuple[Column[Row], ...]:
    """The columns beside a cell's name, those of the test set only if there is one."""
    return (*VALUES, TEST_SET) if outcome.dataset is not None else VALUES


def summary(outcome: Outcome) -> str:
    """The number of cells with hits, beside the publication's."""
    words = f"{outcome.found} of {len(outcome.results)} level sets have been found"
    published = outcome.experiment.found_published
    if published is None:
        return words
    return f"{words} (published: {published} of {len(cells(outcome.experiment))})"


def markdown(outcome: Outcome) -> str:
    """The table in Markdown, for LOG.md."""
    table = Table("", (NAME, *values_of(outcome)), rows(outcome))
    return f"{outcome.experiment.title}: {summary(outcome)}.\n\n{table.markdown()}"


def command(outcome: Outcome, overrides: Sequence[str], *, is_published: bool = False) -> str:
    """The command that reproduces the experiment; if it is to be published, it names no folder of this machine."""
    words = [
        "python",
        "-m",
        "reproduce",
        "experiment",
        Path(outcome.name).name if is_published else outcome.name,
    ]
    if len(outcome.results) < len(cells(outcome.experiment)):
        words += [word for result in outcome.results for word in ("--cell", result.cell.name)]
    for override in overrides:
        words += ["--set", override]
    if outcome.dataset is not None:
        words += ["--dataset", "DIR" if is_published else str(outcome.dataset)]
    return shlex.join(words)


def _row(result: CellResult) -> Row:
    section, how = result.cell.section, result.results.how_often
    return Row(
        name=section.name,
        published=_values(section.published, section.published_sd),
        ours=_ours(result),
        prior=f"{how.hits:,} of {how.n:,} ({how.rate.range})"
        if how.hits
        else f"0 of {how.n:,} (less than {how.rate.ceiling})",
        ending=_ending(result),
        test_set=_counts(result),
        how=f"{len(result.draws):,} prior draws by their weights"
        if result.is_weighted
        else f"{len(result.draws):,} draws of the chains, {result.results.renders:,} pictures scored",
        note=section.note,
    )


def _ending(result: CellResult) -> str:
    results = result.results
    if not result.is_found:
        return results.ending
    if result.is_weighted:
        return f"{results.ending}, effective size {results.how_often.ess:.0f}"
    r_hats = [d.r_hat for d in results.conclusion.diagnoses if d.is_informative and not math.isnan(d.r_hat)]
    return f"{results.ending}, R-hat {max(r_hats):.2f}" if r_hats else results.ending


def _counts(result: CellResult) -> str:
    if result.test_set is None:
        return ""
    words = f"{result.test_set.hits.count} of {result.test_set.examined}, {result.test_set.mistakes.count}"
    marks = result.test_set.marks
    return f"{words} ({marks.words})" if marks.is_any else words


def _ours(result: CellResult) -> str:
    """The named answers' mean probabilities; without named answers, means of the largest and the smallest one."""
    if not result.is_found or not result.means:
        return "not found"
    if result.manifest.query.answer:
        return _values(result.means, result.deviations)
    most, least = (result.weights @ each for each in (result.probs.max(axis=1), result.probs.min(axis=1)))
    return f"largest {most:.3f}, smallest {least:.3f}"


def _values(means: Sequence[float], deviations: Sequence[float]) -> str:
    """Means and deviations: "0.999 ± 0.004, …"."""
    if not deviations:
        return ", ".join(f"{mean:.3f}" for mean in means)
    return ", ".join(f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(means, deviations, strict=True))
