"""The processor of a model: its tokenizer and what turns pictures into tensors, by Pillow and without torchvision."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from trex.clevr_models.huggingface.folder import ModelFolder
from trex.clevr_models.huggingface.library import import_library

NO_VIDEOS = SimpleNamespace(num_frames=1, fps=1)  # SmolVLM reads these for every prompt; nothing uses them
LOADS = "_get_arguments_from_pretrained"  # of the library: a processor's parts, read from its folder


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
    parts = list(known.get_attributes())
    kept = [name for name in parts if "video" not in name]

    def arguments(*given: Any, **options: Any) -> list[Any]:
        read = dict(zip(kept, getattr(super(found, found), LOADS)(*given, **options), strict=True))
        return [read.get(name) for name in parts]

    found: Any = type(
        known.__name__,
        (known,),
        {
            "get_attributes": staticmethod(lambda: kept),
            LOADS: staticmethod(arguments),
            "video_processor": NO_VIDEOS,
        },
    )
    found.__module__ = known.__module__
    return found
