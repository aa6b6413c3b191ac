"""A run for ArviZ: invariant summaries of every draw, and the latents themselves.

Scenes go in object by object, padded to one number of objects; vectors as they are.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import RunError
from trex.foundation.extensions import import_extra
from trex.inference.statistics.diagnostics import by_chain
from trex.runs.manifest import Manifest
from trex.runs.record import Record
from trex.scenes.scene import ATTRIBUTES
from trex.search.results import Results, read_results
from trex.worlds.description import Chains
from trex.worlds.latents import SCENES, form_of

if TYPE_CHECKING:
    import arviz

Array = NDArray[np.float64] | NDArray[np.str_] | NDArray[np.bool_]
NUMBERS = ("x", "y", "rotation")


class Variable(NamedTuple):
    """A variable of every draw: an array (chains, draws, ...) and the names of its further dimensions."""

    values: Array
    dims: tuple[str, ...] = ()


def write_netcdf(manifest: Manifest, records: Sequence[Record], path: Path) -> None:
    """Write the draws as a NetCDF file, see `inference_data`; an existing file stays until it is replaced.

    RunError if that fails, InputError without the extra `arviz`.
    """
    data = inference_data(manifest, records)
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


def inference_data(manifest: Manifest, records: Sequence[Record]) -> arviz.InferenceData:
    """Groups: posterior (chains after warmup), sample_stats, and prior (which also has log_weight, and log_inclusion).

    An InferenceData of ArviZ 0.23, a DataTree of ArviZ 1. log_inclusion: log of the probability with which a bank
    chose the draw, which stands for 1 / inclusion prior draws. Without chains there is no posterior. Needs at least
    one prior draw.
    """
    library = _arviz()
    results = read_results(manifest, records)
    chains = [chain for chain in by_chain(results.chains) if chain]
    prior = [list(results.prior)]
    before = _variables(manifest, prior)
    inclusion = {"log_inclusion": np.log(results.sample.inclusion)[np.newaxis]}
    groups = {"prior": _values(before) | _stats(prior) | inclusion}
    if chains:
        groups = {
            "posterior": _values(_variables(manifest, chains)),
            "sample_stats": _stats(chains),
        } | groups
    dims = {name: list(variable.dims) for name, variable in before.items() if variable.dims}
    coords, attrs = {"answer": list(manifest.facts.labels)}, _attributes(manifest, results)
    if hasattr(library, "InferenceData"):
        data: arviz.InferenceData = library.from_dict(**groups, dims=dims, coords=coords, attrs=attrs)
    else:
        data = library.from_dict(groups, dims=dims, coords=coords, attrs={"/": attrs})
    return data


def _arviz() -> ModuleType:
    with warnings.catch_warnings():  # ArviZ 0.23 announces its next version at its import
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return import_extra("arviz", "arviz", "the draws as InferenceData need ArviZ")
        except OSError as error:  # 0.23 keeps the date of that in its cache
            raise RunError(f"ArviZ cannot be imported: {error}; make that folder writable") from error


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
        for name, summary in manifest.world.summaries(manifest.resolved, chains[0][0].z).items()
    }
    log_probs = np.array([[draw.state.log_probs for draw in chain] for chain in chains])
    found["log_probs"] = Variable(log_probs, ("answer",))
    if form_of(chains[0][0].z) is SCENES:
        return found | _objects(chains, manifest.query.scene.objects[1])
    zs = np.array([[draw.z for draw in chain] for chain in chains])
    return found | {"z": Variable(zs, ("latent",))}


def _objects(chains: Chains, most: int) -> dict[str, Variable]:
    """Each number and attribute of each object, (chain, draw, object), padded to the largest number of objects."""
    found = {}
    for name in (*NUMBERS, *ATTRIBUTES):
        filler: list[float | str] = [math.nan if name in NUMBERS else ""]
        rows = [[[getattr(o, name) for o in draw.z.objects] for draw in chain] for chain in chains]
        padded = [[row + filler * (most - len(row)) for row in chain] for chain in rows]
        found[name] = Variable(np.array(padded), ("object",))
    return found


def _values(variables: Mapping[str, Variable]) -> dict[str, Array]:
    return {name: variable.values for name, variable in variables.items()}


def _stats(chains: Chains) -> dict[str, Array]:
    return {
        "is_accepted": np.array([[draw.is_accepted for draw in chain] for chain in chains]),
        "log_prior": np.array([[draw.state.log_prior for draw in chain] for chain in chains]),
    }
