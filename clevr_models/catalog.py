"""Loads a model by its spec: shipped, released, in a file, behind an address, installed, or a user's torch module."""

from __future__ import annotations

from pathlib import Path

from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.options import PICKLES, ModelOptions
from trex.clevr_models.specs.adapter import ADAPTERS, adapter_of, forms
from trex.foundation.errors import InputError, did_you_mean

WORDS = ("shipped", "relation-network")  # that are a spec by themselves


def load_model(spec: str, threads: int = 1, options: ModelOptions | None = None) -> ClevrModel:
    """The model that a spec names; InputError describes a fault in the spec, the file or the user's module.

    The forms of a spec, one file each, are in `trex.clevr_models.specs`; the first that fits is used.
    `package.module:factory` is user-defined: `factory(question)` returns a `torch.nn.Module` from pictures (B, 3,
    H, W), float32 in [0, 1], to logits (B, 28) in the order of ANSWERS, or (B, K) with an attribute `labels` (K
    names, ANSWERS' words for the same meaning). `options` are those of a query's [model]. Sets torch to `threads`
    threads: with more on a busy machine, small networks become many times slower.
    """
    import torch

    torch.set_num_threads(threads)
    adapter = adapter_of(spec)
    if adapter is not None:
        try:
            return adapter.open(spec, threads, options)
        except InputError as error:
            if not ADAPTERS.sound.problems:
                raise
            broken = "; ".join(map(str, ADAPTERS.sound.problems))  # the spec may be meant for one of these
            raise InputError(f"{error}; {broken}") from error
    if spec.endswith(PICKLES):
        raise InputError(
            f"model {spec!r} is a pickled checkpoint, which may run code when read; write a factory instead: {forms()}"
        )
    if spec.endswith(".py") or Path(f"{spec}.py").is_file():
        raise InputError(f"model {spec!r} is not known; name a function of the file, {spec}:FUNCTION")
    raise InputError(f"model {spec!r} is not known{did_you_mean(spec, WORDS) or ';'} it may be {forms()}")
