"""Names for models and files that change whenever their content changes."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from trex.foundation.files import read_bytes

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import Tensor

    from trex.inference.types import Classifier


def model_fingerprint(name: str, bound: Classifier) -> str:
    """The model's name and, for a torch module, the sha256 (16 characters) of all its tensors and its `identity`."""
    tensors = _tensors(bound)
    if tensors is None:
        return f"{name} {bound!r}" if type(bound).__repr__ is not object.__repr__ else name
    return f"{_named(bound, name)} {tensor_hash(tensors)} {getattr(bound, 'identity', '')}".strip()


def probe_probabilities_of(bound: Classifier) -> tuple[float, ...]:
    """The answers of a model whose weights are out of reach to its probe pictures; empty for any other."""
    return tuple(getattr(bound, "probe_probabilities", ()))


def weights_fingerprint(name: str, bound: Classifier) -> str:
    """As `model_fingerprint`, but independent of the question: leaves out the tensors that encode it.

    A module lists those tensors in `question_tensors`. For a model that is no torch module, this is its name and,
    if it has one, its `identity`, which a module's hash is followed by, too.
    """
    tensors = _tensors(bound)
    if tensors is None:
        return f"{name} {getattr(bound, 'identity', '')}".strip()
    encoding = getattr(bound.module, "question_tensors", ()) if hasattr(bound, "module") else ()
    kept = {key: tensor for key, tensor in tensors.items() if key not in encoding}
    return f"{_named(bound, name)} {tensor_hash(kept)} {getattr(bound, 'identity', '')}".strip()


def _named(bound: Classifier, name: str) -> str:
    """The model's name in a fingerprint: a module whose weights are a file of any name says `fingerprint_name`."""
    return str(getattr(getattr(bound, "module", None), "fingerprint_name", name))


def is_known_by_weights(bound: Classifier) -> bool:
    """Whether no other model has the same `weights_fingerprint`, as that covers tensors or a hash of all files.

    False for a callable, a service, and a module without tensors: name, address and code may stay the same when their
    answers change, which `probe_probabilities_of` shows for one question only.
    """
    tensors = _tensors(bound)
    if tensors is None:
        return bool(getattr(bound, "is_hashed", not hasattr(bound, "probe_probabilities")))
    found = [tensor for _, tensor in _named_tensors(tensors)]
    return bool(found) and not any(tensor.is_meta for tensor in found)


def _tensors(bound: Classifier) -> dict[str, object] | None:
    """The state of a torch module by name, None for anything else."""
    if "torch" not in sys.modules:
        return None
    from trex.clevr_models.interface.bound import BoundModule

    return dict(bound.module.state_dict()) if isinstance(bound, BoundModule) else None


def tensor_hash(state: Mapping[str, object]) -> str:
    """sha256 (16 characters) of a module's state: names, types, shapes, values of its tensors.

    Leaves out what is no tensor and holds none: a module's answers to its probe pictures show that
    (`probe_probabilities_of`).
    """
    digest = hashlib.sha256()
    for key, tensor in _named_tensors(state):
        digest.update(_described(key, tensor))
    return digest.hexdigest()[:16]


def _named_tensors(state: Mapping[str, object]) -> Iterator[tuple[str, Tensor]]:
    """The tensors in the order of their names; those in tuples and lists, as of quantized layers, by their places."""
    from torch import Tensor

    for key, value in sorted(state.items(), key=itemgetter(0)):
        if isinstance(value, Tensor):
            yield key, value
        elif isinstance(value, list | tuple):
            yield from _named_tensors({f"{key}.{place:04}": item for place, item in enumerate(value)})


def _described(key: str, tensor: Tensor) -> bytes:
    """Name, type, shape and values; the bytes of types that numpy lacks, such as bfloat16."""
    import torch

    if tensor.is_meta:  # it has no values, or keeps them elsewhere
        return f"{key} {tensor.dtype} {tuple(tensor.shape)} meta\n".encode()
    here = tensor.detach().cpu()
    if here.is_quantized:
        here = here.dequantize()  # what it stands for: its scale is part of it
    here = here.to_dense() if here.layout != torch.strided else here.contiguous()
    try:
        values = here.numpy()
    except TypeError:
        raw = here.reshape(-1).view(torch.uint8).numpy()
        return f"{key} {here.dtype} {tuple(here.shape)}\n".encode() + raw.tobytes()
    return f"{key} {values.dtype} {values.shape}\n".encode() + values.tobytes()


def file_fingerprint(path: Path) -> str:
    """sha256 (16 characters) of a file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()[:16]
