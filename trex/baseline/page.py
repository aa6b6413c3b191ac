"""`baseline.html`: the figures of a baseline and its pictures, on one page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex.baseline.baseline import Baseline, ScoredExample
from trex.baseline.count import SourceResult
from trex.baseline.words import WORLD_RULE, covered, mark_words, run_words
from trex.datasets.examples import Problem
from trex.pages.page import page
from trex.pages.thumbnails import Thumbnail
from trex.pages.wording import rate_words

PAGE = "baseline.html"
MAX_PICTURES = 200  # hits on the page; baseline.json holds all


@dataclass(frozen=True)
class Card:
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


@dataclass(frozen=True)
class Gallery:
    """The cards of a source; `hidden` is the number of hits that the page leaves out."""

    source: str
    cards: tuple[Card, ...]
    hidden: int


def page_html(results: Sequence[SourceResult], all_pictures: bool, problems: Sequence[Problem]) -> str:
    """The HTML of `baseline.html`, self-contained."""
    baselines = [baseline for one in results for baseline in one.baselines]
    values: dict[str, object] = {
        "galleries": [_gallery(one, all_pictures) for one in results],
        "baselines": baselines,
        "is_one": len(baselines) == 1,
        "all_pictures": all_pictures,
        "covered": covered(baselines),
        "world_rule": WORLD_RULE,
        "run_words": run_words,
        "mark_words": mark_words,
        "problems": problems,
    }
    return page(PAGE, values, rate=rate_words)


def _gallery(result: SourceResult, all_pictures: bool) -> Gallery:
    rows = [{row.name: row for row in baseline.seen} for baseline in result.baselines]
    cards = [
        Card(picture, tuple((b, seen[picture.name]) for b, seen in zip(result.baselines, rows, strict=True)))
        for picture in result.thumbnails
    ]
    cards.sort(key=lambda card: card.order)
    shown = cards if all_pictures else cards[:MAX_PICTURES]
    return Gallery(result.source, tuple(shown), len(cards) - len(shown))
