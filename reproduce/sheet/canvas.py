"""Panels of a sheet: tiles with words, put side by side and below each other, and written within a limit of bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

WIDTH_PX = 760  # of a document's column
TEXT_PX, TITLE_PX = 11, 13  # font sizes
LINE_PX = 18
GAP_PX = 4
LIMIT = 60_000  # bytes of a sheet: forty of them keep the documents below 2.5 MB
QUALITIES = (85, 70, 55, 40, 25, 10)  # WebP's; the first that fits is taken
PAPER, INK, EMPTY = "white", "black", "#777777"


class Tile(NamedTuple):
    """A cell of a grid: a picture, or words on the background."""

    picture: Image | None = None
    words: str = ""
    background: str = PAPER


def grid(rows: Sequence[Sequence[Tile]], widths_px: Sequence[int], height_px: int, title: str = "") -> Image:
    """Tiles in rows of one height below a title; pictures are enlarged without blurring, or reduced, to fit."""
    top = LINE_PX if title else 0
    width = sum(widths_px) + GAP_PX * len(widths_px)
    canvas, draw = _blank(width, top + len(rows) * (height_px + GAP_PX))
    draw.text((0, 0), title, INK, _font(TITLE_PX))
    for number, row in enumerate(rows):
        x, y = 0, top + number * (height_px + GAP_PX)
        for tile, width_px in zip(row, widths_px, strict=True):
            _put(canvas, draw, tile, (x, y, width_px, height_px))
            x += width_px + GAP_PX
    return canvas


def stacked(panels: Sequence[Image]) -> Image:
    """Panels below each other, as wide as the widest."""
    canvas, _ = _blank(
        max(panel.width for panel in panels), sum(panel.height + 2 * GAP_PX for panel in panels)
    )
    y = 0
    for panel in panels:
        canvas.paste(panel, (0, y))
        y += panel.height + 2 * GAP_PX
    return canvas


def packed(image: Image, limit: int = LIMIT) -> bytes:
    """The picture as WebP of at most `limit` bytes: at a lower quality, and then smaller, if it has to be."""
    while True:
        for quality in QUALITIES:
            buffer = io.BytesIO()
            image.save(buffer, "webp", quality=quality, method=6)
            if buffer.tell() <= limit:
                return buffer.getvalue()
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))


def _put(canvas: Image, draw: ImageDraw, tile: Tile, box: tuple[int, int, int, int]) -> None:
    x, y, width, height = box
    draw.rectangle((x, y, x + width - 1, y + height - 1), fill=tile.background)
    if tile.picture is None:
        ink = PAPER if tile.background == EMPTY else INK
        draw.multiline_text(
            (x + width / 2, y + height / 2), tile.words, ink, _font(TEXT_PX), anchor="mm", align="center"
        )
        return
    picture = _fitting(tile.picture, width, height)
    canvas.paste(picture, (x + (width - picture.width) // 2, y + (height - picture.height) // 2))


def _fitting(picture: Image, width: int, height: int) -> Image:
    """The picture as large as fits: small ones enlarged pixel by pixel, large ones reduced smoothly."""
    from PIL.Image import Resampling

    scale = min(width / picture.width, height / picture.height)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.convert("RGB").resize(size, Resampling.NEAREST if scale > 1 else Resampling.LANCZOS)


def _blank(width: int, height: int) -> tuple[Image, ImageDraw]:
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (max(1, width), max(1, height)), PAPER)
    return canvas, ImageDraw.Draw(canvas)


@cache
def _font(size_px: int) -> FreeTypeFont:
    """DejaVu Sans, which Matplotlib brings along."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size_px)
