"""Pictures of pages that trex writes or serves. Each works in this folder and gives a screenshot."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import chdir
from pathlib import Path

from PIL import Image

from benchmarks.documents.tools import run, shot, write_files

REPAIR = (
    "identify.noise=printed", "identify.seeds=1000", "identify.held_out=300", "identify.validation=1000",
    "identify.compared=100", "distill.components=40", "correct.seeds=1", "correct.lambdas=[0.0,0.1]",
)  # fmt: skip


def demo() -> Path:
    """The run of the demo."""
    run("trex find demo --out runs/demo")
    return Path("runs/demo")


def report() -> Image.Image:
    """The first screen of the demo's report."""
    return shot(demo() / "report.html", (0, 0, 1200, 1460))


def explain() -> Image.Image:
    """The first scene of the demo, explained."""
    page = demo() / "report.html"
    run("trex explain runs/demo --top 2")
    return shot(page, "#scene-1", 0.6)


def baseline() -> Image.Image:
    """The page of the how-to's baseline, beside the demo."""
    demo()
    run("trex baseline demo --rendered 300 --beside runs/demo --out runs/baseline-demo")
    return shot(Path("runs/baseline-demo/baseline.html"), (0, 0, 1200, 1225), 0.6)


def audit() -> Image.Image:
    """The page of the how-to's small audit."""
    sizes = "--scenes 250 --held-out 250 --sure 0.7 --tested 5 --probed 0"
    run(f"trex audit shipped {sizes} --out runs/audit-small")
    return shot(Path("runs/audit-small/report.html"), (0, 0, 1200, 1000), 0.6)


def own_model() -> Image.Image:
    """The report of the how-to's own search."""
    write_files("own-model")
    run("trex find red.toml --model mymodel:factory --out runs/red")
    return shot(Path("runs/red/report.html"), (0, 0, 1200, 1000), 0.6)


def own_shape() -> Image.Image:
    """The report of the how-to's search with pyramids."""
    write_files("own-shape")
    run("trex find pyramids.toml --out runs/pyramids")
    return shot(Path("runs/pyramids/report.html"), (0, 0, 1200, 1000), 0.6)


def digits() -> Image.Image:
    """The gallery of a search for digits between 1 and 7."""
    run("trex find mnist_1_or_7 --out runs/1-or-7")
    return shot(Path("runs/1-or-7/report.html"), (0, 755, 1000, 535), width=1000)


def repair() -> Image.Image:
    """The scenarios of a repair of garments, smaller than the shipped one."""
    folder = "runs/repair/fashion"
    page = Path(folder, "report.html")
    if not page.exists():
        run(f"trex repair identify fashion {' '.join(f'--set {each}' for each in REPAIR)}")
        for words in ("distill {}", "label {} --voters committee", "correct {}", "report {}"):
            run(f"trex repair {words.format(folder)}")
    return shot(page, (0, 2645, 1000, 635), width=1000)


def farm() -> Image.Image:
    """The queue's page, while a sweep over ten digits is under way."""
    place = Path("farm")
    place.mkdir(exist_ok=True)
    with chdir(place):
        run("trex queue add mnist_sure_of_7 --sweep answer=0..9 --set search.steps=100")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        served = subprocess.Popen(["trex", "queue", "serve", "--port", str(port)])
        worked = subprocess.Popen(["trex", "queue", "run", "--until-empty"])
        try:
            while _rendered() < 50 or _states().count("done") < 3:
                time.sleep(1)
                if worked.poll() is not None:
                    raise RuntimeError(f"the queue is empty; delete {Path().resolve()} to begin it again")
            return shot(f"http://127.0.0.1:{port}/", (0, 0, 1260, 840), width=1260)
        finally:
            for process in (worked, served):
                process.terminate()
                process.wait()


def _rendered() -> int:
    """How many pictures the workers of a farm have rendered since they started."""
    farms = Path("runs/.farm").glob("*.json")
    return sum(worker["renders"] for each in farms for worker in json.loads(each.read_text())["workers"])


def _states() -> list[str]:
    """The states of all entries of a queue."""
    return [str(each["state"]) for each in json.loads(run("trex queue list --json").stdout)]
