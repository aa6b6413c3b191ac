"""`report.html` and `report.json` of an audit: the families first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trex.auditing.audit import Audit
from trex.auditing.by_kind import NotFound, Row, not_found_words
from trex.auditing.compare import Beside, agreement_words, beside_words
from trex.auditing.document import document, write_failures
from trex.auditing.judging.confirm import deciding_scene
from trex.auditing.judging.findings import Finding, holds_words, share_words
from trex.auditing.judging.membership import failures_of
from trex.auditing.judging.reword import wordings_words
from trex.auditing.leads import Lead, leads_words, searched_words
from trex.auditing.records import DOCUMENT, Flip, Tested
from trex.auditing.side_by_side import SideBySide
from trex.auditing.work import PICTURES
from trex.explain.view import outlined
from trex.foundation.files import write_atomic
from trex.foundation.words import counted, percent, whole_percent
from trex.inference.statistics.paired import CLEAR
from trex.inference.statistics.proportion import Proportion
from trex.pages.page import link_below, page
from trex.pages.table import Column, Table
from trex.pages.thumbnails import Thumbnail, jpeg_url
from trex.query.toml_file import render_section
from trex.render.cache import CachedRenderer
from trex.scenes.scene import scene_words
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.world import open_renderer

PAGE, BOTH = "report.html", "beside.html"
MOST = 6  # families that a page shows before it folds the others away
SHOWN_ROWS = 12  # of the table of questions on the page
WAYS: Mapping[str, str] = {
    "objects": "with objects moved or redrawn",
    "noise": "under another noise seed",
    "camera": "under another camera",
    "lights": "under other lights",
}
CHANGES: Mapping[str, str] = {
    "noise": "under another noise seed",
    "nuisances": "under other lights and another camera",
    "without": "without the object responsible",
}


class Card(NamedTuple):
    """A failing scene of a family."""

    picture: Thumbnail
    question: str
    said: str
    truth: str
    confidence: float
    blamed: str
    flip: str


def write_report(
    done: Audit,
    vocabulary: Vocabulary,
    leads: Sequence[Lead] = (),
    compared: tuple[Beside | None, Sequence[SideBySide]] = (None, ()),
    device: str = "auto",
) -> Path:
    """Write the page, the JSON document and the failures; the page's path.

    The pictures are those that the audit's `device` has rendered; missing ones are rendered again.
    """
    beside, rows = compared
    section = render_section(done.settings.deciding, device=device)
    renderer = CachedRenderer(open_renderer(section, vocabulary), done.folder / PICTURES)
    try:
        cards = {
            finding.number: [_card(row, finding, done, renderer) for row in finding.shown]
            for finding in done.told
        }
        write_failures(done, renderer.key)
    finally:
        renderer.close()
    write_atomic(
        done.folder / DOCUMENT, (json.dumps(document(done, leads, beside, rows), indent=1) + "\n").encode()
    )
    values: dict[str, object] = {
        "done": done,
        "most": MOST,
        "settings": done.settings,
        "cards": cards,
        "survival_words": survival_words,
        "share_words": share_words,
        "holds_words": holds_words,
        "wordings_words": wordings_words,
        "probe_words": probe_words,
        "table": _table(done.by_question),
        "agreement_words": agreement_words(done.fresh.agreement) if done.fresh else "",
        "beside": beside,
        "beside_words": beside_words(done.settings.model, beside) if beside else "",
        "both_page": BOTH,
        "not_found_words": not_found_words(done.looked_for),
        "not_found": _absent(done.looked_for.absent),
        "leads_words": leads_words(leads) if leads else "",
        "leads": _leads(leads) if leads else "",
    }
    write_atomic(done.folder / PAGE, page("audit.html", values).encode())
    return done.folder / PAGE


def write_beside(done: Audit, beside: Beside, rows: Sequence[SideBySide], other: Path) -> Path:
    """Write the page of both models; its path. `other` is the other audit's folder."""
    path = done.folder / BOTH
    models = done.settings.model, beside.model
    values: dict[str, object] = {
        "models": models,
        "rows": rows,
        "beside_words": beside_words(done.settings.model, beside),
        "look": done.settings.look,
        "share_words": share_words,
        "verdict": verdict_words,
        "pages": [
            (model, link_below(path, folder / PAGE))
            for model, folder in zip(models, (done.folder, other), strict=True)
        ],
    }
    write_atomic(path, page("beside.html", values).encode())
    return path


