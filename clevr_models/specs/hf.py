"""'hf:NAME': a model of transformers, from the user's own Hugging Face cache or a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.interface.prefixes import HF
from trex.clevr_models.specs.adapter import Adapter

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel
    from trex.clevr_models.interface.options import ModelOptions


def is_hf(spec: str) -> bool:
    """Whether a model's spec has the form `hf:NAME`."""
    return spec.startswith(HF)


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.huggingface.load import load_hf

    return load_hf(spec)


def _configure(spec: str, threads: int, options: ModelOptions) -> ClevrModel:
    from trex.clevr_models.huggingface.load import load_hf

    return load_hf(spec, options)


def _loads_files(spec: str) -> str:
    return f"loads the files of model {spec!r}"


ADAPTER = Adapter(
    name="hf",
    fits=is_hf,
    load=_load,
    words="'hf:NAME' or 'hf:FOLDER' of transformers",
    order=50,
    trust=_loads_files,
    options=("prompt", "trust_remote_code"),
    configure=_configure,
)
