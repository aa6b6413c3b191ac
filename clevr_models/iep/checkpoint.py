"""Parts of the released CLEVR models in files: checkpoints of 2017 (read, never run) and our safetensors with a card.

A part is a program generator, an execution engine or a baseline, with its settings and its vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from trex.artifacts.card import read_card
from trex.artifacts.weights import check_fits, read_checkpoint, read_safetensors, write_safetensors
from trex.clevr_models.iep.networks import BaselineNetwork, ExecutionEngine, ProgramGenerator
from trex.clevr_models.iep.sizes import (
    BaselineSizes,
    EngineSizes,
    GeneratorSizes,
    Sizes,
    baseline_named,
    read_sizes,
)
from trex.clevr_models.iep.vocabulary import IepVocabulary, read_iep_vocabulary
from trex.foundation.errors import InputError

GENERATOR, ENGINE, BASELINE = KINDS = ("program_generator", "execution_engine", "baseline")
MAX_PARAMETERS = 2**28  # the largest released part has 40 million
LICENSE = "CC BY-NC 4.0 for the released weights (facebookresearch/clevr-iep)"


@dataclass(frozen=True, eq=False)
class Part:
    """A network with the settings and the vocabulary it was trained with."""

    kind: str  # one of KINDS
    sizes: Sizes
    vocabulary: IepVocabulary
    network: nn.Module
    card: Mapping[str, object] = field(default_factory=dict)  # provenance


def read_parts(path: Path) -> tuple[Part, ...]:
    """All parts in a checkpoint (.pt) or converted file (.safetensors); InputError describes a fault."""
    if path.suffix == ".safetensors":
        return (_read_converted(path),)
    found, sha256 = read_checkpoint(path)
    if not isinstance(found, dict):
        raise InputError(f"{path} holds a {type(found).__name__}, not a checkpoint of a released CLEVR model")
    card = {"source": path.name, "source_sha256": sha256, **_training(found)}
    parts = tuple(_part(kind, found, path, card) for kind in KINDS if found.get(f"{kind}_state") is not None)
    if not parts:
        raise InputError(
            f"{path} is not a released CLEVR model: it has none of {', '.join(f'{k}_state' for k in KINDS)}"
        )
    return parts


def write_part(path: Path, part: Part) -> None:
    """The part as safetensors, its settings, vocabulary and source on the card beside it."""
    sizes = {"baseline_type": part.sizes.kind} if isinstance(part.sizes, BaselineSizes) else {}
    card = {
        "architecture": "Inferring and Executing Programs (Johnson et al. 2017, arXiv:1705.03633)",
        "part": part.kind,
        **sizes,
        f"{part.kind}_kwargs": part.sizes.model_dump(exclude={"kind"}),
        "vocab": part.vocabulary.as_json(),
        **part.card,
        "license": LICENSE,
    }
    write_safetensors(path, part.network.state_dict(), card)


def convert(checkpoint: Path, out: Path) -> str:
    """Write the one part of a checkpoint as safetensors with a card, never over a file; the kind of the part."""
    if out.suffix != ".safetensors" or out.exists():
        problem = "already exists" if out.exists() else "does not end in .safetensors"
        raise InputError(f"{out} {problem}; give a new file name that ends in .safetensors")
    parts = read_parts(checkpoint)
    if len(parts) > 1:
        raise InputError(f"{checkpoint} holds {len(parts)} parts; only files with one part can be converted")
    write_part(out, parts[0])
    return parts[0].kind


def _read_converted(path: Path) -> Part:
    state, card = read_safetensors(path), read_card(path)
    kind = card.get("part")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(
            f"card of {path} names no part of a released CLEVR model ({', '.join(KINDS)}), but {kind!r}"
        )
    source = {name: card[name] for name in ("source", "source_sha256", "training") if name in card}
    return _part(kind, {**card, f"{kind}_state": state}, path, source)


def _part(kind: str, found: Mapping[str, object], path: Path, card: Mapping[str, object]) -> Part:
    settings, where = found.get(f"{kind}_kwargs"), f"{path}: {kind}_kwargs"
    vocabulary = _vocabulary(found.get("vocab"), settings, path)
    sizes = _sizes(kind, found, settings, where)
    _check_vocabulary(sizes, vocabulary, path)
    network = fill(lambda: build(sizes, vocabulary), found[f"{kind}_state"], path)
    return Part(kind, sizes, vocabulary, network, card)


def _sizes(kind: str, found: Mapping[str, object], settings: object, where: str) -> Sizes:
    if kind == BASELINE:
        return read_sizes(BaselineSizes, settings, where, baseline_named(found.get("baseline_type"), where))
    return read_sizes(GeneratorSizes if kind == GENERATOR else EngineSizes, settings, where)


def _vocabulary(vocab: object, settings: object, path: Path) -> IepVocabulary:
    inner = settings.get("vocab") if isinstance(settings, Mapping) else None
    if vocab is None:
        return read_iep_vocabulary(inner, str(path))
    vocabulary = read_iep_vocabulary(vocab, str(path))
    if inner is not None and read_iep_vocabulary(inner, f"{path}, settings") != vocabulary:
        raise InputError(f"{path} contains two different vocabularies, so it mixes two models")
    return vocabulary


def _check_vocabulary(sizes: Sizes, vocabulary: IepVocabulary, path: Path) -> None:
    if not isinstance(sizes, GeneratorSizes):
        return
    trained = (sizes.encoder_vocab_size, sizes.decoder_vocab_size)
    if trained != (len(vocabulary.questions), len(vocabulary.programs)):
        raise InputError(
            f"{path}: the network has {trained[0]} words and {trained[1]} program tokens, its vocabulary "
            f"{len(vocabulary.questions)} and {len(vocabulary.programs)}; it was put together from two models"
        )


def build(sizes: Sizes, vocabulary: IepVocabulary) -> nn.Module:
    if isinstance(sizes, GeneratorSizes):
        return ProgramGenerator(sizes)
    if isinstance(sizes, EngineSizes):
        return ExecutionEngine(sizes, vocabulary.programs, len(vocabulary.answers))
    assert isinstance(sizes, BaselineSizes), type(sizes)
    return BaselineNetwork(sizes, len(vocabulary.questions), len(vocabulary.answers))


def fill(make: Callable[[], nn.Module], state: object, path: Path) -> nn.Module:
    """The network with these tensors, names and shapes checked before memory is taken; for use, not for training."""
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError(f"{path}: its state is not a mapping of names to tensors")
    odd = next((name for name, value in state.items() if not _is_plain(value)), None)
    if odd is not None:
        raise InputError(f"{path}: {odd} is no dense tensor of real numbers with values; get the file again")
    with torch.device("meta"):
        network = make()
    total = sum(parameter.numel() for parameter in network.parameters())
    if total > MAX_PARAMETERS:
        raise InputError(f"{path} needs {total} parameters; the limit is {MAX_PARAMETERS}")
    check_fits(network, state, path)
    expected = network.state_dict()
    network.load_state_dict(
        {name: _tensor(name, expected[name], state, path) for name in expected}, assign=True
    )
    return network.eval().requires_grad_(False)


def _is_plain(tensor: Tensor) -> bool:
    """Whether it holds a real number at each place, as released files do."""
    is_other = tensor.is_meta or tensor.is_nested or tensor.is_quantized or tensor.is_complex()
    return tensor.layout == torch.strided and not is_other


def _tensor(name: str, expected: Tensor, state: Mapping[str, Tensor], path: Path) -> Tensor:
    """The tensor as the network computes with it; counters that old files lack are zero."""
    if name not in state:
        return torch.zeros(expected.shape, dtype=expected.dtype)
    tensor = state[name].to(expected.dtype).contiguous()
    if not bool(torch.isfinite(tensor).all()):
        raise InputError(f"{path}: {name} contains numbers that are not finite; get the file again")
    return tensor


def _training(found: Mapping[str, object]) -> dict[str, object]:
    """The few facts of a checkpoint about its training that are plain numbers."""
    kept = {name: found.get(name) for name in ("model_t", "best_val_acc")}
    facts = {name: value for name, value in kept.items() if type(value) in (int, float)}
    return {"training": facts} if facts else {}
