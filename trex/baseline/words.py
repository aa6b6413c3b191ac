"""A baseline in sentences, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from trex.baseline.baseline import Baseline, ComparedRun
from trex.inference.statistics.proportion import Proportion
from trex.pages.wording import percent

WORLD_RULE = (
    "In the query's world means: each object may occur there; how many objects there are is not asked."
)


def rate_words(rate: Proportion) -> str:
    """A rate in words: "3 of 88, 3.4 % (0.7 % to 9.6 %)"; after zero hits only the upper bound."""
    if not rate.of:
        return "0 of 0"
    low, high = rate.interval
    if rate.count == 0:
        return f"0 of {rate.of} (95 %: less than {percent(rate.bound)})"
    return f"{rate.count} of {rate.of}, {percent(rate.value)} (95 %: {percent(low)} to {percent(high)})"


def sentences(one: Baseline) -> tuple[str, ...]:
    """The baseline's figures, one sentence each."""
    return (
        f"hits {rate_words(one.hits)}",
        f"true mistakes {rate_words(one.mistakes)}",
        f"in the query's world ({one.world}): hits {rate_words(one.hits_inside)}; "
        f"true mistakes {rate_words(one.mistakes_inside)}",
        f"right answers {rate_words(one.accuracy)}",
        *(run_words(run, one) for run in one.beside),
    )


def run_words(run: ComparedRun, one: Baseline) -> str:
    """A run compared with the baseline: renders per hit there, and pictures per hit here."""
    found = f"{run.found} distinct scenes ({run.mistakes} true mistakes) in {run.renders} renders"
    each = f", one in {run.renders / run.found:.3g}" if run.found else ""
    return f"{run.run}: {run.ending}, {found}{each}; here {_each(one.hits)}"


def _each(hits: Proportion) -> str:
    if hits.count:
        return f"a hit in {hits.of / hits.count:.3g} pictures"
    return f"no hit in {hits.of} pictures (95 %: fewer than one in {1 / hits.bound:.3g})"


def covered(baselines: Sequence[Baseline]) -> str:
    """The number of queries with a hit, and with a true mistake, here and in the compared runs."""
    hits, mistakes = (sum(bool(rate.count) for rate in rates) for rates in _rates(baselines))
    words = f"{hits} of {len(baselines)} queries have a hit here, {mistakes} a true mistake"
    runs = [one.beside for one in baselines if one.beside]
    if not runs:
        return words
    found = sum(any(run.found for run in beside) for beside in runs)
    wrong = sum(any(run.mistakes for run in beside) for beside in runs)
    return (
        f"{words}; of {len(runs)} with a run beside them, {found} have a scene found, {wrong} a true mistake"
    )


def _rates(baselines: Sequence[Baseline]) -> tuple[list[Proportion], list[Proportion]]:
    return [one.hits for one in baselines], [one.mistakes for one in baselines]
