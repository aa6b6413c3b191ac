"""Whatever is killed, stopped or out of disk on real Blender: the same command goes on to the same bytes.

`python -m benchmarks.kills [SEED [KILLS]]` disturbs `trex find`, `resume`, `explain`, `confirm` and
`baseline` at random moments, at least 71 times with SIGKILL, and compares every draw, picture, finding, explanation,
confirmation and baseline with those of an undisturbed run. It prints one JSON object, and ends with 1 if any byte
differs. The moments depend on the seed and on how busy the machine is.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.figure import note
from benchmarks.killing import STOPPED, STOPS, at_a_moment, bytes_below, fill, finish, start, strike
from trex.runs.folder import FINDINGS

QUERY = """
question = "How many cubes are there?"
answer = "0"
[scene]
objects = 3
revoke = ["cube"]
[target]
kind = "threshold"
threshold = 0.5
[render]
preset = "draft"
device = "cpu"
processes = 1
[search]
prior_scenes = 8
chains = 2
steps = 8
further = 0
"""
CHANGING = ("lock", "sessions.jsonl", "run.json")  # hold times, paths or versions, no result
SEED, LEAST = 12, 71  # kills
FULL = "full disk"
HEAVY = (  # imported once, not by each of the forks
    "trex.trials.baseline.run",
    "trex.clevr_models.catalog",
    "trex.commands.query",
    "trex.trials.confirm",
    "trex.explain.explain_run",
    "trex.render.blender.blender_renderer",
)
KINDS = (*["kill"] * 6, *["double kill"] * 2, "Blender", "Blender", "SIGTERM", "SIGINT")


@dataclass(frozen=True)
class Task:
    """A command that writes to `place`; `base`, if any, is a finished run that lies there first."""

    name: str
    words: Callable[[Path, random.Random], list[str]]
    base: Path | None = None

    def prepare(self, place: Path) -> None:
        """The place as it is before the command."""
        shutil.rmtree(place, ignore_errors=True)
        if self.base is not None:
            shutil.copytree(self.base, place)


@dataclass(frozen=True)
class Bench:
    """The folder that all is done in, the source of random moments, and what has happened so far."""

    folder: Path
    rng: random.Random
    done: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        """What the commands say."""
        return self.folder / "log"

    @property
    def kills(self) -> int:
        """Processes that were ended by SIGKILL."""
        return sum(count for name, count in self.done.items() if name not in (*STOPS, FULL))

    def begin(self, task: Task, place: Path) -> int:
        """A process that begins the task, or goes on with it."""
        return start(task.words(place, self.rng), self.log)

    def check(self, holds: bool, problem: str) -> None:
        """Keep the problem if this does not hold."""
        if not holds:
            text = self.log.read_text(encoding="utf-8", errors="replace")[-300:].replace("\n", " | ")
            self.problems.append(f"{problem}; it said: {text}")
            note(f"PROBLEM: {self.problems[-1]}")

    def compare(self, task: Task, place: Path, wanted: Mapping[str, bytes]) -> None:
        """Whether every result is that of the undisturbed command."""
        found = results(place)
        names = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
        self.check(not names, f"{task.name}: {len(names)} files differ: {', '.join(names[:5])}")
        self.trials[task.name] += 1


def results(place: Path) -> dict[str, bytes]:
    """Every result below a folder: all files but pages and what holds times."""
    return {
        str(path.relative_to(place)): content(place, path)
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name not in CHANGING and path.suffix != ".html"
    }


def content(place: Path, path: Path) -> bytes:
    """What a file below a folder says, wherever the folder is: the commands that findings advise name it."""
    if path.name == FINDINGS:
        return path.read_bytes().replace(str(place).encode(), b"RUN")
    return drawn(path) if path.parent.name == "drawn" else path.read_bytes()


def drawn(path: Path) -> bytes:
    """The whole lines of a log that several programs may append to: each ends a line that a kill may have cut."""
    whole = []
    for line in path.read_bytes().split(b"\n"):
        with suppress(ValueError, IndexError):
            json.loads(line.split(b" ", 2)[2])
            whole.append(line)
    return b"\n".join(whole)


def tasks(folder: Path, found: Path) -> list[Task]:
    """The commands; two of them are of the run at `found`."""
    query = str(folder / "query.toml")
    harder = ("--set", 'answer="3"', "--set", "search.seed=1", "--set", "target.threshold=0.9")

    def search(*settings: str) -> Callable[[Path, random.Random], list[str]]:
        def words(place: Path, rng: random.Random) -> list[str]:
            if (place / "run.json").exists() and rng.random() < 0.5:
                return ["resume", str(place)]
            return ["find", query, "--out", str(place), *settings]

        return words

    def of_the_run(command: str, *options: str) -> Callable[[Path, random.Random], list[str]]:
        return lambda place, _: [command, str(place), *options]

    few = ("--top", "5", "--nuisances", "1", "--no-edits", "--flip-depth", "0", "--no-saliency")
    return [
        Task("find", search()),
        Task("explain", of_the_run("explain", *few), found),
        Task("find with control", search(*harder)),
        Task("confirm", of_the_run("report", "--top", "6", "--confirm", "fast"), found),
        Task("baseline", _baseline(query)),
    ]


def _baseline(query: str) -> Callable[[Path, random.Random], list[str]]:
    words = ["baseline", query, "--rendered", "32"]
    return lambda place, _: [*words, "--cache", str(place / "cache"), "--out", str(place / "out")]


def undisturbed(bench: Bench, task: Task, place: Path) -> tuple[dict[str, bytes], int]:
    """The results of the command alone, and by how many bytes the place has grown."""
    task.prepare(place)
    before = bytes_below(place)
    code = finish(bench.begin(task, place))
    bench.check(code == 0, f"{task.name}: exit code {code} when nothing disturbed it")
    return results(place), bytes_below(place) - before


def trial(bench: Bench, task: Task, wanted: Mapping[str, bytes], growth: int) -> None:
    """Strike a command again and again, going on with it each time, then let it end and compare."""
    place = bench.folder / "run"
    task.prepare(place)
    pid = bench.begin(task, place)
    for kind in bench.rng.sample(KINDS, len(KINDS)):
        if not at_a_moment(pid, place, growth // 3, bench.rng):
            break
        hit = strike(kind, pid, bench.rng)
        if kind != "Blender":
            code = finish(pid)
            good = (STOPPED, -signal.SIGTERM, 0) if kind in STOPS else (-signal.SIGKILL, 0)
            bench.check(code in good, f"{task.name}: exit code {code} after {kind}")
            pid = bench.begin(task, place)
            if code == 0:
                break  # it was just through
        bench.done.update(hit)
    code = finish(pid)
    bench.check(code == 0, f"{task.name}: exit code {code} at the end")
    bench.compare(task, place, wanted)


def full_disk(bench: Bench, task: Task, wanted: Mapping[str, bytes], growth: int) -> None:
    """Fill the disk of a command at a random moment, free it, go on, compare."""
    disk = bench.folder / "disk"
    disk.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        note("no file system can be mounted here: the full disk is left out")
        return
    try:
        place, filler = disk / "run", disk / "filler"
        task.prepare(place)
        pid = bench.begin(task, place)
        at_a_moment(pid, place, growth // 2, bench.rng)
        fill(filler)
        code = finish(pid)
        bench.done[FULL] += code != 0
        bench.check(code in (0, 2), f"{task.name}: exit code {code} on a full disk")
        filler.unlink()
        code = finish(bench.begin(task, place))
        bench.check(code == 0, f"{task.name}: exit code {code} after a full disk")
        bench.compare(task, place, wanted)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def main(seed: int, least: int) -> int:
    """Trials of all commands in turn until so many processes were killed; 0 if nothing differs."""
    with tempfile.TemporaryDirectory(prefix="trex-kills-") as name:
        folder = Path(name)
        (folder / "query.toml").write_text(QUERY, encoding="utf-8")
        (folder / "tmp").mkdir()
        os.environ["TMPDIR"] = str(folder / "tmp")
        for module in HEAVY:
            importlib.import_module(module)
        bench = Bench(folder, random.Random(seed))
        every = tasks(folder, folder / "found")
        whole = {}
        for task in every:
            whole[task.name] = undisturbed(bench, task, folder / "run")
            note(f"{task.name}: {len(whole[task.name][0])} files of results when nothing disturbs it")
            if task.name == "find":
                shutil.copytree(folder / "run", folder / "found")
        for number, task in enumerate(itertools.cycle(every)):
            if number >= len(every) and bench.kills >= least:
                break
            trial(bench, task, *whole[task.name])
            note(f"{bench.kills} kills, {len(bench.problems)} problems, after {task.name}")
        for task in every:
            full_disk(bench, task, *whole[task.name])
        left = len(list((folder / "tmp").iterdir()))
        print(json.dumps(_summary(bench, seed) | {"left_in_tmp": left}), flush=True)
    return 1 if bench.problems else 0


def _summary(bench: Bench, seed: int) -> dict[str, object]:
    return {
        "name": "kills",
        "seed": seed,
        "kills": bench.kills,
        "struck": dict(sorted(bench.done.items())),
        "compared": dict(sorted(bench.trials.items())),
        "problems": bench.problems,
    }


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*given, *(SEED, LEAST)[len(given) :]))
