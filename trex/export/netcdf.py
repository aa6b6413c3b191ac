"""A run as ArviZ InferenceData: invariant summaries of every draw, and the latents themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trex.export.scene_arrays import Array, Variable, latent_variables
from trex.foundation.errors import RunError
from trex.inference.statistics.diagnostics import arviz_module, by_chain
from trex.runs.manifest import Manifest
from trex.runs.record import Record
from trex.runs.world_of import world_of
from trex.search.results import Results, read_results
from trex.worlds.description import Chains

if TYPE_CHECKING:
    import arviz


def write_netcdf(manifest: Manifest, records: Sequence[Record], path: Path) -> None:
    """Write the draws as a NetCDF file, see `inference_data`; RunError if that fails."""
    _write_whole(inference_data(manifest, records), path)


def inference_data(manifest: Manifest, records: Sequence[Record]) -> arviz.InferenceData:
    """Groups: posterior (chains after warmup), sample_stats, and prior (which also has log_weight, and log_inclusion).

    log_inclusion: log of the probability with which a bank chose the draw, which stands for 1 / inclusion prior draws.
    Without chains there is no posterior. Needs at least one prior draw.
    """
    results = read_results(manifest, records)
    chains = [chain for chain in by_chain(results.chains) if chain]
    prior = [list(results.prior)]
    ours = _variables(manifest, chains) if chains else {}
    before = _variables(manifest, prior)
    data: arviz.InferenceData = arviz_module().from_dict(
        posterior=_values(ours) if chains else None,
        sample_stats=_stats(chains) if chains else None,
        prior=_values(before)
        | _stats(prior)
        | {"log_inclusion": np.log(results.sample.inclusion)[np.newaxis]},
        dims={name: list(variable.dims) for name, variable in before.items() if variable.dims},
        coords={"answer": list(manifest.facts.labels)},
        attrs=_attributes(manifest, results),
    )
    return data


def _write_whole(data: arviz.InferenceData, path: Path) -> None:
    """Write the file atomically; an existing file stays until it is replaced."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        data.to_netcdf(str(scratch))
        scratch.replace(path)
    except (OSError, RuntimeError) as error:  # HDF5 reports a full disk as a RuntimeError
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(
            f"cannot write {path}: {words}; free some space on its disk, or give another place with --out"
        ) from error
    finally:
        with suppress(OSError):
            scratch.unlink()


def _attributes(manifest: Manifest, results: Results) -> dict[str, str]:
    return {
        "question": manifest.facts.question,
        "target": manifest.target.describe(),
        "model": manifest.made.model,
        "renderer": manifest.made.renderer,
        "command": manifest.command,
        "ending": results.ending,
    }


def _variables(manifest: Manifest, chains: Chains) -> dict[str, Variable]:
    """Summaries (chain, draw), answer probabilities (chain, draw, answer), and the latents themselves."""
    found = {
        name.replace(" ", "_"): Variable(np.array([[summary(draw) for draw in chain] for chain in chains]))
        for name, summary in world_of(manifest).summaries(manifest.resolved, chains[0][0].z).items()
    }
    log_probs = np.array([[draw.evaluation.log_probs for draw in chain] for chain in chains])
    found["log_probs"] = Variable(log_probs, ("answer",))
    return found | dict(latent_variables(chains, manifest.query.scene.objects[1]))


def _values(variables: Mapping[str, Variable]) -> dict[str, Array]:
    return {name: variable.values for name, variable in variables.items()}


def _stats(chains: Chains) -> dict[str, Array]:
    return {
        "is_accepted": np.array([[draw.is_accepted for draw in chain] for chain in chains]),
        "log_prior": np.array([[draw.evaluation.log_prior for draw in chain] for chain in chains]),
    }
