"""Runs compared with a baseline: what a search found for the same query, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trex.baseline.baseline import Baseline, ComparedRun, compared_run
from trex.foundation.errors import InputError
from trex.runs.draw_log import check_begun, read_draws
from trex.runs.folder import open_run
from trex.search.results import read_results


def attach_runs(asked: Sequence[Baseline], runs: Sequence[Path]) -> list[Baseline]:
    """Add each run to the baselines of the queries that it fits; InputError if it fits none."""
    rows = [_row(path, asked) for path in dict.fromkeys(runs)]
    return [replace(one, beside=tuple(row for fits, row in rows if k in fits)) for k, one in enumerate(asked)]


def _row(path: Path, asked: Sequence[Baseline]) -> tuple[list[int], ComparedRun]:
    """The indices of the queries that a run fits, and its figures."""
    with open_run(path, for_writing=False) as folder:
        records, manifest = read_draws(folder.draws, folder.manifest), folder.manifest
    fits = [k for k, one in enumerate(asked) if not one.differences(manifest)]
    if not fits:
        nearest = min((one.differences(manifest) for one in asked), key=len)
        why = "; ".join(nearest)
        raise InputError(f"run {path} cannot stand beside this baseline: {why}; give a run of the same query")
    check_begun(path, records)
    return fits, compared_run(
        path.resolve().name, manifest, read_results(manifest, records), asked[fits[0]].answers
    )
