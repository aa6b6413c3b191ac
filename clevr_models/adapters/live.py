"""A model that is an object of this Python process: how worlds reach it, and its name in a run.

A world opens the model that its query names (`trex.worlds.world.open_model`), and user-defined worlds do so too,
with the query as their only argument. An object therefore cannot be passed as an argument; it is made available for
one call instead: `with session_model_available(model): ...`. A context variable holds it until the block ends;
other threads and tasks do not see it.

Imports no torch: checking run folders for such names does not need it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.foundation.extensions import session_name
from trex.foundation.own_code import TORCH, is_module


@dataclass(frozen=True)
class SessionModel:
    """A torch module or a callable, and its name in queries and run folders."""

    name: str
    model: Callable[..., object]


def as_session_model(thing: object) -> SessionModel:
    """The object with its name, "live:package.module.Class"; InputError if it is not callable.

    The name identifies the class or function. Weights and answers are not part of it: a run records them separately.
    """
    if isinstance(thing, type):
        raise InputError(f"model is the class {thing.__qualname__}; give an instance of it")
    if not callable(thing):
        raise InputError(
            f"model is of type {type(thing).__name__}; give a name, a torch.nn.Module, or a callable "
            "(pictures, question) that returns probabilities"
        )
    return SessionModel(session_name(thing), thing)


_AVAILABLE: ContextVar[SessionModel | None] = ContextVar("session model", default=None)
_USED: ContextVar[list[str] | None] = ContextVar("names of session models that were taken", default=None)


@contextmanager
def session_model_available(model: SessionModel | None) -> Iterator[None]:
    """Inside the block, opening a model of this name gives this object; None does nothing.

    Afterwards restores the number of torch's threads, and the training mode of each part of the module.
    """
    with ExitStack() as after:
        _restore_torch(model, after)
        token = _AVAILABLE.set(model)
        after.callback(_AVAILABLE.reset, token)
        yield


def session_model(name: str) -> Callable[..., object]:
    """The available object of this name; InputError if there is none."""
    model = _AVAILABLE.get()
    if model is None or model.name != name:
        raise InputError(
            f"model {name!r} is an object of a Python session, which a run folder cannot store; give it again in "
            "Python: trex.open_run(folder).resume(model=...), and so for .explain and .confirm"
        )
    used = _USED.get()
    if used is not None:
        used.append(name)
    return model.model


@contextmanager
def noting_use() -> Iterator[list[str]]:
    """Inside the block, the list receives the name of the available object whenever somebody takes it."""
    used: list[str] = []
    token = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(token)


def _restore_torch(model: SessionModel | None, after: ExitStack) -> None:
    """Register calls that undo what using a model changes."""
    if TORCH not in sys.modules:
        return
    import torch

    after.callback(torch.set_num_threads, torch.get_num_threads())
    if model is not None and is_module(model.model):
        for part in model.model.modules():
            if hasattr(part, "training"):  # frozen programs of torch.jit have no modes
                after.callback(setattr, part, "training", part.training)
