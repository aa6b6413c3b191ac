"""A run as a tracker receives it, logged with its identifier there, so that a later time replaces the first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.files import write_atomic
from trex.foundation.json_fields import Json
from trex.foundation.words import quoted
from trex.runs.folder import FINDINGS, MANIFEST, QUERY, REPORT
from trex.runs.manifest import Manifest
from trex.search.results import Results
from trex.tracking.tracker import RunLog, Tracker

FILE = "tracking.json"  # in the run folder: {tracker: identifier}
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
IDENTIFIERS = Codec(dict[str, Identifier])


def log_run(folder: Path, what: RunLog, tracker: Tracker) -> str:
    """Send a run to a tracker and return its identifier there; RunError if the tracker or the disk refuses."""
    known = IDENTIFIERS.read(folder / FILE, "delete it to log the run again") or {}
    try:
        identifier = tracker.send(what, known.get(tracker.name, ""))
    except Exception as error:  # trackers raise what their libraries raise
        raise RunError(
            f"{tracker.name} did not take the run: {type(error).__name__}: {str(error)[:500]}; its draws and its page "
            f"are complete. To log it: trex report {quoted(folder)} --log {tracker.name}"
        ) from error
    text = IDENTIFIERS.text(known | {tracker.name: identifier})
    write_atomic(folder / FILE, text.encode(), is_precious=False)
    return identifier


FILES = (REPORT, FINDINGS, QUERY, MANIFEST)


def run_log(folder: Path, manifest: Manifest, results: Results) -> RunLog:
    """The run in `folder` with its results; only files that exist are named."""
    parameters = dict(_flat("", manifest.query.model_dump(mode="json")))
    parameters |= {"model.as_loaded": manifest.facts.model, "renderer": manifest.made.renderer}
    parameters |= {f"version.{name}": version for name, version in manifest.versions.items()}
    files = [path for name in FILES if (path := folder / name).is_file()]
    return RunLog(folder.name, parameters, _figures(results), _series(manifest, results), files)


def _flat(prefix: str, data: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Nested settings as ("search.seed", "0"), without those that are not set."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        elif value is not None:
            yield f"{prefix}{key}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _figures(results: Results) -> dict[str, float]:
    """Figures at the end; those that do not exist are left out."""
    how = results.how_often
    low, high = how.rate_interval
    figures: Json = {
        "found": len(results.found),
        "fragile": len(results.fragile),
        "families": results.families.count,
        "rate": how.rate.point,
        "rate_low": low,
        "rate_high": high,
        "best_confidence": results.conclusion.best,
        "renders": results.renders,
        "cheap_renders": results.cheap,
        "accepted_share": results.accepted / results.proposals if results.proposals else None,
    }
    return {
        name: float(value)
        for name, value in figures.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }


def _series(manifest: Manifest, results: Results) -> list[tuple[int, dict[str, float]]]:
    steps: dict[int, dict[str, float]] = defaultdict(dict)
    target = manifest.target
    for draw in results.chains:
        steps[draw.index][f"confidence.chain_{draw.chain}"] = target.confidence(draw.state.log_probs)
    return sorted(steps.items())