def verdict_words(row: SideBySide, models: tuple[str, str]) -> str:
    """Which of these two models makes a mistake more often, in one sentence."""
    sign = row.counts.sign if row.counts else 0
    if row.p_value >= CLEAR or not sign:
        return f"No clear difference between the two (p = {row.p_value:.2g})."
    return f"{models[0 if sign > 0 else 1]} makes it more often (p = {row.p_value:.2g})."


def _card(row: Tested, finding: Finding, done: Audit, renderer: CachedRenderer) -> Card:
    facts, examined = done.failing[row.scene]
    scene = deciding_scene(facts.scene)
    (picture,) = renderer.render([scene])
    failures = [each for each in failures_of(examined) if each.symptom.level == "object"]
    misread = [each.unit for each in failures if finding.family.covers(each.symptom, each.value)]
    url = jpeg_url(outlined(picture.pixels, picture.mask, misread))
    shown = Thumbnail(f"held-out scene {row.scene}", url, scene_words(scene))
    return Card(shown, row.question, row.said, row.truth, row.confidence, row.blamed, flip_words(row.flip))


def _table(rows: Sequence[Row]) -> Table[Row]:
    columns = (
        Column[Row]("questions", lambda row: row.what),
        Column[Row]("asked", lambda row: f"{row.right.of:,}", True),
        Column[Row]("right (95% CI)", lambda row: _percents(row.right), True),
        Column[Row]("confident mistakes (95% CI)", lambda row: _percents(row.mistakes), True),
        Column[Row]("mean confidence", lambda row: percent(row.confidence), True),
        Column[Row]("more than elsewhere", lambda row: "yes" if row.stands_out else ""),
    )
    return Table("Answers by kind of question and true answer", columns, rows[:SHOWN_ROWS])


def _absent(rows: Sequence[NotFound]) -> Table[NotFound]:
    columns = (
        Column[NotFound]("confident mistake", lambda row: row.what),
        Column[NotFound]("scenes that allow it", lambda row: f"{row.scenes:,}", True),
        Column[NotFound]("occurs in at most (95%)", lambda row: percent(row.bound), True),
        Column[NotFound]("all rows together (95%)", lambda row: percent(row.together), True),
    )
    return Table("Confident mistakes that were looked for and not found", columns, rows)


def _leads(rows: Sequence[Lead]) -> Table[Lead]:
    columns = (
        Column[Lead]("confident mistake", lambda row: row.hint.what),
        Column[Lead]("question", lambda row: row.hint.question),
        Column[Lead]("true", lambda row: row.hint.truth),
        Column[Lead]("the model says", lambda row: row.hint.said),
        Column[Lead]("sure", lambda row: percent(row.hint.probability), True),
        Column[Lead]("search", searched_words),
    )
    return Table(
        "Kinds of mistakes that the random scenes do not show, and to which the model leans", columns, rows
    )


def _percents(share: Proportion) -> str:
    return f"{percent(share.value)} ({share.range})"


def survival_words(finding: Finding) -> list[str]:
    """What becomes of the mistakes of a few failing scenes when the scene is changed."""
    return [
        f"{whole_percent(share)} of the mistakes in {counted(n, 'scene')} stay {CHANGES[name]}"
        for name, (share, n) in finding.survives.items()
    ]


def probe_words(probes: Mapping[str, Proportion]) -> str:
    """How many scenes like the known failures fail in the same way, as a sentence; "" without a probe."""
    if not probes:
        return ""
    text = "; ".join(
        f"{share_words(share)} {WAYS.get(way, f'with another {way}')}" for way, share in probes.items()
    )
    return f"Of scenes made from its known failures, with its conditions kept, these fail too: {text}."


def flip_words(flip: Flip | None) -> str:
    """The smallest change after which the model is right, as a sentence; "" if none was looked for."""
    if flip is None:
        return ""
    tried = f"{flip.tried} of {flip.possible} single changes tried"
    if not flip.change:
        return f"Still wrong after each of {tried}."
    return f"Right if {flip.change} ({tried})."
