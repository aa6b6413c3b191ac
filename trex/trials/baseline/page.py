"""`baseline.html`, on one page that needs no network, and the sentences of a baseline for page and terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex.datasets.examples import Problem
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Proportion
from trex.pages.page import page
from trex.pages.thumbnails import Thumbnail
from trex.pages.wording import rate_words
from trex.trials.baseline.baseline import Baseline, ComparedRun, ScoredExample
from trex.trials.baseline.score import SourceResult

PAGE = "baseline.html"
MAX_PICTURES = 200  # hits on the page; baseline.json holds all
WORLD_RULE = (
    "In the query's world means: each object may occur there; how many objects there are is not asked."
)


def sentences(baseline: Baseline) -> tuple[str, ...]:
    """The baseline's figures, one sentence each."""
    return (
        f"hits {rate_words(baseline.hits)}",
        f"true mistakes {rate_words(baseline.mistakes)}",
        f"in the query's world ({baseline.world}): hits {rate_words(baseline.hits_inside)}; "
        f"true mistakes {rate_words(baseline.mistakes_inside)}",
        f"right answers {rate_words(baseline.accuracy)}",
        *misread_sentences(baseline),
        *((mark_words(baseline),) if baseline.marks.is_any else ()),
        *(run_words(run, baseline) for run in baseline.beside),
    )


def finding(baseline: Baseline) -> str:
    """The first line of the page: in how many pictures the model makes the mistake, or gives the answer."""
    mistakes, hits = baseline.mistakes, baseline.hits
    if mistakes.of:
        return f"The model makes the mistake in {mistakes.counted} pictures."
    return f"The model is in the level set in {hits.counted} pictures."


def misread_sentences(baseline: Baseline) -> tuple[str, ...]:
    """What the model misreads in the true mistakes, one sentence for each family, and what is not known of them."""
    of = counted(baseline.mistakes.count, "true mistake")
    told = [
        f"{family.words.removesuffix('.')}: {len(family.pictures)} of {of}. {family.evidence}".strip()
        for family in baseline.families
    ]
    unknown = baseline.traced - sum(len(family.pictures) for family in baseline.families)
    left = baseline.mistakes.count - baseline.traced
    if unknown:
        told.append(f"Nothing that the model could misread explains {unknown} of {of}.")
    if baseline.untraced:
        told.append(f"What the model misreads in {left} of {of} is not known, as {baseline.untraced}.")
    elif baseline.traced and left:
        told.append(f"The first {baseline.traced} of {of} were traced.")
    if n := baseline.hits_without_scene:
        told.append(f"{counted(n, 'hit')} without a scene could not be traced.")
    return tuple(told)


def mark_words(baseline: Baseline) -> str:
    """The true mistakes as people marked them, with and without those whose label is wrong."""
    return (
        f"of {counted(baseline.mistakes.count, 'true mistake')} people found {baseline.marks.words}; "
        f"without wrong labels {rate_words(baseline.mistakes_well_labelled)}"
    )


def run_words(run: ComparedRun, baseline: Baseline) -> str:
    """A run compared with the baseline: renders per hit there, and pictures per hit here."""
    mistakes = "true mistakes unknown" if run.mistakes is None else counted(run.mistakes, "true mistake")
    found = f"{counted(run.found, 'distinct scene')} ({mistakes}) in {counted(run.renders, 'render')}"
    each = f", one in {run.renders / run.found:.3g}" if run.found else ""
    return f"{run.run}: {run.ending}, {found}{each}; here {_each(baseline.hits)}"


def _each(hits: Proportion) -> str:
    if hits.count:
        return f"a hit in {hits.of / hits.count:.3g} pictures"
    return f"no hit in {hits.of} pictures (95%: fewer than one in {1 / hits.interval.high:.3g})"


def covered(baselines: Sequence[Baseline]) -> str:
    """The number of queries with a hit, and with a true mistake, here and in the compared runs."""
    hits = sum(baseline.hits.count > 0 for baseline in baselines)
    mistakes = sum(baseline.mistakes.count > 0 for baseline in baselines)
    words = f"{hits} of {len(baselines)} queries have a hit here, {mistakes} a true mistake"
    runs = [baseline.beside for baseline in baselines if baseline.beside]
    if not runs:
        return words
    found = sum(any(run.found for run in beside) for beside in runs)
    known = [beside for beside in runs if any(run.mistakes is not None for run in beside)]
    wrong = sum(any(run.mistakes for run in beside) for beside in known)
    mistaken = f"{wrong} a true mistake" if known else "true mistakes unknown"
    if known and len(known) < len(runs):
        mistaken += f" (unknown of {len(runs) - len(known)})"
    return f"{words}; of {len(runs)} with a run beside them, {found} have a scene found, {mistaken}"


@dataclass(frozen=True)
class PictureCard:
    """A picture with each query's answer on it."""

    picture: Thumbnail
    rows: tuple[tuple[Baseline, ScoredExample], ...]

    @property
    def order(self) -> tuple[bool, bool, bool, float, str]:
        """Sort key: true mistakes first, then other wrong answers, then hits; most confident first."""
        rows = [row for _, row in self.rows]
        best = max((row.confidence for row in rows if row.is_hit), default=0.0)
        is_mistake, is_hit = any(row.is_mistake for row in rows), any(row.is_hit for row in rows)
        is_wrong = any(row.has_truth and not row.is_right for row in rows)
        return (not is_mistake, not is_wrong, not is_hit, -best, self.picture.name)


def page_html(results: Sequence[SourceResult], all_pictures: bool, problems: Sequence[Problem]) -> str:
    """The HTML of `baseline.html`, self-contained."""
    baselines = [baseline for result in results for baseline in result.baselines]
    values: dict[str, object] = {
        "galleries": [_gallery(result, all_pictures) for result in results],
        "baselines": baselines,
        "is_one": len(baselines) == 1,
        "all_pictures": all_pictures,
        "covered": covered(baselines),
        "world_rule": WORLD_RULE,
        "run_words": run_words,
        "mark_words": mark_words,
        "misread_sentences": misread_sentences,
        "finding": finding,
        "problems": problems,
    }
    return page(PAGE, values, rate=rate_words)


def _gallery(result: SourceResult, all_pictures: bool) -> dict[str, object]:
    """The cards of a source, and the number of hits that the page leaves out."""
    rows = [{row.name: row for row in baseline.seen} for baseline in result.baselines]
    cards = [
        PictureCard(
            picture, tuple((b, seen[picture.name]) for b, seen in zip(result.baselines, rows, strict=True))
        )
        for picture in result.thumbnails
    ]
    cards.sort(key=lambda card: card.order)
    shown = cards if all_pictures else cards[:MAX_PICTURES]
    return {"source": result.source, "cards": shown, "hidden": len(cards) - len(shown)}
