"""Writes the page of pairs and the table of a parity check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from jinja2 import Environment, FileSystemLoader
from numpy.typing import NDArray

from trex.datasets.official_scenes import OfficialPicture
from trex.pages.page import TEMPLATES
from trex.parity.scores import ParityShare, PresetParity
from trex.render.png_url import png_url

Pixels = NDArray[np.uint8]


class Rendered(Protocol):
    """A re-rendered picture, its SSIM to the official one, and the mean difference of a channel of a pixel."""

    @property
    def pixels(self) -> Pixels:
        """The pixels (H, W, 3)."""
        ...

    @property
    def ssim(self) -> float:
        """SSIM with the official picture; 1 if they are equal."""
        ...

    @property
    def error(self) -> float:
        """Mean absolute difference of a channel of a pixel, 0-255; 0 if they are equal."""
        ...


Pairs = Mapping[str, Sequence[Rendered]]  # by preset, one for each picture


def write_table(
    path: Path, pictures: Sequence[OfficialPicture], pairs: Pairs, rows: Sequence[PresetParity]
) -> None:
    """Write the table: Markdown, numbers only."""
    alike = [
        (name, _spread([pair.ssim for pair in some]), _spread([pair.error for pair in some]))
        for name, some in pairs.items()
    ]
    error_px = max(picture.fit.error_px for picture in pictures)
    _write(path, "parity.md", {"pictures": len(pictures), "error_px": error_px, "alike": alike, "rows": rows})


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, minimum, maximum."""
    return float(np.mean(values)), min(values), max(values)


def write_page(
    path: Path, pictures: Sequence[OfficialPicture], pairs: Pairs, rows: Sequence[PresetParity]
) -> None:
    """Write the page of pairs: one self-contained HTML file, which holds the official pictures."""
    shown = []
    for at, picture in enumerate(pictures):
        ours = [
            (f"{name}, SSIM {some[at].ssim:.3f}", png_url(some[at].pixels)) for name, some in pairs.items()
        ]
        shown.append((picture.name, [("official", png_url(picture.pixels)), *ours]))
    _write(path, "parity.html", {"pictures": shown, "rows": rows})


def _write(path: Path, template: str, values: dict[str, object]) -> None:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    environment.filters |= {"percent": _percent, "points": _points}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(environment.get_template(template).render(values), encoding="utf-8")


def _percent(share: ParityShare) -> str:
    return f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _points(share: ParityShare) -> str:
    return f"{100 * share.value:+.1f} ({100 * share.low:+.1f} to {100 * share.high:+.1f})"
