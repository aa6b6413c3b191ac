"""The released CLEVR models as CLEVR models: assembled from parts, bound to a question, applied to pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trex.clevr_models.iep.baselines import BaselineNetwork, BaselineSizes
from trex.clevr_models.iep.checkpoint import BASELINE, ENGINE, GENERATOR, Part
from trex.clevr_models.iep.module_network import EngineSizes, ExecutionEngine
from trex.clevr_models.iep.program_generator import ProgramGenerator
from trex.clevr_models.iep.programs import calls_of, to_prefix
from trex.clevr_models.iep.resnet_features import FEATURES, SIDE_PX, ResNet
from trex.clevr_models.iep.vocabulary import IepVocabulary
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError


@dataclass(frozen=True, eq=False)
class EngineModel:
    """An execution engine that runs its generator's program, or the question's own if it has no generator."""

    name: str
    engine: Part
    generator: Part | None
    features: nn.Module  # (B, 3, H, W) in [0, 1] -> (B, C, h, w)
    input_size: tuple[int, int] | None = (SIDE_PX, SIDE_PX)

    def bind(self, question: Question) -> BoundModule:
        """The engine with one program for all pictures; InputError names a word or step outside its training."""
        tokens = self.program(question)
        labels, order = answer_order(self.engine.vocabulary)
        numbers = torch.tensor([self.engine.vocabulary.programs.index(token) for token in tokens])
        network = self.engine.network
        assert isinstance(network, ExecutionEngine), self.engine.kind
        asked = AskedEngine(self.features, network, tokens, order)
        asked.register_buffer("program", numbers)  # so that another program counts as another model
        return BoundModule(asked, labels)

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


@dataclass(frozen=True, eq=False)
class BaselineModel:
    """A baseline: a network that reads the question and the whole picture."""

    name: str
    part: Part
    features: nn.Module
    input_size: tuple[int, int] | None = (SIDE_PX, SIDE_PX)

    def bind(self, question: Question) -> BoundModule:
        """The network with its question; InputError names a word outside its training."""
        numbers = self.part.vocabulary.encode_question(question.text)
        labels, order = answer_order(self.part.vocabulary)
        network = self.part.network
        assert isinstance(network, BaselineNetwork), self.part.kind
        return BoundModule(AskedBaseline(self.features, network, numbers, order), labels)


class AskedEngine(nn.Module):
    """(B, 3, H, W) in [0, 1] -> logits of all answers, for one program."""

    question_tensors = ("program",)  # the others do not depend on the question
    order: Tensor

    def __init__(
        self, features: nn.Module, engine: ExecutionEngine, tokens: Sequence[str], order: Tensor
    ) -> None:
        super().__init__()
        self.features, self.engine, self.calls = features, engine, calls_of(tokens)
        self.register_buffer("order", order)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (B, answers), differentiable with respect to the pictures."""
        logits: Tensor = self.engine(self.features(images), self.calls)
        return logits[:, self.order]


class AskedBaseline(nn.Module):
    """(B, 3, H, W) in [0, 1] -> logits of all answers, for one question."""

    order: Tensor

    def __init__(
        self, features: nn.Module, network: BaselineNetwork, question: Sequence[int], order: Tensor
    ) -> None:
        super().__init__()
        self.features, self.network, self.question = features, network, tuple(question)
        self.register_buffer("order", order)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (B, answers); the LSTM alone returns the same for every picture."""
        seen = images if self.network.kind == "LSTM" else self.features(images)
        logits: Tensor = self.network(seen, self.question)
        return logits[:, self.order]


def answer_order(vocabulary: IepVocabulary) -> tuple[tuple[str, ...], Tensor]:
    """Labels and the outputs they stand for: CLEVR's answers in their order, then untrained ones (<NULL>, ...)."""
    known = tuple(answer for answer in ANSWERS if answer in vocabulary.answers)
    labels = (*known, *(answer for answer in vocabulary.answers if answer not in known))
    return labels, torch.tensor([vocabulary.answers.index(label) for label in labels])


def put_together(name: str, parts: Sequence[Part], features: nn.Module) -> EngineModel | BaselineModel:
    """One model of these parts; InputError if they do not fit together."""
    by_kind = {part.kind: part for part in parts}
    if len(by_kind) < len(parts):
        raise InputError(
            f"model {name!r} has two parts of the same kind; give one execution engine and at most one generator"
        )
    for part in parts:
        _check_features(name, part, features)
    if BASELINE in by_kind and len(parts) == 1:
        return BaselineModel(name, by_kind[BASELINE], features)
    if BASELINE in by_kind or ENGINE not in by_kind:
        raise InputError(
            f"model {name!r} consists of {', '.join(by_kind) or 'nothing'}; give a program generator with an "
            "execution engine, an execution engine alone (it runs the true program), or one baseline"
        )
    engine, generator = by_kind[ENGINE], by_kind.get(GENERATOR)
    if generator and generator.vocabulary.programs != engine.vocabulary.programs:
        raise InputError(f"model {name!r}: generator and engine number the program tokens differently")
    return EngineModel(name, engine, generator, features)


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
