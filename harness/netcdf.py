"""A run as ArviZ InferenceData: invariant summaries of every draw, and the scenes themselves, padded."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.findings import Findings, find_out
from harness.invariants import scene_summaries
from harness.manifest import Manifest
from harness.records import Record
from inference.diagnostics import by_chain
from inference.types import Draw
from scenes.errors import RunError
from scenes.scene import ATTRIBUTES, Scene

with warnings.catch_warnings():  # ArviZ announces its next version at every import
    warnings.simplefilter("ignore", FutureWarning)
    import arviz

NUMBERS = ("x", "y", "rotation")
Array = NDArray[np.float64] | NDArray[np.str_] | NDArray[np.bool_]


def write_netcdf(manifest: Manifest, records: Sequence[Record], path: Path) -> None:
    """Groups: posterior (chains after warmup), sample_stats, and prior (which has log_weight too)."""
    findings = find_out(manifest, records)
    chains = [chain for chain in by_chain(findings.chains) if chain]
    prior = [list(findings.prior)]
    slots = {name: ["object"] for name in (*NUMBERS, *ATTRIBUTES)}
    data = arviz.from_dict(
        posterior=_variables(manifest, chains) if chains else None,
        sample_stats=_stats(chains) if chains else None,
        prior=_variables(manifest, prior) | _stats(prior),
        dims={**slots, "log_probs": ["answer"]},
        coords={"answer": list(manifest.facts.labels)},
        attrs=_attributes(manifest, findings),
    )
    try:
        data.to_netcdf(str(path))
    except OSError as error:
        raise RunError(f"cannot write {path}: {error}; give another --out") from error


def _attributes(manifest: Manifest, findings: Findings) -> dict[str, str]:
    return {
        "question": manifest.facts.question,
        "target": manifest.target.describe(),
        "model": manifest.made.model,
        "renderer": manifest.made.renderer,
        "command": manifest.command,
        "ending": findings.ending,
    }


def _variables(manifest: Manifest, chains: Sequence[Sequence[Draw[Scene]]]) -> dict[str, Array]:
    """Summaries (chain, draw), answer probabilities (chain, draw, answer), and scenes (chain, draw, object)."""
    summaries = scene_summaries(manifest.target, manifest.vocabulary)
    found: dict[str, Array] = {}
    for name, summary in summaries.items():
        found[name.replace(" ", "_")] = np.array([[summary(draw) for draw in chain] for chain in chains])
    found["log_probs"] = np.array([[draw.evaluation.log_probs for draw in chain] for chain in chains])
    most = manifest.query.scene.objects[1]
    for name in (*NUMBERS, *ATTRIBUTES):
        filler = math.nan if name in NUMBERS else ""
        found[name] = np.array([[_padded(draw.z, name, most, filler) for draw in chain] for chain in chains])
    return found


def _padded(scene: Scene, name: str, most: int, filler: float | str) -> list[float | str]:
    values: list[float | str] = [getattr(item, name) for item in scene.objects]
    return values + [filler] * (most - len(values))


def _stats(chains: Sequence[Sequence[Draw[Scene]]]) -> dict[str, Array]:
    return {
        "is_accepted": np.array([[draw.is_accepted for draw in chain] for chain in chains]),
        "log_prior": np.array([[draw.evaluation.log_prior for draw in chain] for chain in chains]),
    }
