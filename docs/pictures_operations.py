"""The pictures of the how-tos ci, farm, gpu, repair, digits, export and bank, made again from real runs.

python docs/pictures_operations.py             # all
python docs/pictures_operations.py gpu export  # these

Needs Chromium, the extra farm, and for `repair` the files of Fashion-MNIST in TREX_DIGITS. Runs are kept in --work
(runs/pictures): a second call reads or resumes them.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image, ImageDraw
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from trex.worlds.costs import CPU_S

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
CARD = DOCS.parent / "reproduce" / "measured" / "gpu_h100.jsonl"
MAX_BYTES = 150_000
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
)
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
BOXES = {"cube": "#ffb000", "sphere": "#00c2ff", "cylinder": "#ff4fa3"}


def run(work: Path, command: str, columns: int = 100) -> str:
    """What a command prints as its result; its progress goes to this terminal."""
    print(f"$ {command}", flush=True)
    environment = {**os.environ, "COLUMNS": str(columns), "TREX_BANK": str(work.resolve() / "banks")}
    done = subprocess.run(
        shlex.split(command), cwd=work, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def terminal(name: str, pairs: list[tuple[str, str]], columns: int = 100) -> None:
    """A picture of commands and what they printed."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for command, printed in pairs:
        console.print(Text(f"$ {command}", style="bold"))
        console.print(Text.from_ansi(printed.rstrip()), soft_wrap=False)
    svg = console.export_svg(title="", theme=PALE, code_format=SVG, unique_id=name)
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


def shot(address: str, width: int, height: int) -> Image.Image:
    """A page in Chromium, from its top."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shot.png"
        words = [shutil.which("chromium") or "chromium", *FLAGS, f"--user-data-dir={folder}/profile"]
        words += [f"--screenshot={file}", f"--window-size={width},{height}", address]
        subprocess.run(words, check=True, capture_output=True, timeout=120)
        with Image.open(file) as picture:
            return picture.convert("RGB")


def save(name: str, picture: Image.Image) -> None:
    """PNG in true color, or if that is too large, as few colors as it takes."""
    for colors in (0, 256, 128, 64):
        buffer = io.BytesIO()
        (picture.quantize(colors) if colors else picture).save(buffer, "PNG", optimize=True)
        if buffer.tell() <= MAX_BYTES:
            break
    (IMAGES / f"{name}.png").write_bytes(buffer.getvalue())
    print(
        f"{name}.png: {buffer.tell():,} bytes, {f'{colors} colors' if colors else 'true color'}", flush=True
    )


def demo(work: Path) -> Path:
    """The run of the demo."""
    if not (work / "runs" / "demo" / "report.html").exists():
        run(work, "trex find demo --out runs/demo")
    return work / "runs" / "demo"


def ci(work: Path) -> None:
    """`trex suite run`: the failures of the demo, asked again."""
    demo(work)
    if not (work / "failures").exists():
        run(work, "trex suite add runs/demo --to failures")
    command = "trex suite run failures --model shipped"
    printed = run(work, f"{command} --no-record")
    terminal("ci", [(command, re.sub(r"([0-9a-f]{6})[0-9a-f]{26}/", r"\1…/", printed))], 118)


def farm(work: Path) -> None:
    """The queue's page, while a sweep over ten digits is under way."""
    place = work / "farm"
    place.mkdir(exist_ok=True)
    run(place, "trex queue add mnist_sure_of_7 --sweep answer=0..9 --set search.steps=100")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    served = subprocess.Popen(["trex", "queue", "serve", "--port", str(port)], cwd=place)
    worked = subprocess.Popen(["trex", "queue", "run", "--until-empty"], cwd=place)
    try:
        while rendered(place) < 50 or states(place).count("done") < 3:
            time.sleep(1)
            if worked.poll() is not None:
                raise RuntimeError(f"the queue is empty; delete {place} to begin it again")
        address = f"http://127.0.0.1:{port}/"
        urllib.request.urlopen(address).close()
        save("farm", shot(address, 1260, 840))
    finally:
        for process in (worked, served):
            process.terminate()
            process.wait()


def rendered(place: Path) -> int:
    """How many pictures the workers of a farm have rendered since they started."""
    farms = (place / "runs" / ".farm").glob("*.json")
    return sum(worker["renders"] for farm in farms for worker in json.loads(farm.read_text())["workers"])


def states(place: Path) -> list[str]:
    """The states of all entries of a queue."""
    return [str(each["state"]) for each in json.loads(run(place, "trex queue list --json"))]


