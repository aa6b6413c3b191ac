"""The pictures of the documents, made again from real runs, one function each.

python -m docs.pictures               # all
python -m docs.pictures audit explain # these

Needs Chromium, its driver and selenium. Runs are kept in runs/pictures (--work), so a second call only reads them.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
import re
import runpy
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.serving.chat_server import Replies, chat_server

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
MAX_BYTES = 150_000
COLUMNS = 100
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
)
BLOCK = re.compile(r"^```\w*\n# ([\w.-]+\.\w+)\b[^\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)
Clip = tuple[int, int, int, int]  # left, top, width, height of the page in CSS pixels


def files_of(page: str, work: Path) -> None:
    """Write the files that a how-to shows: its code blocks whose first line is a comment with a file's name."""
    text = (DOCS / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        (work / block[1]).write_text(block[0].split("\n", 1)[1].removesuffix("```"), encoding="utf-8")


def run(work: Path, command: str, stderr: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder. Its progress goes to this terminal unless `stderr` is subprocess.PIPE."""
    print(f"$ {command}", flush=True)
    words = shlex.split(command)
    return subprocess.run(words, cwd=work, check=True, stdout=subprocess.PIPE, stderr=stderr, text=True)


@contextmanager
def browser() -> Iterator[Chrome]:
    """Chromium without a window."""
    with tempfile.TemporaryDirectory() as profile:
        options = ChromeOptions()
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.binary_location = shutil.which("chromium") or ""
        chrome = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield chrome
        finally:
            chrome.quit()


def shot(
    page: Path, clip: Clip | str, scale: float = 1.0, width: int = 1200, script: str = ""
) -> Image.Image:
    """A part of a page in true color: a clip, or the element of a selector; after `script` has run in it."""
    with browser() as chrome:
        size = {"width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": False}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chrome.get(page.resolve().as_uri())
        chrome.execute_script(script)
        left, top, wide, high = _box(chrome, clip) if isinstance(clip, str) else clip
        area = {"x": left, "y": top, "width": wide, "height": high, "scale": scale}
        taken = chrome.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "clip": area, "captureBeyondViewport": True}
        )
    return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")


def _box(chrome: Chrome, selector: str) -> list[int]:
    """Where the first such element is on the page, with a margin."""
    place = (
        "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [b.x + scrollX - 8, b.y + scrollY - 8, b.width + 16, b.height + 16].map(Math.round)"
    )
    return list(chrome.execute_script(place, selector))


def save(image: Image.Image, name: str, most: int = MAX_BYTES) -> None:
    """docs/images/NAME.png; refused beyond `most` bytes."""
    place = IMAGES / f"{name}.png"
    image.save(place, optimize=True)
    if place.stat().st_size > most:
        raise SystemExit(
            f"{place}: {place.stat().st_size:,} bytes, at most {most:,}; take a smaller clip or scale"
        )


def terminal(text: str, name: str) -> None:
    """docs/images/NAME.svg: lines of a terminal, wrapped as there."""
    lines = [part for line in text.rstrip().splitlines() for part in wrap(line, COLUMNS) or [""]]
    width, height = 16 + round(7.83 * max(map(len, lines))), 20 + 18 * len(lines)
    rows = "".join(
        f'<text x="12" y="{24 + 18 * n}">{html.escape(line)}</text>\n' for n, line in enumerate(lines)
    )
    style = "text { font: 13px monospace; fill: #e6e6e6; white-space: pre }"
    (IMAGES / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n<style>{style}</style>\n'
        f'<rect width="100%" height="100%" rx="6" fill="#1e2329"/>\n{rows}</svg>\n',
        encoding="utf-8",
    )


def report(work: Path) -> None:
    """The first screen of the demo's report."""
    run(work, "trex find demo --out runs/demo")
    save(shot(work / "runs/demo/report.html", (0, 0, 1200, 1460)), "report", 400_000)


def own_model(work: Path) -> None:
    """The report of the how-to's own search."""
    files_of("own-model", work)
    run(work, "trex find red.toml --model mymodel:factory --out runs/red")
    save(shot(work / "runs/red/report.html", (0, 0, 1200, 1000), 0.6), "own-model")


def chat_models(work: Path) -> None:
    """A search in a terminal; the test suite's chat server replies what the how-to's answerer.py says."""
    files_of("own-model", work)
    shutil.rmtree(work / "runs/chat", ignore_errors=True)  # of a server at another port
    ask = runpy.run_path(str(work / "answerer.py"))["ask"]

    def planted(picture: NDArray[np.uint8]) -> Replies:
        (row,) = ask(picture[None].astype(np.float32) / np.float32(255), None)
        return {(label,): float(share) for label, share in zip(ask.labels, row, strict=True)}

    with chat_server(planted) as server:
        command = f"trex find red.toml --model openai:planted --endpoint {server.url} --out runs/chat"
        done = run(work, command, subprocess.PIPE)
    text = f"$ {command}\n{done.stdout}{done.stderr.rstrip().splitlines()[-1]}"
    terminal(text.replace(server.url, "http://localhost:8000/v1"), "chat-models")


def own_shape(work: Path) -> None:
    """The report of the how-to's search with pyramids."""
    files_of("own-shape", work)
    run(work, "trex find pyramids.toml --out runs/pyramids")
    save(shot(work / "runs/pyramids/report.html", (0, 0, 1200, 1000), 0.6), "own-shape")


def explain(work: Path) -> None:
    """The first scene of the demo, explained."""
    run(work, "trex find demo --out runs/demo")
    run(work, "trex explain runs/demo --top 2")
    save(shot(work / "runs/demo/report.html", "#scene-1", 0.6), "explain")


def audit(work: Path) -> None:
    """The page of the how-to's small audit."""
    run(
        work,
        "trex audit shipped --scenes 250 --held-out 250 --sure 0.7 --tested 5 --probed 0 --out runs/audit-small",
    )
    save(shot(work / "runs/audit-small/report.html", (0, 0, 1200, 1000), 0.6), "audit")


def baseline(work: Path) -> None:
    """The page of the how-to's baseline, beside the demo."""
    run(work, "trex find demo --out runs/demo")
    run(work, "trex baseline demo --rendered 300 --beside runs/demo --out runs/baseline-demo")
    save(shot(work / "runs/baseline-demo/baseline.html", (0, 0, 1200, 1225), 0.6), "baseline")


PICTURES: dict[str, Callable[[Path], None]] = {
    "report": report,
    "own-model": own_model,
    "chat-models": chat_models,
    "own-shape": own_shape,
    "explain": explain,
    "audit": audit,
    "baseline": baseline,
}


def main() -> None:
    """Make the named pictures, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    parser.add_argument("--work", type=Path, default=Path("runs/pictures"))
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for name in given.names or PICTURES:
        PICTURES[name](given.work)


if __name__ == "__main__":
    main()
