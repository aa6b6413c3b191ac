"""A run as a tracker receives it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from trex.foundation.json_fields import Json
from trex.runs.folder import FINDINGS, MANIFEST, QUERY, REPORT
from trex.runs.manifest import Manifest
from trex.search.results import Results
from trex.tracking.tracker import RunLog

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
    """The confidence of each chain at each of its steps."""
    steps: dict[int, dict[str, float]] = defaultdict(dict)
    for draw in results.chains:
        steps[draw.index][f"confidence.chain_{draw.chain}"] = manifest.target.confidence(
            draw.evaluation.log_probs
        )
    return sorted(steps.items())
