"""What a search finds for the same price: today's search, that of before, the block kernel, and the published walk.

    python -m benchmarks.efficiency queries/one_cube_without_cubes.toml --out runs/efficiency --cpu 300 --seeds 5 \
        --set render.preset=fast

Each search is a process that is interrupted once it and its children have used `--cpu` seconds of processor time:
pictures, cheap ones, fits, the model and the proposals all count, and no step counts as warmup. `now` is today's
search; `before` the same without the analytic look; `block` has the block kernel and no bank; `published` takes the
paper's random walk on the same pictures. None shares its bank with another search.

Prints one JSON line a search, then the medians over the seeds: distinct scenes that survive fresh noise, and effective
scenes by the summary that mixes worst and by the median summary; then how many times as much `now` gives as each of
the others. The effective size is that of the chains or of the prior scenes, whichever is larger. Chains that are stuck,
each with its own value of a summary, have none; in place of it each chain of the others that hits counts as one scene,
so that the ratio is a lower bound. Runs below `--out` are not searched again, and interrupted ones go on. With
`--record FILE` the lines are added to a file, and what it has is neither searched again: so a table can grow over days.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.figure import note, show, show_spread
from benchmarks.killing import children_of
from trex.finding.source import query_file
from trex.inference.statistics.diagnostics import by_chain
from trex.runs.draw_log import run_draws
from trex.runs.folder import is_run, open_run
from trex.search.results import Results, read_results
from trex.worlds.looks import LADDERS_BEFORE

QUERIES = tuple(
    Path("queries", f"{name}.toml")
    for name in ("one_cube_without_cubes", "one_cylinder_without_cylinders", "five_spheres")
)
CPU_S = 1200.0
SEEDS = 5
NOW = "now"
SEARCHES = (NOW, "before", "block", "published")
ENDLESS = ("search.spread=0", "search.stop_when_found=0", "search.steps=100000", "search.control=false")
CHECK_S = 0.5  # between two looks at the processor time
Figures = dict[str, object]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all searches and print their figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="*", type=Path, default=QUERIES)
    parser.add_argument("--out", type=Path, default=Path("runs/efficiency"))
    parser.add_argument("--cpu", type=float, default=CPU_S)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--search", action="append", choices=SEARCHES)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--record", type=Path, help="a file of lines; those that it has are not made again")
    chosen = parser.parse_args(arguments)
    # Started by a shell's `&` it would ignore Ctrl-C, and so would its searches.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for path in chosen.queries:
        rows: dict[str, list[Figures]] = {}
        for seed in range(chosen.seeds):
            for name in chosen.search or SEARCHES:
                row = _known_or_made(chosen, path, seed, name)
                print(json.dumps(row), flush=True)
                rows.setdefault(name, []).append(row)
        show_medians(path.stem, rows)


def _known_or_made(chosen: argparse.Namespace, path: Path, seed: int, name: str) -> Figures:
    """The figures of one search: from the record if it has them, else of a search that is made now."""
    query = query_file(path, chosen.overrides).plan().query
    key: Figures = {
        "query": path.stem, "model": query.model.name, "look": query.render.preset, "budget_s": chosen.cpu,
        "seed": seed, "search": name,
    }  # fmt: skip
    lines = chosen.record.read_text().splitlines() if chosen.record and chosen.record.is_file() else []
    for row in map(json.loads, lines):
        if all(row.get(part) == value for part, value in key.items()):
            return dict(row)
    place = chosen.out / f"{path.stem}-{name}-{seed}"
    overrides = [*chosen.overrides, *ENDLESS, f"search.seed={seed}"]
    spent = search(path, [*overrides, *settings(path, overrides, name)], place, chosen.cpu)
    made = {**key, "cpu_s": round(spent, 1), **figures_at(place, is_rival=name != NOW)}
    if chosen.record:
        with chosen.record.open("a") as log:
            log.write(json.dumps(made) + "\n")
    return made


def efficiency(seeds: int = SEEDS) -> None:
    """The part of `make bench`: three queries and all searches; hours, resumed where it was cut."""
    main([*map(str, QUERIES), "--seeds", str(seeds)])


def settings(path: Path, overrides: Sequence[str], name: str) -> list[str]:
    """What a search sets in the query."""
    if name == "before":
        preset = query_file(path, overrides).plan().query.render.preset
        return [f"render.looks={json.dumps(LADDERS_BEFORE.get(preset, ()))}"]
    return {
        NOW: [],
        "block": ["search.bank=0", "search.kernel=block"],
        "published": ["search.bank=0", "search.kernel=random_walk", "search.further=0"],
    }[name]


def show_medians(query: str, rows: dict[str, list[Figures]]) -> None:
    """The medians over the seeds, and how many times as much today's search gives as each of the others."""
    measures = ("distinct", "worst_effective", "median_effective")
    medians = {
        (name, measure): show_spread(
            f"efficiency.{query}.{name}.{measure}", [float(str(row[measure])) for row in found], "scenes"
        )
        for name, found in rows.items()
        for measure in measures
    }
    for name in rows:
        for measure in measures:
            other = medians[name, measure]
            if name != NOW and NOW in rows and other > 0:
                ratio = medians[NOW, measure] / other
                show(f"efficiency.{query}.now_over_{name}.{measure}", ratio, "times at an equal price")