def gpu(work: Path) -> None:
    """Pictures a second of a core and of an H100, as they were measured."""
    figures = {item["name"]: item["value"] for item in map(json.loads, CARD.read_text().splitlines())}
    names = ["sketch", "fast", "coarse", "sharp", "reference", "clevr"]
    bars = {
        "one CPU core": [1 / CPU_S[name] for name in names],
        "H100, one process": [figures[f"gpu.cuda.per_s.{name}.1"] for name in names],
        "H100, eight processes": [figures[f"gpu.cuda.per_s.{name}.8"] for name in names],
    }
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "trex", "font.family": "sans-serif"}):
        figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
        for place, ((label, values), color) in enumerate(
            zip(bars.items(), ("#9aa5b1", "#4c9f70", "#1b6b43"), strict=True)
        ):
            at = [index + 0.27 * (place - 1) for index in range(len(names))]
            drawn = axes.bar(at, values, 0.25, label=label, color=color)
            axes.bar_label(drawn, [f"{value:.2g}" for value in values], padding=2, fontsize=8)
        axes.set_yscale("log")
        axes.set_ylim(0.004, 300)
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("pictures a second")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, ncols=3, loc="upper right", fontsize=9)
        figure.savefig(IMAGES / "gpu.svg", metadata={"Date": None})
        plt.close(figure)


REPAIR = (
    "identify.noise=printed", "identify.seeds=1000", "identify.held_out=300", "identify.validation=1000",
    "identify.compared=100", "distill.components=40", "correct.seeds=1", "correct.lambdas=[0.0,0.1]",
)  # fmt: skip


def repair(work: Path) -> None:
    """The scenarios of a repair of garments, smaller than the shipped one."""
    folder = "runs/repair/fashion"
    if not (work / folder / "report.html").exists():
        run(work, f"trex repair identify fashion {' '.join(f'--set {each}' for each in REPAIR)}")
        steps = ("distill {}", "label {} --voters committee", "correct {}", "report {}")
        for words in steps:
            run(work, f"trex repair {words.format(folder)}")
    page = shot((work / folder / "report.html").resolve().as_uri(), 1000, 4200)
    save("repair", page.crop((0, 2645, 1000, 3280)))


def digits(work: Path) -> None:
    """The gallery of a search for digits between 1 and 7."""
    if not (work / "runs" / "1-or-7" / "report.html").exists():
        run(work, "trex find mnist_1_or_7 --out runs/1-or-7")
    page = shot((work / "runs" / "1-or-7" / "report.html").resolve().as_uri(), 1000, 1500)
    save("digits", page.crop((0, 755, 1000, 1290)))


def export(work: Path) -> None:
    """A found scene with the boxes of its COCO export."""
    out = demo(work) / "export-coco"
    if not out.exists():
        run(work, "trex export runs/demo --format coco")
    coco = json.loads((out / "annotations.json").read_text(encoding="utf-8"))
    first = coco["images"][0]
    kinds = {kind["id"]: kind["name"] for kind in coco["categories"]}
    with Image.open(out / "images" / first["file_name"]) as opened:
        scale = 720 // opened.width
        picture = opened.convert("RGB").resize(
            (opened.width * scale, opened.height * scale), Image.Resampling.LANCZOS
        )
    pen = ImageDraw.Draw(picture)
    for item in (each for each in coco["annotations"] if each["image_id"] == first["id"]):
        left, top, width, height = (scale * value for value in item["bbox"])
        color = BOXES[kinds[item["category_id"]]]
        pen.rectangle((left, top, left + width, top + height), outline=color, width=2)
        words = f"{item['attributes']['color']} {kinds[item['category_id']]}"
        pen.rectangle((left, top - 16, left + 1 + pen.textlength(words, font_size=12) + 6, top), fill=color)
        pen.text((left + 4, top - 15), words, fill="black", font_size=12)
    save("export", picture)


def bank(work: Path) -> None:
    """`trex cache banks` after two banks were rendered."""
    pairs = []
    for command in (
        "trex render bank clevr --scenes 30 --preset fast",
        "trex render bank demo --scenes 1500 --spread 150 --preset fast",
        "trex cache banks",
    ):
        pairs.append((command, run(work, command)))
    printed = pairs[-1][1].replace(str(work.resolve() / "banks"), "~/.cache/bayes-trex/banks")
    terminal("bank", [(pairs[-1][0], printed)], 118)


PICTURES: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (ci, farm, gpu, repair, digits, export, bank)
}


def main() -> None:
    """Make the pictures that are named, or all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES])
    parser.add_argument("--work", type=Path, default=Path("runs/pictures"))
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for name in given.names or PICTURES:
        PICTURES[name](given.work)


if __name__ == "__main__":
    main()
