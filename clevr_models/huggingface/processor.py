"""The processor of a model: its tokenizer and what turns pictures into tensors, by Pillow and without torchvision."""

from __future__ import annotations

from typing import Any

from trex.clevr_models.huggingface.folder import ModelFolder
from trex.clevr_models.huggingface.library import import_library


def load_processor(folder: ModelFolder, *, trusts_code: bool) -> Any:  # its class is the model's
    """The processor of a model, without its part for videos if torchvision, which that part needs, is missing."""
    transformers = import_library()
    options = {"local_files_only": True, "trust_remote_code": trusts_code, "backend": "pil"}
    known = _known_class(folder)
    reads_videos = known is not None and any("video" in name for name in known.get_attributes())
    if reads_videos and not transformers.utils.is_torchvision_available():
        return without_videos(known).from_pretrained(str(folder.path), **options)
    return transformers.AutoProcessor.from_pretrained(str(folder.path), **options)


def _known_class(folder: ModelFolder) -> Any:
    """The class of transformers that processes for this architecture; None if there is none."""
    mapping = import_library("transformers.models.auto.processing_auto")
    name = mapping.PROCESSOR_MAPPING_NAMES.get(folder.model_type)
    return None if name is None else getattr(import_library(), name, None)


def without_videos(known: Any) -> Any:
    """A subclass that takes no part for videos: torchvision's wheels do not fit every build of torch."""
    parts = [name for name in known.get_attributes() if "video" not in name]
    found = type(known.__name__, (known,), {"get_attributes": staticmethod(lambda: parts)})
    found.__module__ = known.__module__
    return found
