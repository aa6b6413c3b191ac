"""Renderer parity: compares official pictures with our renders of the same scenes, by models trained on the former."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from reproduce import TEMPLATES
from reproduce.parity.scores import (
    Pair,
    ParityShare,
    PictureAnswers,
    PresetParity,
    compare_answers,
    make_pair,
)
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.bound import ClevrModel
from trex.datasets.clevr_questions import QuestionOptions, read_folder
from trex.datasets.examples import Tally
from trex.datasets.official_scenes import AskedQuestion, OfficialPicture, phrase_questions, read_official
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.progress import Progress, silent
from trex.pages.page import page
from trex.pages.table import Column, Table, table_of
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.cache import CachedRenderer
from trex.render.png_url import png_url
from trex.worlds.asking import answers_to

Pairs = Mapping[str, Sequence[Pair]]  # by preset, one for each picture
PRESETS = ("clevr", "reference", "fast")
MODELS = ("relation-network:original", "relation-network:ir", "shipped")
TRIES = 2  # of phrasing a question of each zero-hop and one-hop family of a scene
TIMEOUT_S = 3600.0  # per picture; generous, since the machine may be busy
COLUMNS: tuple[Column[PresetParity], ...] = (
    Column("model", lambda row: row.model),
    Column("preset", lambda row: row.preset),
    Column("questions", lambda row: row.source),
    Column("n", lambda row: str(row.questions), is_number=True),
    Column("pictures", lambda row: str(row.pictures), is_number=True),
    Column("right, official", lambda row: _percent(row.official), is_number=True),
    Column("right, ours", lambda row: _percent(row.rendered), is_number=True),
    Column("difference, points", lambda row: _points(row.difference), is_number=True),
    Column("equal answers", lambda row: _percent(row.equal), is_number=True),
)


def write_table(
    path: Path,
    pictures: Sequence[OfficialPicture],
    pairs: Pairs,
    rows: Sequence[PresetParity],
    notes: Sequence[str],
) -> None:
    """Write the table: Markdown, numbers only."""
    spreads = [
        (name, *_spread([pair.ssim for pair in some], ".3f"), *_spread([pair.error for pair in some], ".2f"))
        for name, some in pairs.items()
    ]
    heads = ("preset", "SSIM, mean", "lowest", "highest", "pixel error, mean", "lowest", "highest")
    values = {
        "pictures": len(pictures),
        "error_px": max(picture.fit.error_px for picture in pictures),
        "alike": table_of("Pictures", heads, spreads).markdown(),
        "answers": Table("Answers", COLUMNS, rows).markdown(),
        "notes": notes,
    }
    _write(path, page(TEMPLATES / "parity.md", values))


def _spread(values: Sequence[float], form: str) -> list[str]:
    """Mean, minimum, maximum."""
    return [format(value, form) for value in (float(np.mean(values)), min(values), max(values))]


def write_page(
    path: Path,
    pictures: Sequence[OfficialPicture],
    pairs: Pairs,
    rows: Sequence[PresetParity],
    notes: Sequence[str],
) -> None:
    """Write the page of pairs: one self-contained HTML file, which holds the official pictures."""
    shown = []
    for at, picture in enumerate(pictures):
        ours = [
            (f"{name}, SSIM {some[at].ssim:.3f}", png_url(some[at].pixels)) for name, some in pairs.items()
        ]
        shown.append((picture.name, [("official", png_url(picture.pixels)), *ours]))
    table = Table("Answers on both (95%)", COLUMNS, rows)
    _write(path, page(TEMPLATES / "parity.html", {"pictures": shown, "table": table, "notes": notes}))


def _write(path: Path, text: str) -> None:
    make_folder(path.parent)
    write_atomic(path, text.encode())


def _percent(share: ParityShare) -> str:
    return f"{100 * share.value:.1f}% ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _points(share: ParityShare) -> str:
    return f"{100 * share.value:+.1f} ({100 * share.low:+.1f} to {100 * share.high:+.1f})"


def write_parity_page(
    data: Path,
    out: Path,
    models: Sequence[str] = MODELS,
    presets: Sequence[str] = PRESETS,
    table: Path | None = None,
    *,
    progress: Progress = silent,
) -> Path:
    """Write the page of pairs (out/index.html) and the table (out/table.md, and `table` if given).

    `data` is a folder in CLEVR's layout (images, scenes, questions). Each scene is rendered once at each preset and
    kept in out/pictures, so a stopped run resumes there. The page holds official pictures: do not publish it.
    """
    loaded = {spec: load_model(spec) for spec in models}  # before anything is rendered
    tally = Tally()
    pictures = read_official(data, tally=tally)
    questions = read_questions(data, pictures)
    pairs = {name: render_pairs(pictures, name, out / "pictures", progress) for name in presets}
    rows = [row for named in loaded.items() for row in judge(named, pictures, questions, pairs, progress)]
    for path in filter(None, (out / "table.md", table)):
        write_table(path, pictures, pairs, rows, tally.sentences)
    page = out / "index.html"
    write_page(page, pictures, pairs, rows, tally.sentences)
    return page


def read_questions(data: Path, pictures: Sequence[OfficialPicture]) -> list[AskedQuestion]:
    """The published questions on these pictures, and phrased ones of every zero-hop and one-hop family."""
    names = {picture.name for picture in pictures}
    published = [q for picture in read_folder(data, QuestionOptions()).pictures for q in picture.questions]
    named = [(picture.name, picture.scene) for picture in pictures]
    return [q for q in published if q.picture in names] + phrase_questions(named, TRIES)


def render_pairs(
    pictures: Sequence[OfficialPicture], preset: str, kept: Path, progress: Progress
) -> list[Pair]:
    """Render every scene at a preset and pair it with its official picture; reuses pictures in the folder `kept`."""
    pairs = []
    with BlenderRenderer(preset, timeout_s=TIMEOUT_S) as renderer:
        cache = CachedRenderer(renderer, kept)
        for number, picture in enumerate(pictures, start=1):
            pixels = cache.render([picture.scene])[0].pixels
            pairs.append(make_pair(picture.pixels, pixels))
            alike = f"SSIM {pairs[-1].ssim:.3f}, pixel error {pairs[-1].error:.2f} of 255"
            progress(f"rendered at {preset}", number, len(pictures), f"{picture.name}, {alike}")
    return pairs


def judge(
    named: tuple[str, ClevrModel],
    pictures: Sequence[OfficialPicture],
    questions: Sequence[AskedQuestion],
    pairs: dict[str, list[Pair]],
    progress: Progress,
) -> list[PresetParity]:
    """A model's answers to the same questions on official and re-rendered pictures, by preset and question source."""
    name, model = named
    answers: dict[str, list[PictureAnswers]] = {preset: [] for preset in pairs}
    for at, picture in enumerate(pictures):
        asked_questions = [question for question in questions if question.picture == picture.name]
        official = answers_to(model, picture.pixels, asked_questions)
        for preset, rendered in pairs.items():
            found = answers_to(model, rendered[at].pixels, asked_questions)
            answers[preset].append(PictureAnswers(tuple(asked_questions), official, found))
        progress(f"questioned, {name}", at + 1, len(pictures), picture.name)
    return [row for preset in pairs for row in compare_answers(name, preset, answers[preset])]
