"""Baselines and runs of the same query: runs compared with a baseline, and baselines stored with a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trex.foundation.errors import InputError
from trex.runs.draw_log import check_begun, read_draws
from trex.runs.folder import RunFolder, open_run
from trex.runs.manifest import Manifest
from trex.search.hit import Hit, count_known
from trex.search.results import read_results
from trex.trials.baseline.baseline import Baseline, ComparedRun, is_mistake
from trex.trials.baseline.files import FILE, read_baselines, to_json


def attach_runs(baselines: Sequence[Baseline], runs: Sequence[Path]) -> list[Baseline]:
    """Add each run to the baselines of its query; InputError if there are none of its query."""
    rows = [_compared(path, baselines) for path in dict.fromkeys(runs)]
    return [
        replace(baseline, beside=tuple(row for fitting, row in rows if baseline in fitting))
        for baseline in baselines
    ]


def stored_baselines(folder: RunFolder) -> tuple[Baseline, ...]:
    """The baselines stored in a run's folder; InputError if their file is damaged."""
    path = folder.path / FILE
    return read_baselines(path) if path.exists() else ()


def store_baseline(folder: RunFolder, place: Path) -> None:
    """Store the baselines of the run's query at `place` in its folder; one of the same source is replaced."""
    new = _fitting(
        read_baselines(place), folder.manifest, f"baseline {place} is not of the query of {folder.path}"
    )
    sources = {baseline.source for baseline in new}
    others = [baseline for baseline in stored_baselines(folder) if baseline.source not in sources]
    folder.write(FILE, to_json([*others, *new], ()))


def _compared(path: Path, baselines: Sequence[Baseline]) -> tuple[list[Baseline], ComparedRun]:
    """The baselines of a run's query, and the run's figures."""
    with open_run(path, for_writing=False) as folder:
        records, manifest = read_draws(folder.draws, folder.manifest), folder.manifest
    fitting = _fitting(baselines, manifest, f"run {path} is not of the query of this baseline")
    check_begun(path, records)
    results = read_results(manifest, records)
    wrong = count_known(_is_mistake(hit, fitting[0].answers) for hit in results.found)
    name = path.resolve().name
    return fitting, ComparedRun(name, results.ending, len(results.found), wrong, results.renders)


def _is_mistake(hit: Hit, named: Sequence[str]) -> bool | None:
    """Whether a found scene or picture is a true mistake; None if that is unknown."""
    return hit.is_wrong if hit.truth is None else is_mistake(hit.truth, hit.answer, named)


def _fitting(baselines: Sequence[Baseline], manifest: Manifest, fault: str) -> list[Baseline]:
    """The baselines of a run's query; InputError if there are none, with the differences to the nearest."""
    fitting = [baseline for baseline in baselines if not baseline.differences(manifest)]
    if not fitting:
        differences = min(
            (baseline.differences(manifest) for baseline in baselines), key=len, default=("it holds none",)
        )
        raise InputError(f"{fault}: {'; '.join(differences)}; give a run and a baseline of the same query")
    return fitting
