"""A session's object as a CLEVR model: identified by a module's weights or a callable's code, and by its answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import CodeType, FunctionType

import numpy as np
import torch
from torch import nn

from trex.clevr_models.adapters.callable_model import AdaptedModel, probe_pictures
from trex.clevr_models.adapters.live import is_module, session_model
from trex.clevr_models.adapters.torch_module import UserModel, UserModule
from trex.clevr_models.interface.bound import BoundModule, ClevrModel
from trex.clevr_models.interface.question import Question

FOREIGN = "torch."  # code identified by torch's version


class ProbedModule(UserModule):
    """A user's module with its code's hash, and its answers to `probe_pictures`: weights alone do not identify it."""

    def __init__(self, name: str, module: nn.Module, labels: tuple[str, ...]) -> None:
        super().__init__(name, module, labels)
        self.identity = code_hash(module)
        self.tried: tuple[float, ...] = tuple(np.exp(self.log_probs(probe_pictures())).ravel().tolist())


class LiveModule:
    """A torch module used as it is, with the question that it was made for."""

    input_size: tuple[int, int] | None = None

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name = name
        self.module = module

    def bind(self, question: Question) -> BoundModule:
        """The module, probed with pictures; InputError if it fails or its output has another shape."""
        bound = UserModel(self.name, lambda _: self.module).bind(question)
        return ProbedModule(self.name, bound.module, bound.labels)


def live_model(name: str, threads: int = 1) -> ClevrModel:
    """The session's object of this name as a model; sets torch to `threads` threads, as for any model."""
    model = session_model(name)
    torch.set_num_threads(threads)
    if is_module(model):
        return LiveModule(name, model)
    return AdaptedModel(name, model, code_hash(model))


def code_hash(model: Callable[..., object]) -> str:
    """16 hexadecimal digits that change with the code of a function, or of an object's classes; "" if it has none.

    For a torch module, covers the classes of all its parts. Ignores line numbers, comments and torch itself, and
    what the code reads from elsewhere: that shows in its answers.
    """
    code = getattr(model, "__code__", None)
    words = [_code_words(code)] if isinstance(code, CodeType) else _class_words(model)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16] if words else ""


def _class_words(model: object) -> list[str]:
    """The functions of an object's own classes, as words that are the same in every process."""
    parts = model.modules() if is_module(model) else [model]
    classes = {
        kind for part in parts for kind in type(part).__mro__ if not kind.__module__.startswith(FOREIGN)
    }
    return sorted(
        f"{kind.__qualname__}.{name} {_code_words(member.__code__)}"
        for kind in classes
        for name, member in vars(kind).items()
        if isinstance(member, FunctionType)
    )


def _code_words(code: CodeType) -> str:
    return f"{code.co_code.hex()} {code.co_names} {[_words(constant) for constant in code.co_consts]}"


def _words(constant: object) -> str:
    """A constant of a function, in a form that is the same in every process."""
    if isinstance(constant, CodeType):
        return _code_words(constant)
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_words, constant)))}}}"
    if isinstance(constant, tuple):
        return f"({', '.join(map(_words, constant))})"
    return repr(constant)
