"""A run for ArviZ: invariant summaries of every draw, and the latents themselves.

Scenes go in object by object, padded to one number of objects; vectors as they are. What is no number has groups of its
own, as ArviZ computes with every variable of the others.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

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
DIMENSIONS = ("chain", "draw", "answer", "latent", "object")
OTHERS = (*DIMENSIONS, "log_probs", "z", "is_accepted", "log_prior", "log_inclusion")  # no names of summaries

OF_RUN = ("question", "target", "model", "renderer", "command", "ending")  # the attributes of the whole file


class Variable(NamedTuple):
    """A variable of every draw: an array (chains, draws, ...) and the names of its further dimensions."""

    values: Array
    dims: tuple[str, ...] = ()


def write_netcdf(manifest: Manifest, records: Sequence[Record], path: Path) -> None:
    """Write the draws as a NetCDF file, see `inference_data`; an existing file stays until it is replaced.

    RunError if that fails, InputError without the extra `arviz`.
    """
    for module in ("h5netcdf", "h5py"):  # ArviZ alone brings neither, on every Python
        import_extra(module, "arviz", "a NetCDF file needs HDF5")
    data: Any = inference_data(manifest, records)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if _is_old(_arviz()):
            data.to_netcdf(str(scratch))
        else:  # in memory first: a disk that is full while HDF5 writes a DataTree ends the process
            scratch.write_bytes(data.to_netcdf(engine="h5netcdf"))
        scratch.replace(path)
    except (OSError, RuntimeError) as error:  # HDF5 reports a full disk as a RuntimeError
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(
            f"cannot write {path}: {words}; free some space on its disk, or give another place with --out"
        ) from error
    finally:
        with suppress(OSError):
            scratch.unlink()


def holds_draws(path: Path) -> bool:
    """Whether a file is one that `write_netcdf` has written; InputError without the extra `arviz`."""
    h5py: Any = import_extra("h5py", "arviz", "a NetCDF file needs HDF5")
    try:
        with h5py.File(path) as file:
            return {*OF_RUN} <= {*file.attrs}
    except (OSError, RuntimeError):
        return False


def inference_data(manifest: Manifest, records: Sequence[Record]) -> arviz.InferenceData:
    """Groups: posterior (chains after warmup), sample_stats, and prior (which also has log_weight, and log_inclusion).

    Each object's shape, color, material and size stand in the groups categories and prior_categories, "" where a scene
    has fewer objects; if their number varies, x, y and rotation do too, NaN there. An InferenceData of ArviZ 0.23, a
    DataTree of ArviZ 1. log_inclusion: log of the probability with which a bank chose the draw, which stands for
    1 / inclusion prior draws. Without chains there is no posterior. Needs at least one prior draw.
    """
    library = _arviz()
    results = read_results(manifest, records)
    chains = [chain for chain in by_chain(results.chains) if chain]
    prior = [list(results.prior)]
    before = _variables(manifest, prior)
    inclusion = {"log_inclusion": np.log(results.sample.inclusion)[np.newaxis]}
    groups = {"prior": _values(before) | _stats(prior) | inclusion}
    further = {"prior_categories": _categories(manifest, prior)}
    if chains:
        after = _values(_variables(manifest, chains))
        groups = {"posterior": after, "sample_stats": _stats(chains)} | groups
        further = {"categories": _categories(manifest, chains)} | further
    dims = {name: list(variable.dims) for name, variable in before.items() if variable.dims}
    dims |= {name: ["object"] for name in (*ATTRIBUTES, *NUMBERS)}
    further = {name: values for name, values in further.items() if values}
    coords, attrs = {"answer": list(manifest.facts.labels)}, _attributes(manifest, results)
    if not _is_old(library):
        data: arviz.InferenceData = library.from_dict(
            groups | further, dims=dims, coords=coords, attrs={"/": attrs}
        )
        return data
    data = library.from_dict(**groups, dims=dims, coords=coords, attrs=attrs)
    add: Callable[..., None] = data.add_groups
    with warnings.catch_warnings():  # ArviZ 0.23 warns of groups whose names are not in its own list
        warnings.simplefilter("ignore", UserWarning)
        for name, values in further.items():
            add({name: library.dict_to_dataset(values, dims=dims)})
    return data


def _arviz() -> ModuleType:
    with warnings.catch_warnings():  # ArviZ 0.23 announces its next version at its import
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return import_extra("arviz", "arviz", "the draws as InferenceData need ArviZ")
        except OSError as error:  # 0.23 keeps the date of that in its cache
            raise RunError(f"ArviZ cannot be imported: {error}; make that folder writable") from error


def _is_old(library: ModuleType) -> bool:
    """Whether it is ArviZ 0.23; 1.3 has a name InferenceData, too."""
    return str(library.__version__).startswith("0.")


def _attributes(manifest: Manifest, results: Results) -> dict[str, str]:
    made = manifest.made
    said = (manifest.facts.question, manifest.target.describe(), made.model, made.renderer)
    return dict(zip(OF_RUN, (*said, manifest.command, results.ending), strict=True))


def _variables(manifest: Manifest, chains: Chains) -> dict[str, Variable]:
    """Summaries (chain, draw), answer probabilities (chain, draw, answer), and the latents themselves."""
    found: dict[str, Variable] = {}
    for name, summary in manifest.world.summaries(manifest.resolved, chains[0][0].z).items():
        values = np.array([[summary(draw) for draw in chain] for chain in chains])
        found[_free(name, found)] = Variable(values)
    log_probs = np.array([[draw.state.log_probs for draw in chain] for chain in chains])
    found["log_probs"] = Variable(log_probs, ("answer",))
    if form_of(chains[0][0].z) is SCENES:
        if _varies(manifest):
            return found
        placed = {name: Variable(_padded(manifest, chains, name, math.nan), ("object",)) for name in NUMBERS}
        return found | placed
    zs = np.array([[draw.z for draw in chain] for chain in chains])
    return found | {"z": Variable(zs, ("latent",))}


def _free(name: str, taken: Collection[str]) -> str:
    """The name of a variable for a summary: NetCDF allows no slash in it, and what has its name already keeps it."""
    name = name.replace(" ", "_").replace("/", "_")
    while name in taken or name in OTHERS:
        name += "_"
    return name


def _categories(manifest: Manifest, chains: Chains) -> dict[str, Array]:
    """What ArviZ cannot compute with of each object, (chain, draw, object); nothing in a world of vectors."""
    if form_of(chains[0][0].z) is not SCENES:
        return {}
    found = {name: _padded(manifest, chains, name, "") for name in ATTRIBUTES}
    if _varies(manifest):
        found |= {name: _padded(manifest, chains, name, math.nan) for name in NUMBERS}
    return found


def _varies(manifest: Manifest) -> bool:
    """Whether scenes differ in the number of their objects."""
    low, high = manifest.query.scene.objects
    return low < high


def _padded(manifest: Manifest, chains: Chains, name: str, filler: float | str) -> Array:
    """A property of each object, (chain, draw, object), padded to the largest number of objects."""
    rows = [[[getattr(o, name) for o in draw.z.objects] for draw in chain] for chain in chains]
    most = max(manifest.query.scene.objects[1], *(len(row) for chain in rows for row in chain))
    return np.array([[row + [filler] * (most - len(row)) for row in chain] for chain in rows])


def _values(variables: Mapping[str, Variable]) -> dict[str, Array]:
    return {name: variable.values for name, variable in variables.items()}


def _stats(chains: Chains) -> dict[str, Array]:
    return {
        "is_accepted": np.array([[draw.is_accepted for draw in chain] for chain in chains]),
        "log_prior": np.array([[draw.state.log_prior for draw in chain] for chain in chains]),
    }
