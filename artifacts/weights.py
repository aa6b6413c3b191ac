"""Loads weights safely: ours are safetensors with a card; code in foreign checkpoints never runs."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from trex.artifacts.archives import check_inflation
from trex.artifacts.card import Card, card_path, check_sha256, read_card, read_named, sha256_of, write_whole
from trex.foundation.errors import InputError
from trex.foundation.files import MIB

State = Mapping[str, Tensor]
# Exceptions raised for damaged files, by format (zip, old pickle, safetensors).
DAMAGE = (
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    OSError,
    AttributeError,
    AssertionError,
    struct.error,
    MemoryError,
)
CHECKPOINT_LIMIT = 2048 * MIB  # total unpacked size of a checkpoint
GROWS = b"bytearray"  # the only type that torch lets a pickle create at any size


def read_safetensors(weights: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; InputError if they do not match the sha256 on its card."""
    if weights.suffix != ".safetensors":
        raise InputError(
            f"weights {weights} end in {weights.suffix!r}; only .safetensors with a card beside it are read"
        )
    data = read_named(weights, "weights")
    card = read_card(weights)
    try:
        state = load(data)
    except (SafetensorError, *DAMAGE) as error:
        raise InputError(
            f"weights {weights} are truncated or damaged ({error}); fetch or train the model again"
        ) from error
    check_sha256(weights, data, str(card["sha256"]))
    return state


def write_safetensors(weights: Path, state: State, card: Card) -> None:
    """Write weights and their card, with the sha256 added; each file appears atomically."""
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()})
    write_whole(weights, data)
    write_whole(
        card_path(weights), (json.dumps({**card, "sha256": sha256_of(data)}, indent=1) + "\n").encode()
    )


def compact(module: nn.Module) -> dict[str, Tensor]:
    """A module's weights for shipping: matrices and convolutions in float16, the rest unchanged."""
    state = module.state_dict().items()
    return {name: tensor.half() if tensor.ndim >= 2 else tensor for name, tensor in state}


def expand(state: State) -> dict[str, Tensor]:
    """Shipped weights for computing: float32."""
    return {
        name: tensor.float() if tensor.dtype == torch.float16 else tensor for name, tensor in state.items()
    }


def read_foreign(path: Path, sha256: str | None = None) -> dict[str, Tensor]:
    """The tensors of a torch checkpoint (a plain state dict, without a leading `module.`).

    Reads only tensors and containers: rejects a checkpoint that contains code, which never runs. InputError says
    whether the file is missing, differs from the published one (if its sha256 is given), is truncated, or contains
    anything else.
    """
    found, _ = read_checkpoint(path, sha256)
    return tensors_of(found, path)


def tensors_of(found: object, source: Path) -> dict[str, Tensor]:
    """A checkpoint's content as a state dict, without a leading `module.`; InputError if it is none."""
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise InputError(
            f"checkpoint {source} holds a {type(found).__name__}, not a state dict: save `module.state_dict()`"
        )
    return {str(name).removeprefix("module."): value for name, value in found.items()}


def read_checkpoint(path: Path, sha256: str | None = None) -> tuple[object, str]:
    """A torch checkpoint's content (tensors, containers, numbers, text; InputError as above), and its sha256."""
    data = read_named(path, "checkpoint")
    if sha256 is not None:
        check_sha256(path, data, sha256)
    _check_growth(path, data)
    try:
        found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(_refusal(path, str(error))) from error
    except DAMAGE as error:
        raise InputError(
            f"checkpoint {path} is truncated or damaged ({type(error).__name__}: {error}); get it again"
        ) from error
    return found, sha256_of(data)


def _check_growth(path: Path, data: bytes) -> None:
    """Raise InputError if unpickling a checkpoint could take far more memory than its file."""
    pickled = data
    if zipfile.is_zipfile(io.BytesIO(data)):
        check_inflation(data, f"checkpoint {path}", limit=CHECKPOINT_LIMIT)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if name.endswith(".pkl")]
            try:
                pickled = b"".join(archive.read(name) for name in names)
            except (*DAMAGE, zipfile.BadZipFile, zlib.error) as error:
                raise InputError(f"checkpoint {path} is damaged ({error}); get it again") from error
    if GROWS in pickled:
        raise InputError(_refusal(path, "global"))


def _refusal(path: Path, reason: str) -> str:
    holds = (
        "holds Python code or objects" if "global" in reason.lower() else "is damaged or no torch checkpoint"
    )
    return (
        f"checkpoint {path} {holds}, not only tensors; nothing in it was executed. "
        "Save `module.state_dict()` with torch, or convert it to safetensors"
    )


def load_into(module: nn.Module, state: State, source: Path) -> None:
    """Load tensors into a module; InputError lists those that are missing, superfluous or of another shape."""
    check_fits(module, state, source)
    module.load_state_dict(module.state_dict() | dict(state))


def check_fits(module: nn.Module, state: State, source: Path) -> None:
    """Raise InputError unless the tensors match the module's names and shapes; it may be on the meta device."""
    wanted = module.state_dict()
    optional = {
        name for name in wanted if name.endswith("num_batches_tracked")
    }  # missing in files of torch < 0.4.1
    missing = sorted(wanted.keys() - state.keys() - optional)
    extra = sorted(state.keys() - wanted.keys())
    shapes = [
        f"{name} is {tuple(tensor.shape)} and must be {tuple(wanted[name].shape)}"
        for name, tensor in state.items()
        if name in wanted and tensor.shape != wanted[name].shape
    ]
    problems = (
        [f"missing {_some(missing)}"] * bool(missing)
        + [f"left over {_some(extra)}"] * bool(extra)
        + shapes[:3]
    )
    if problems:
        raise InputError(
            f"weights {source} are not of {type(module).__name__}: {'; '.join(problems)}; name the right model"
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
