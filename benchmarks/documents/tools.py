"""What the pictures of the documents are made with: commands, a page's files, screenshots, terminals, and saving."""

from __future__ import annotations

import base64
import io
import os
import shlex
import subprocess
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.serving.browser import chromium, open_page
from tests.serving.document_blocks import blocks

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 100
MAX_BYTES = 150_000
MOST_BYTES = {"report": 400_000}  # whole, on the first page
Made = Image.Image | str  # a picture, or the text of an SVG
Clip = tuple[int, int, int, int]  # left, top, width, height of the page in CSS pixels
PLACE = """
const b = document.querySelector(arguments[0]).getBoundingClientRect();
return [b.x + scrollX - 8, b.y + scrollY - 8, b.width + 16, b.height + 16].map(Math.round)
"""  # of the first such element, with a margin
PALE = TerminalTheme(
    (250, 250, 250),
    (36, 41, 46),
    [
        (36, 41, 46),
        (179, 29, 40),
        (34, 134, 58),
        (176, 136, 0),
        (3, 102, 214),
        (90, 50, 163),
        (27, 124, 131),
        (106, 115, 125),
    ],
)
SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" class="rich-terminal">
<style>.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
line-height: {line_height}px; }} {styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""  # rich's own without the fonts that it loads from another site


def write_files(page: str) -> None:
    """Write the files that a how-to shows into this folder."""
    for block in blocks(f"docs/how-to/{page}.md"):
        if block.file:
            Path(block.file).write_text(block.body, encoding="utf-8")


def run(
    command: str, *, columns: int = COLUMNS, stderr: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this folder. Its progress goes to this terminal unless `stderr` is subprocess.PIPE."""
    print(f"$ {command}", flush=True)
    return subprocess.run(
        shlex.split(command), env={**os.environ, "COLUMNS": str(columns), **environment},
        check=True, stdout=subprocess.PIPE, stderr=stderr, text=True,
    )  # fmt: skip


def shot(page: Path | str, clip: Clip | str, scale: float = 1.0, width: int = 1200) -> Image.Image:
    """A part of a file or address in Chromium, in true color: a clip, or the first element of a selector."""
    height = 1600 if isinstance(clip, str) else max(1600, clip[1] + clip[3])
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    with chromium() as browser:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        open_page(browser, page if isinstance(page, str) else page.resolve().as_uri())
        place = browser.execute_script(PLACE, clip) if isinstance(clip, str) else clip
        area = dict(zip(("x", "y", "width", "height"), place, strict=True)) | {"scale": scale}
        taken = browser.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "clip": area, "captureBeyondViewport": True}
        )
    return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")


def terminal(command: str, printed: str, columns: int = COLUMNS) -> str:
    """A picture of a command and what it printed."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(printed.rstrip()), soft_wrap=False)
    return console.export_svg(title="", theme=PALE, code_format=SVG, unique_id="terminal")


def save(made: Made, name: str, folder: Path) -> None:
    """NAME.svg, NAME.png, or NAME.webp of a picture with transparent parts; refused beyond the bytes allowed."""
    buffer, ending = io.BytesIO(), "svg"
    if isinstance(made, str):
        buffer.write(made.encode())
    elif made.mode == "RGBA":
        ending = "webp"
        made.save(buffer, "WEBP", quality=90, method=6)
    else:
        ending = "png"
        made.save(buffer, "PNG", optimize=True)
    place, most = folder / f"{name}.{ending}", MOST_BYTES.get(name, MAX_BYTES)
    print(f"{place}: {buffer.tell():,} bytes", flush=True)
    if buffer.tell() > most:
        raise SystemExit(f"{name}: at most {most:,} bytes; take a smaller clip or scale")
    place.write_bytes(buffer.getvalue())
