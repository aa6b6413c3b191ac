"""The released CLEVR models as CLEVR models: assembled from parts, bound to a question, applied to pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from trex.clevr_models.iep.checkpoint import BASELINE, ENGINE, GENERATOR, Part, read_parts
from trex.clevr_models.iep.fetch import PAIRS, PARTS, load_part, load_resnet
from trex.clevr_models.iep.networks import ProgramGenerator
from trex.clevr_models.iep.resnet_features import FEATURES, ResNet
from trex.clevr_models.iep.sizes import BaselineSizes, EngineSizes
from trex.clevr_models.iep.vocabulary import IepVocabulary, calls_of, to_prefix
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule
from trex.clevr_models.interface.options import IEP
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import from_home


@dataclass(frozen=True, eq=False)
class IepModel:
    """A baseline, or an execution engine: it runs its generator's program, or the question's own if it has none."""

    name: str
    part: Part
    generator: Part | None
    features: nn.Module  # (B, 3, H, W) in [0, 1] -> (B, C, h, w)

    def bind(self, question: Question) -> BoundModule:
        """The model with one question for all pictures; InputError names a word or step outside its training."""
        labels, order = answer_order(self.part.vocabulary)
        if self.part.kind == BASELINE:
            numbers = self.part.vocabulary.encode_question(question.text)
            return BoundModule(Bound(self.features, "network", self.part.network, numbers, order), labels)
        tokens = self.program(question)
        bound = Bound(self.features, "engine", self.part.network, calls_of(tokens), order)
        programs = torch.tensor([self.part.vocabulary.programs.index(token) for token in tokens])
        bound.register_buffer("program", programs)  # so that another program counts as another model
        return BoundModule(bound, labels)

    @property
    def reads_words(self) -> bool:
        """Not if it runs the question's own program."""
        return self.part.kind == BASELINE or self.generator is not None

    def program(self, question: Question) -> tuple[str, ...]:
        """The tokens to run: the generator's output for the text, or the question's own program."""
        if self.generator is None:
            return to_prefix(question.program)
        vocabulary = self.generator.vocabulary
        network = self.generator.network
        assert isinstance(network, ProgramGenerator), self.generator.kind
        with torch.no_grad():
            numbers = network.decode(vocabulary.encode_question(question.text))
        return tuple(vocabulary.programs[number] for number in numbers)


class Bound(nn.Module):
    """(B, 3, H, W) in [0, 1] -> logits (B, answers), differentiable, for one program or question.

    `name` is that of the network among the tensors, by whose names stored runs identify a model.
    """

    question_tensors = ("program",)  # the others do not depend on the question
    order: Tensor

    def __init__(
        self, features: nn.Module, name: str, network: nn.Module, question: Sequence[object], order: Tensor
    ) -> None:
        super().__init__()
        self.features, self.name, self.question = features, name, question
        self.add_module(name, network)
        self.register_buffer("order", order)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.get_submodule(self.name)(self.features(images), self.question)
        return logits[:, self.order]


def answer_order(vocabulary: IepVocabulary) -> tuple[tuple[str, ...], Tensor]:
    """Labels and the outputs they stand for: CLEVR's answers in their order, then untrained ones (<NULL>, ...)."""
    known = tuple(answer for answer in ANSWERS if answer in vocabulary.answers)
    labels = (*known, *(answer for answer in vocabulary.answers if answer not in known))
    return labels, torch.tensor([vocabulary.answers.index(label) for label in labels])


def put_together(name: str, parts: Sequence[Part], features: nn.Module) -> IepModel:
    """One model of these parts; InputError if they do not fit together."""
    by_kind = {part.kind: part for part in parts}
    if len(by_kind) < len(parts):
        raise InputError(
            f"model {name!r} has two parts of the same kind; give one execution engine and at most one generator"
        )
    for part in parts:
        _check_features(name, part, features)
    if BASELINE in by_kind and len(parts) == 1:
        return IepModel(name, by_kind[BASELINE], None, features)
    if BASELINE in by_kind or ENGINE not in by_kind:
        raise InputError(
            f"model {name!r} consists of {', '.join(by_kind) or 'nothing'}; give a program generator with an "
            "execution engine, an execution engine alone (it runs the true program), or one baseline"
        )
    engine, generator = by_kind[ENGINE], by_kind.get(GENERATOR)
    if generator and generator.vocabulary.programs != engine.vocabulary.programs:
        raise InputError(f"model {name!r}: generator and engine number the program tokens differently")
    return IepModel(name, engine, generator, features)


def _check_features(name: str, part: Part, features: nn.Module) -> None:
    sizes = part.sizes
    needed = FEATURES
    if isinstance(sizes, EngineSizes):
        needed = sizes.feature_dim
    elif isinstance(sizes, BaselineSizes) and sizes.kind != "LSTM":
        needed = sizes.cnn_feat_dim
    if isinstance(features, ResNet) and needed != FEATURES:
        raise InputError(
            f"model {name!r} needs features {needed}; those of ResNet-101's third stage are {FEATURES}"
        )


FILES = (".pt", ".safetensors")
SPECS = (
    "iep:18k, iep:cnn_lstm_sa, iep:execution_engine_18k (runs the true program), iep:GENERATOR.pt,ENGINE.pt"
)


def load_iep(spec: str) -> IepModel:
    """The model of a spec; InputError if a part is unknown, missing or damaged, or the parts do not fit together."""
    names = spec.removeprefix(IEP).split(",")
    parts = [part for name in names for part in _parts(name)]
    return put_together(spec, parts, _features(parts))


def _parts(name: str) -> tuple[Part, ...]:
    if name.endswith(FILES):
        return read_parts(from_home(Path(name)))
    if name in PAIRS:
        return tuple(load_part(part) for part in PAIRS[name])
    if name not in PARTS:
        raise unknown(
            "released model", name, (*PAIRS, *PARTS), f"Give file names with their suffix, e.g. {SPECS}."
        )
    return (load_part(name),)


def _features(parts: list[Part]) -> nn.Module:
    """ResNet-101, unless no part reads pictures."""
    is_blind = all(isinstance(part.sizes, BaselineSizes) and part.sizes.kind == "LSTM" for part in parts)
    return nn.Identity() if is_blind else load_resnet()
