"""Stores a baseline in a run's folder, so that the run's report shows it."""

from __future__ import annotations

from pathlib import Path

from trex.baseline.baseline import Baseline
from trex.baseline.json_file import FILE, read_baselines, to_json
from trex.foundation.errors import InputError
from trex.runs.folder import RunFolder


def kept_baselines(folder: RunFolder) -> tuple[Baseline, ...]:
    """The baselines stored in a run's folder; InputError if their file is damaged."""
    path = folder.path / FILE
    return read_baselines(path) if path.exists() else ()


def keep_baseline(folder: RunFolder, place: Path) -> None:
    """Store the baselines of the same query at `place` in a run's folder; one of the same source is replaced."""
    given = read_baselines(place)
    fitting = [one for one in given if not one.differences(folder.manifest)]
    if not fitting:
        nearest = min(
            (one.differences(folder.manifest) for one in given), key=len, default=("it holds none",)
        )
        raise InputError(
            f"baseline {place} cannot stand beside {folder.path}: {'; '.join(nearest)}; make one for the run's query: "
            "trex baseline QUERY"
        )
    sources = {one.source for one in fitting}
    others = [one for one in kept_baselines(folder) if one.source not in sources]
    folder.write(FILE, to_json([*others, *fitting], ()))
