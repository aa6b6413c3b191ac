"""A model's folder, found and checked before anything in it is loaded: weights without pickles, code refused."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from trex.clevr_models.interface.options import PICKLES
from trex.foundation.errors import InputError, TrexError
from trex.foundation.extensions import import_extra
from trex.foundation.files import MIB, open_regular, read_text, shown
from trex.foundation.json_fields import short
from trex.foundation.own_code import RAISED, error_text
from trex.foundation.parse import parse_json

# https://huggingface.co/docs/hub/repositories: names of one or two parts
NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,95}(/[A-Za-z0-9_][\w.-]{0,95})?", re.ASCII)
LONGEST = 1000  # characters of a name or a path
CONFIG, ADAPTER = "config.json", "adapter_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
READ = (".json", ".jinja", ".model", ".txt", ".py", ".safetensors")  # what determines a model's answers
JSON_LIMIT, WEIGHTS_LIMIT = 64 * MIB, 1 << 40
CODE_KEY = "auto_map"  # names classes in files of the folder, or of other folders
KERNELS = ("_attn_implementation", "attn_implementation")  # "owner/name" would load a compiled kernel
NAMED = "transformers_weights"  # the key of config.json whose file transformers 5 loads before any other


@dataclass(frozen=True)
class ModelFolder:
    """A checked folder; `code` are the files that name code of the model's own, empty for most models."""

    path: Path
    config: Mapping[str, object]
    code: tuple[str, ...]

    @property
    def model_type(self) -> str:
        """The architecture's name in transformers, "" if config.json has none."""
        found = self.config.get("model_type")
        return found if isinstance(found, str) else ""

    def sha256(self) -> str:
        """16 hexadecimal digits that change with any file that the model is made of."""
        digest = hashlib.sha256()
        for path in sorted(self.path.rglob("*")):
            if path.suffix in READ and path.is_file():
                digest.update(f"{path.relative_to(self.path).as_posix()}\n".encode())
                with open_regular(path, limit=WEIGHTS_LIMIT) as stream:
                    digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()[:16]


def open_folder(name: str, *, trusts_code: bool = False) -> ModelFolder:
    """The folder of a path, or of a name in the user's Hugging Face cache; an existing folder goes first.

    InputError if there is none, if its weights are no safetensors or leave the folder, or if it brings code of its
    own and that is not trusted. Downloads nothing.
    """
    path = _found(name)
    if not (path / CONFIG).is_file():
        raise InputError(f"{shown(path)} has no {CONFIG}; name the folder that holds a model of transformers")
    config = _json(path / CONFIG)
    if (path / ADAPTER).exists():
        raise InputError(f"{shown(path)} is an adapter ({ADAPTER}); merge it into its model and save that")
    _check_weights(name, path, _named_weights(path, config))
    folder = ModelFolder(path, config, tuple(_code(path)))
    if folder.code and not trusts_code:
        raise InputError(
            f"model 'hf:{name}' brings code of its own ({', '.join(folder.code)}), which is not run; read it, and if "
            "you trust it, repeat with --trust-remote-code (trust_remote_code = true in [model])"
        )
    return folder


def _found(name: str) -> Path:
    if not name or not name.isprintable() or len(name) > LONGEST:
        raise InputError(
            f"model {'hf:' + name[:100]!r} names no model; write hf:NAME, such as hf:owner/model, or hf:FOLDER"
        )
    path = Path(os.path.expanduser(name))  # unlike Path's, it leaves the name of an unknown user as it is
    if path.is_dir():
        return path
    if not NAME.fullmatch(name) or ".." in name or "--" in name:
        raise InputError(
            f"model {'hf:' + name!r}: there is no such folder, and it is not a model name, such as owner/model"
        )
    return _cached(name)


def _cached(name: str) -> Path:
    hub = import_library("huggingface_hub")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except (OSError, ValueError) as error:  # LocalEntryNotFoundError and HFValidationError among them
        raise InputError(
            f"model {'hf:' + name!r} is not in the cache of Hugging Face ({hub.constants.HF_HUB_CACHE}), and trex "
            f"downloads none; run hf download {name}, or name a folder"
        ) from error


def _named_weights(path: Path, config: Mapping[str, object]) -> str:
    """The file of weights that config.json names, "" if it names none; InputError unless it is checked and hashed."""
    named = config.get(NAMED)
    if named is None:
        return ""
    if named not in (WEIGHTS, INDEX):
        raise InputError(
            f"{shown(path / CONFIG)} names {short(named)} as {NAMED}; it must be {WEIGHTS} or {INDEX}, or be left out"
        )
    return str(named)


def _check_weights(name: str, path: Path, named: str) -> None:
    if named != INDEX and (path / WEIGHTS).is_file():
        return
    if not (path / INDEX).is_file():
        pickles = sorted(item.name for item in path.iterdir() if item.suffix in PICKLES)
        if pickles:
            raise InputError(
                f"the weights of model 'hf:{name}' are pickles ({pickles[0]}), which may run code when read; convert "
                "them to safetensors, or use a revision that has model.safetensors"
            )
        raise InputError(
            f"{shown(path)} has no weights ({WEIGHTS}); if its download stopped, run hf download {name}"
        )
    parts = _json(path / INDEX).get("weight_map")
    files = set(parts.values()) if isinstance(parts, dict) else set()
    for file in sorted(map(str, files)):
        if "/" in file or "\\" in file or not file.endswith(".safetensors"):
            raise InputError(
                f"{shown(path / INDEX)} names {file[:100]!r}; a part is a .safetensors file beside it"
            )
        if not (path / file).is_file():
            raise InputError(f"{shown(path)} has no {file}; if its download stopped, run hf download {name}")
    if not files:
        raise InputError(f"{shown(path / INDEX)} names no weights")


def _code(path: Path) -> Iterator[str]:
    for file in sorted(path.glob("*.json")):
        if file.name in (INDEX, "tokenizer.json", "vocab.json", "added_tokens.json"):
            continue  # tables of tokens and weights, which may be long
        if _names_code(parse_json(read_text(file, limit=JSON_LIMIT), shown(file))):
            yield file.name


def _names_code(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_names_code, value))
    if not isinstance(value, dict):
        return False
    names_kernel = any(_holds_slash(value.get(key)) for key in KERNELS)
    return bool(value.get(CODE_KEY)) or names_kernel or any(map(_names_code, value.values()))


def _holds_slash(value: object) -> bool:
    """Whether any text in a JSON value has a "/": one kernel for all, or one for each part of the model."""
    if isinstance(value, dict | list):
        return any(map(_holds_slash, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and "/" in value


def _json(path: Path) -> Mapping[str, object]:
    found = parse_json(read_text(path, limit=JSON_LIMIT), shown(path))
    if not isinstance(found, dict):
        raise InputError(f"{shown(path)} must hold a JSON object")
    return found


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


def import_library(name: str = "transformers") -> ModuleType:
    """The module; InputError with the command that installs it if it is missing."""
    return import_extra(name, "hf", "a model hf:NAME needs transformers")


@contextlib.contextmanager
def loading(what: str) -> Iterator[None]:
    """Maps any error of the library to InputError, and silences its progress bars and warnings."""
    transformers = import_library()
    was_on = transformers.utils.logging.is_progress_bar_enabled()
    level = logging.getLogger("transformers").level
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        yield
    except TrexError:
        raise
    except RAISED as error:
        raise InputError(f"{what} cannot be loaded by transformers: {error_text(error)}") from error
    finally:
        logging.getLogger("transformers").setLevel(level)
        if was_on:
            transformers.utils.logging.enable_progress_bar()
