"""Confirmations as a report shows them: the conclusions, and each scene at both presets."""

from __future__ import annotations

from dataclasses import dataclass

from trex.crosscheck.confirmation import Confirmation, Confirmed, read_confirmations, sentences
from trex.pages.thumbnails import jpeg_url
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture


@dataclass(frozen=True)
class Row:
    """One scene; `image` is its picture at the other preset, as a data URL."""

    scene: Confirmed
    image: str
    words: str

    @property
    def id(self) -> str:
        """The HTML id of its picture, which the enlarged view reuses."""
        return look_id(self.scene)


@dataclass(frozen=True)
class Section:
    """The confirmations at one preset."""

    preset: str
    size: tuple[int, int]
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]


def look_id(scene: Confirmed) -> str:
    """The HTML id of a scene's picture at the preset of the confirmation."""
    return f"look-{scene.after.picture}"


def confirmations(folder: RunFolder) -> list[Section]:
    """A section for each preset with confirmed scenes; RunError names a damaged file."""
    return [_section(folder, one) for one in read_confirmations(folder)]


def _section(folder: RunFolder, one: Confirmation) -> Section:
    said = sentences(one.scenes, one.preset, max(one.asked, len(one.scenes)))
    return Section(one.preset, one.size, said, tuple(_row(folder, one, scene) for scene in one.scenes))


def _row(folder: RunFolder, one: Confirmation, scene: Confirmed) -> Row:
    pixels, _ = read_picture(folder, scene.after.picture, one.size)
    words = (
        f"The scene at {one.preset}: the model says {scene.after.answer}, the true answer is {scene.truth}"
    )
    return Row(scene, jpeg_url(pixels), words)