def search(path: Path, overrides: Sequence[str], place: Path, cpu_s: float) -> float:
    """Search until the processes have used so much processor time in all, or the search ends; the seconds used."""
    price = place.with_name(f"{place.name}.cpu.json")
    spent = float(json.loads(price.read_text())) if price.is_file() else 0.0
    if spent >= cpu_s or (place / "finished").exists():
        return spent
    words = ["resume", str(place)] if is_run(place) else ["find", str(path), "--out", str(place)]
    if words[0] == "find":
        words += [word for each in overrides for word in ("--set", each)] + ["--no-explain", "--no-large"]
    banks = place.with_name(f"{place.name}.banks")
    note(f"{place.name}: {cpu_s - spent:.0f} CPU seconds")
    place.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "trex", *words],
        env=os.environ | {"TREX_BANK": str(banks.absolute()), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )
    now = until(lambda: used_s(process.pid), process, cpu_s - spent)
    price.write_text(json.dumps(spent + now))
    if process.returncode not in (0, 130):
        sys.exit(f"{place.name} ended with exit code {process.returncode}")
    shutil.rmtree(banks, ignore_errors=True)
    return spent + now


def until(used: Callable[[], float], process: subprocess.Popen[bytes], cpu_s: float) -> float:
    """Wait for a process, and interrupt it once it has used so much; what it had used at the last look."""
    seconds = 0.0
    while process.poll() is None:
        seconds = max(seconds, used())
        if seconds >= cpu_s:
            process.send_signal(signal.SIGINT)
            process.wait()
        else:
            time.sleep(CHECK_S)
    return seconds


def used_s(pid: int) -> float:
    """The processor time of a process and its descendants, ended ones too, in seconds (proc(5), stat 14 to 17)."""
    ticks, left = 0, [pid]
    while left:
        each = left.pop()
        with suppress(OSError, IndexError):
            stat = Path(f"/proc/{each}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += sum(map(int, stat[11:15]))
        left += children_of(each)
    return ticks / os.sysconf("SC_CLK_TCK")


def figures_at(place: Path, *, is_rival: bool) -> Figures:
    """The figures of a search, none of whose steps are warmup."""
    with open_run(place, for_writing=False) as folder:
        query = folder.manifest.query
        unwarmed = query.model_copy(update={"search": query.search.model_copy(update={"warmup": 0})})
        manifest = folder.manifest.model_copy(update={"query": unwarmed})
        return figures_of(read_results(manifest, run_draws(folder)), is_rival)


def figures_of(results: Results, is_rival: bool) -> Figures:
    """What the results amount to; of a rival whose chains are stuck, each that hits counts as one effective scene."""
    sizes = [diagnosis.ess for diagnosis in results.conclusion.diagnoses if diagnosis.is_informative]
    hits = results.conclusion.n_chains_hit
    prior = results.how_often.ess if results.how_often.hits else 0.0

    def effective(choose: Callable[[Iterable[float]], float]) -> float:
        size = choose(sizes) if hits and sizes and all(map(math.isfinite, sizes)) else 0.0
        return max(prior, size or (float(hits) if is_rival else 0.0))

    return {
        "distinct": len(results.found), "fragile": len(results.fragile), "families": results.families.count,
        "chains": len(by_chain(results.chains)), "chains_hit": hits,
        "worst_effective": round(effective(min), 2), "median_effective": round(effective(median), 2),
        "prior_ess": round(results.how_often.ess, 2), "renders": results.renders, "cheap": results.cheap,
        "rate": results.how_often.rate.figure,
    }  # fmt: skip


if __name__ == "__main__":
    main()
