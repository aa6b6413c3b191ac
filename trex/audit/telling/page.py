"""`report.html` and `report.json` of an audit: the families first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from trex.audit.audit import PICTURES, Audit
from trex.audit.judging.by_question import Row
from trex.audit.judging.findings import Finding, Share
from trex.audit.sweeping.records import Tested
from trex.foundation.files import write_atomic
from trex.foundation.percent import percent
from trex.foundation.words import counted
from trex.pages.page import page
from trex.pages.table import Column, Table
from trex.pages.thumbnails import Thumbnail, jpeg_url
from trex.pages.wording import percent_interval
from trex.query.schema import RenderSection
from trex.render.cache import CachedRenderer
from trex.scenes.describe import scene_words
from trex.scenes.noise import fresh_draws
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.world import open_renderer

PAGE, DOCUMENT = "report.html", "report.json"
SHOWN_ROWS = 12  # of the table of questions on the page
CHANGES: Mapping[str, str] = {
    "noise": "under another noise seed",
    "nuisances": "under other lights and another camera",
    "without": "without the object to blame",
}


class Card(NamedTuple):
    """A failing scene of a family."""

    picture: Thumbnail
    question: str
    said: str
    truth: str
    confidence: float
    blamed: str


def share_words(share: Share) -> str:
    """A share with its counts and interval: "12 of 20 (36 % to 81 %)"."""
    return f"{share.hits} of {share.of} ({percent_interval(*share.interval)})"


def headline(done: Audit) -> str:
    """What was found, in one sentence."""
    n, rejected = len(done.confirmed), len(done.findings) - len(done.confirmed)
    if not done.findings:
        return "No family of confident mistakes was found."
    said = f"{counted(n, 'failure family', 'failure families')} confirmed"
    if rejected:
        said += f", {counted(rejected, 'other rule')} not"
    if n:
        said += (
            f"; they hold {share_words(done.coverage)} of the confident mistakes in {done.settings.held_out:,} scenes "
            "that no rule was made from"
        )
    return f"{said}."


def rate_words(finding: Finding) -> str:
    """How often failures that stay occur, with the interval."""
    return f"In {percent(finding.rate)} of scenes (95\u00a0%: {percent_interval(*finding.rate_interval)})"


def survival_words(finding: Finding) -> list[str]:
    """What becomes of the mistakes of a few failing scenes when the scene is changed."""
    return [
        f"{percent(share)} of the mistakes in {counted(n, 'scene')} stay {CHANGES[name]}"
        for name, (share, n) in finding.survives.items()
    ]


def document(done: Audit) -> dict[str, object]:
    """The audit as JSON."""
    return {
        "headline": headline(done),
        "settings": asdict(done.settings),
        "coverage_held_out": _share(done.coverage),
        "families": [_family(one) for one in done.findings],
        "questions": [
            {
                "what": row.what,
                "right": _share(row.right),
                "confident_mistakes": _share(row.mistakes),
                "confidence": row.confidence,
                "stands_out": row.stands_out,
            }
            for row in done.by_question
        ],
    }


def write_report(done: Audit, vocabulary: Vocabulary) -> Path:
    """Write the page and the JSON file; the page's path."""
    write_atomic(done.folder / DOCUMENT, (json.dumps(document(done), indent=1) + "\n").encode())
    values: dict[str, object] = {
        "done": done,
        "settings": done.settings,
        "headline": headline(done),
        "cards": _cards(done, vocabulary),
        "survival_words": survival_words,
        "share_words": share_words,
        "table": _table(done.by_question),
    }
    write_atomic(done.folder / PAGE, page("audit.html", values).encode())
    return done.folder / PAGE


def _cards(done: Audit, vocabulary: Vocabulary) -> dict[int, list[Card]]:
    renderer = CachedRenderer(
        open_renderer(RenderSection(preset=done.settings.deciding), vocabulary), done.folder / PICTURES
    )
    try:
        return {one.number: [_card(row, done, renderer) for row in one.shown] for one in done.confirmed}
    finally:
        renderer.close()


def _card(row: Tested, done: Audit, renderer: CachedRenderer) -> Card:
    scene = fresh_draws(done.scenes[row.scene].scene, 1)[0]
    (picture,) = renderer.render([scene])
    shown = Thumbnail(f"held-out scene {row.scene}", jpeg_url(picture.pixels), scene_words(scene))
    return Card(shown, row.question, row.said, row.truth, row.confidence, row.blamed)


def _table(rows: Sequence[Row]) -> Table[Row]:
    columns = (
        Column[Row]("questions", lambda row: row.what),
        Column[Row]("asked", lambda row: f"{row.right.of:,}", True),
        Column[Row]("right (95 %)", lambda row: _percents(row.right), True),
        Column[Row]("confident mistakes (95 %)", lambda row: _percents(row.mistakes), True),
        Column[Row]("mean confidence", lambda row: percent(row.confidence), True),
        Column[Row]("more than elsewhere", lambda row: "yes" if row.stands_out else ""),
    )
    return Table("Answers by kind of question and true answer", columns, rows[:SHOWN_ROWS])


def _percents(share: Share) -> str:
    return f"{percent(share.value)} ({percent_interval(*share.interval)})"


def _share(share: Share) -> dict[str, object]:
    return {"hits": share.hits, "of": share.of, "low": share.interval.low, "high": share.interval.high}


def _family(one: Finding) -> dict[str, object]:
    return {
        "words": one.words,
        "symptom": one.family.symptom.what,
        "level": one.family.symptom.level,
        "conditions": [condition.key for condition in one.family.conditions],
        "confirmed": one.is_confirmed,
        "p_value": one.p_value,
        "holds": _share(one.holds),
        "fails": _share(one.fails),
        "rate": one.rate,
        "rate_low": one.rate_interval.low,
        "rate_high": one.rate_interval.high,
        "confidence": one.confidence,
        "severity": one.severity,
        "harm": one.harm,
        "survives": {name: {"share": share, "scenes": n} for name, (share, n) in one.survives.items()},
        "stays": _share(one.stays),
        "covers": _share(one.covers),
        "became": [list(row) for row in one.family.became[:5]],
        "scenes": [row.scene for row in one.shown],
    }
