"""Names for models and files that change whenever what they compute changes."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing torch takes seconds
    from clevr_models.bound import BoundModel


def model_fingerprint(name: str, bound: BoundModel) -> str:
    """The model's name and, for a torch module, the sha256 (16 characters) of all its tensors."""
    if "torch" not in sys.modules:
        return f"{name} {bound!r}"
    from clevr_models.bound import BoundModule

    if not isinstance(bound, BoundModule):
        return f"{name} {bound!r}" if type(bound).__repr__ is not object.__repr__ else name
    digest = hashlib.sha256()
    for key, tensor in sorted(bound.module.state_dict().items()):
        values = tensor.detach().cpu().contiguous().numpy()
        digest.update(f"{key} {values.dtype} {values.shape}\n".encode() + values.tobytes())
    return f"{name} {digest.hexdigest()[:16]}"


def file_fingerprint(path: Path) -> str:
    """sha256 (16 characters) of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
