r"""Everything that still needs a graphics card, the most valuable first, resumable: any minutes are used.

    python -m benchmarks.on_card --out runs/card --minutes 25
    python -m benchmarks.on_card --out runs/dry --minutes 5 --device cpu --preset sketch --bank 120 --spread 20 \
        --steps 2

The second is a dry run without a card. First whether pictures repeat byte for byte and how many a second each look
gives (`benchmarks.gpu`); then the spread samples of the worlds of the paper's ten queries and, on them, the rates of
both models; then the searches that had few steps; then the audit of the Relation Network. Each part is a command of
its own: what is done is not done again, and when the minutes are over the commands under way are interrupted as by
Ctrl-C, to go on with the same command. `--parallel N` lets N searches draw and score beside the banks: a search keeps
one core busy and the card hardly. Prints one JSON line a part: its seconds, and its exit code.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from trex.foundation.errors import InputError

# The paper's ten queries, by the world whose bank they share.
WORLDS = {
    "one_cube_without_cubes": ("one_cube_without_cubes",),
    "one_cylinder_without_cylinders": ("one_cylinder_without_cylinders", "two_cylinders_without_cylinders"),
    "one_sphere_without_spheres": ("one_sphere_without_spheres",),
    "five_spheres": ("five_spheres", "two_blue_spheres"),
    "one_cube_with_cones": ("one_cube_with_cones", "five_cubes_with_cones"),
    "one_sphere_with_cones": ("one_sphere_with_cones",),
    "one_cylinder_with_cones": ("one_cylinder_with_cones",),
}
MODELS = ("shipped", "relation-network:original")
FEW_STEPS = (
    ("five_cubes_with_cones", MODELS[0]), ("five_cubes_with_cones", MODELS[1]),
    ("two_cylinders_without_cylinders", MODELS[1]), ("one_or_two_cubes", MODELS[0]), ("one_or_two_cubes", MODELS[1]),
)  # fmt: skip
PATIENCE_S = 60.0  # for a command that is interrupted to write what it has


class Part(NamedTuple):
    """A part of the work: its name, the words behind `python -m`, and whether others run beside it or wait for it."""

    name: str
    words: tuple[str, ...]
    is_beside: bool = False


def parts(
    out: Path,
    device: str,
    preset: str,
    *,
    bank: int,
    spread: int,
    steps: int,
    processes: int = 8,
    each: int = 8,
) -> Iterator[Part]:
    """All parts, the most valuable first; `steps` are those of a chain in the searches that had few.

    A bank is rendered by `processes`, the pictures of a search by `each`.
    """
    yield Part("gpu", ("benchmarks.run", "gpu"))
    n, m = str(bank), str(spread)
    look = (
        "--set",
        f"render.preset={preset}",
        "--set",
        f"render.device={device}",
        "--set",
        f"search.bank={n}",
        "--set",
        f"render.processes={each}",
    )
    for world, queries in WORLDS.items():
        where = ("--preset", preset, "--device", device, "--processes", str(processes))
        yield Part(f"bank-{world}", ("trex", "render", "bank", world, "--scenes", n, "--spread", m, *where))
        for query in queries:
            for model in MODELS:
                yield _found(f"rate-{query}", query, model, out, (*look, "--set", f"search.spread={m}"), 1)
    for query, model in FEW_STEPS:
        yield _found(f"steps-{query}", query, model, out, look, steps)
    audit = (
        "trex",
        "audit",
        MODELS[1],
        "--preset",
        preset,
        "--device",
        device,
        "--scenes",
        n,
        "--held-out",
        n,
    )
    yield Part("audit", (*audit, "--out", str(out / "audit")), is_beside=True)


def _found(name: str, query: str, model: str, out: Path, sets: Sequence[str], steps: int) -> Part:
    name = f"{name}-{model.partition(':')[0]}"
    words = ("trex", "find", query, "--model", model, "--out", str(out / name), "--no-explain", "--no-large")
    return Part(name, (*words, *sets, "--set", f"search.steps={steps}"), is_beside=True)


def work(
    todo: Sequence[Part],
    out: Path,
    minutes: float,
    parallel: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, object]]:
    """Do what is not done yet until the minutes are over; yields the name, seconds and exit code of each part.

    Of the parts that others may run beside, `parallel` do at a time; the next one that is not waits for none of them.
    """
    end = clock() + 60.0 * minutes
    (out / "done").mkdir(parents=True, exist_ok=True)

    def do(part: Part) -> dict[str, object] | None:
        mark, begun = out / "done" / part.name, clock()
        if mark.exists() or begun >= end:
            return None
        with (out / f"{part.name}.log").open("ab") as log:
            code = _run(part.words, log.fileno(), end - begun)
        if code == 0:
            mark.touch()
        return {"part": part.name, "seconds": round(clock() - begun, 1), "code": code}

    with ThreadPoolExecutor(parallel) as pool:
        beside = []
        for part in todo:
            if part.is_beside:
                beside.append(pool.submit(do, part))
            elif line := do(part):
                yield line
        yield from filter(None, (each.result() for each in as_completed(beside)))


def _run(words: Sequence[str], log: int, seconds: float) -> int:
    """The exit code of a command, which is interrupted after these seconds."""
    command = subprocess.Popen([sys.executable, "-m", *words], stdout=log, stderr=log)
    try:
        return command.wait(seconds)
    except subprocess.TimeoutExpired:
        command.send_signal(signal.SIGINT)
        try:
            return command.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            command.kill()
            return command.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Do all of it, or as much as the minutes allow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--device", default="optix")
    parser.add_argument("--preset", default="reference")
    parser.add_argument("--bank", type=int, default=5000)
    parser.add_argument("--spread", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=1)
    chosen = parser.parse_args(arguments)
    if chosen.spread > chosen.bank:
        raise InputError(f"--spread {chosen.spread} cannot be chosen from --bank {chosen.bank}")
    # Started by a shell's `&` it would ignore Ctrl-C, and so would its commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sizes = {"bank": chosen.bank, "spread": chosen.spread, "steps": chosen.steps}
    each = max(1, 8 // chosen.parallel)
    todo = list(parts(chosen.out, chosen.device, chosen.preset, **sizes, each=each))
    for line in work(todo, chosen.out, chosen.minutes, chosen.parallel):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
