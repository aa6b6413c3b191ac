"""Checkpoints of a training: modules, optimizers and step in one safetensors file, so that they match."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from trex.artifacts.card import write_whole
from trex.artifacts.weights import DAMAGE, load_into
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import read_bytes
from trex.foundation.json_fields import mapping, text
from trex.foundation.parse import parse_json

Settings = Mapping[str, object]
Modules = Mapping[str, nn.Module]
Optimizers = Mapping[str, torch.optim.Optimizer]
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam and AdamW, which every training here uses


def save_checkpoint(
    path: Path, modules: Modules, optimizers: Optimizers, step: int, settings: Settings
) -> None:
    """Write atomically everything that resuming a training needs."""
    tensors = {f"{key}.{n}": t for key, module in modules.items() for n, t in module.state_dict().items()}
    for key, optimizer in optimizers.items():
        tensors |= {f"{key}.{index}.{name}": tensor for index, name, tensor in _moments(optimizer)}
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    whole["step"] = torch.tensor(step)
    write_whole(path, save(whole, {"settings": json.dumps(dict(settings), sort_keys=True)}))


def load_checkpoint(
    path: Path, modules: Modules, optimizers: Optimizers, settings: Settings, total: int
) -> int:
    """Load modules and optimizers and return the number of steps done, of `total`; 0 if there is no checkpoint.

    Raises RunError if it belongs to a training with other settings, or is damaged.
    """
    if not path.exists():
        return 0
    data = read_bytes(path, error=RunError)
    try:
        found, tensors = _settings_of(data), load(data)
    except (SafetensorError, InputError, *DAMAGE) as error:
        raise _damaged(path, error) from error
    wanted = json.loads(json.dumps(dict(settings)))
    if found != wanted:
        raise RunError(
            f"{path} belongs to a run with other settings ({_difference(found, wanted)}); choose another folder"
        )
    try:
        step = _step_of(tensors, total)
        for key, optimizer in optimizers.items():
            _check_moments(optimizer, key, tensors)
    except InputError as error:
        raise _damaged(path, error) from error
    for key, module in modules.items():
        load_into(module, _below(f"{key}.", tensors), path)
    for key, optimizer in optimizers.items():
        fill_optimizer(optimizer, key, tensors)
    return step


def _damaged(path: Path, error: Exception) -> RunError:
    return RunError(f"checkpoint {path} is damaged ({error}); remove it to begin anew")


def _step_of(tensors: Mapping[str, Tensor], total: int) -> int:
    """The number of steps done; InputError if it is none of a training of `total` steps."""
    step = tensors.get("step")
    if step is None or step.dtype != torch.int64 or step.ndim or not 0 <= int(step) <= total:
        raise InputError(f"its step is no whole number from 0 to {total}")
    return int(step)


def _check_moments(optimizer: torch.optim.Optimizer, key: str, tensors: Mapping[str, Tensor]) -> None:
    """InputError unless every parameter has the moments of Adam, in its own shape."""
    for index, parameter in enumerate(optimizer.param_groups[0]["params"]):
        shapes = {name: tensor.shape for name, tensor in _below(f"{key}.{index}.", tensors).items()}
        if shapes != {"step": torch.Size(), **dict.fromkeys(MOMENTS, parameter.shape)}:
            raise InputError(f"the moments of parameter {index} of {key} are missing or of another shape")


def _moments(optimizer: torch.optim.Optimizer) -> Iterator[tuple[int, str, Tensor]]:
    for index, parameter in enumerate(optimizer.param_groups[0]["params"]):
        for name, tensor in optimizer.state[parameter].items():
            yield index, name, tensor


def fill_optimizer(optimizer: torch.optim.Optimizer, key: str, tensors: Mapping[str, Tensor]) -> None:
    """Set an optimizer's moments to those of a checkpoint."""
    for index, parameter in enumerate(optimizer.param_groups[0]["params"]):
        found = _below(f"{key}.{index}.", tensors)
        moved = {n: t if n == "step" else t.to(parameter.device) for n, t in found.items()}
        optimizer.state[parameter] = moved


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name[len(prefix) :]: t for name, t in tensors.items() if name.startswith(prefix)}


def _settings_of(data: bytes) -> Settings:
    """The settings in the header of a safetensors file, which begins with the header's length, 8 bytes."""
    length = int.from_bytes(data[:8], "little")
    header = mapping(parse_json(data[8 : 8 + length], "its header"), "its header")
    written = text(mapping(header["__metadata__"], "its metadata")["settings"], "its settings")
    return mapping(parse_json(written, "its settings"), "its settings")


def _difference(found: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    names = [name for name in sorted(found.keys() | wanted.keys()) if found.get(name) != wanted.get(name)]
    return ", ".join(f"{name} {found.get(name)!r}, not {wanted.get(name)!r}" for name in names)
