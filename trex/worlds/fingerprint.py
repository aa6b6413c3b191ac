"""Names for models and files that change whenever their content changes."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
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
    return f"{name} {tensor_hash(tensors)} {getattr(bound, 'identity', '')}".strip()


def tried_of(bound: Classifier) -> tuple[float, ...]:
    """The answers of a model whose weights are out of reach to its probe pictures; empty for any other."""
    return tuple(getattr(bound, "tried", ()))


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
    return f"{name} {tensor_hash(kept)} {getattr(bound, 'identity', '')}".strip()


def _tensors(bound: Classifier) -> dict[str, Tensor] | None:
    """The tensors of a torch module by name, None for anything else."""
    if "torch" not in sys.modules:
        return None
    from trex.clevr_models.interface.bound import BoundModule

    return dict(bound.module.state_dict()) if isinstance(bound, BoundModule) else None


def tensor_hash(tensors: Mapping[str, Tensor]) -> str:
    """sha256 (16 characters) of named tensors: names, types, shapes, values."""
    digest = hashlib.sha256()
    for key, tensor in sorted(tensors.items()):
        values = tensor.detach().cpu().contiguous().numpy()
        digest.update(f"{key} {values.dtype} {values.shape}\n".encode() + values.tobytes())
    return digest.hexdigest()[:16]


def file_fingerprint(path: Path) -> str:
    """sha256 (16 characters) of a file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()[:16]
