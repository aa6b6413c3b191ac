"""Confirmations as the report and the terminal show them: the conclusions, and a table of the scenes."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from trex.crosscheck.confirmation import Confirmation, Confirmed, sentences
from trex.foundation.percent import percent
from trex.pages.table import Column, Table
from trex.pages.thumbnails import jpeg_url
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture

COLUMNS: tuple[Column[Confirmed], ...] = (
    Column("true answer", lambda scene: scene.truth),
    Column("model in the search", lambda scene: scene.before.answer),
    Column("confidence", lambda scene: percent(scene.before.confidence), is_number=True),
    Column("model now", lambda scene: scene.after.answer),
    Column("confidence", lambda scene: percent(scene.after.confidence), is_number=True),
    Column("outcome", lambda scene: scene.verdict),
)
IMAGE = Markup('<img id="{}" src="{}" alt="{}" width="240" height="160">')


@dataclass(frozen=True)
class ConfirmedSection:
    """The confirmations at one preset; `size` is in pixels."""

    preset: str
    size: tuple[int, int]
    sentences: tuple[str, ...]
    table: Table[Confirmed]


def look_id(scene: Confirmed) -> str:
    """The HTML id of a scene's picture at the preset of the confirmation, which the enlarged view reuses."""
    return f"look-{scene.after.picture}"


def confirmed_section(folder: RunFolder, one: Confirmation) -> ConfirmedSection:
    """The section of a confirmation, with the scenes' pictures; RunError if one is missing or damaged."""

    def image(scene: Confirmed) -> str:
        pixels, _ = read_picture(folder, scene.after.picture, one.size)
        words = f"The scene at {one.preset}: the model says {scene.after.answer}, the true answer is {scene.truth}"
        return IMAGE.format(look_id(scene), jpeg_url(pixels), words)

    columns = (Column(f"at {one.preset}", image), *COLUMNS)
    said = sentences(one.scenes, one.preset, max(one.asked, len(one.scenes)))
    return ConfirmedSection(one.preset, one.size, said, Table(f"Scenes at {one.preset}", columns, one.scenes))
