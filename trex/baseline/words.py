"""A baseline in sentences, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from trex.baseline.baseline import Baseline, ComparedRun
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Proportion
from trex.pages.wording import rate_words

WORLD_RULE = (
    "In the query's world means: each object may occur there; how many objects there are is not asked."
)


def sentences(one: Baseline) -> tuple[str, ...]:
    """The baseline's figures, one sentence each."""
    return (
        f"hits {rate_words(one.hits)}",
        f"true mistakes {rate_words(one.mistakes)}",
        f"in the query's world ({one.world}): hits {rate_words(one.hits_inside)}; "
        f"true mistakes {rate_words(one.mistakes_inside)}",
        f"right answers {rate_words(one.accuracy)}",
        *((mark_words(one),) if one.marks.is_any else ()),
        *(run_words(run, one) for run in one.beside),
    )


def mark_words(one: Baseline) -> str:
    """The true mistakes as people marked them, with and without those whose label is wrong."""
    return (
        f"of {one.mistakes.count} true mistakes people found {one.marks.words}; without wrong labels "
        f"{rate_words(one.mistakes_well_labelled)}"
    )


def run_words(run: ComparedRun, one: Baseline) -> str:
    """A run compared with the baseline: renders per hit there, and pictures per hit here."""
    mistakes = "true mistakes unknown" if run.mistakes is None else counted(run.mistakes, "true mistake")
    found = f"{counted(run.found, 'distinct scene')} ({mistakes}) in {counted(run.renders, 'render')}"
    each = f", one in {run.renders / run.found:.3g}" if run.found else ""
    return f"{run.run}: {run.ending}, {found}{each}; here {_each(one.hits)}"


def _each(hits: Proportion) -> str:
    if hits.count:
        return f"a hit in {hits.of / hits.count:.3g} pictures"
    return f"no hit in {hits.of} pictures (95 %: fewer than one in {1 / hits.bound:.3g})"


def covered(baselines: Sequence[Baseline]) -> str:
    """The number of queries with a hit, and with a true mistake, here and in the compared runs."""
    hits, mistakes = (
        sum(one.hits.count > 0 for one in baselines),
        sum(one.mistakes.count > 0 for one in baselines),
    )
    words = f"{hits} of {len(baselines)} queries have a hit here, {mistakes} a true mistake"
    runs = [one.beside for one in baselines if one.beside]
    if not runs:
        return words
    found = sum(any(run.found for run in beside) for beside in runs)
    known = [beside for beside in runs if any(run.mistakes is not None for run in beside)]
    wrong = sum(any(run.mistakes for run in beside) for beside in known)
    said = f"{wrong} a true mistake" if known else "true mistakes unknown"
    if known and len(known) < len(runs):
        said += f" (unknown of {len(runs) - len(known)})"
    return f"{words}; of {len(runs)} with a run beside them, {found} have a scene found, {said}"
