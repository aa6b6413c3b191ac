"""A model that is an object of this Python process: how worlds reach it, and its name in a run.

A world opens the model that its query names (`trex.worlds.world.open_model`), and user-defined worlds do so too,
with the query as their only argument. An object therefore cannot be passed as an argument; it is lent for the
length of one call instead: `with lent(model): ...`. The loan is a context variable: it ends with the block, and
other threads and tasks do not see it.

Imports no torch: checking run folders for such names does not need it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from trex.foundation.errors import InputError

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import nn

PREFIX = "live:"
TORCH = "torch"


@dataclass(frozen=True)
class Live:
    """A torch module or a callable, and its name in queries and run folders."""

    name: str
    thing: Callable[..., object]


def live(thing: object) -> Live:
    """The object with its name, "live:package.module.Class"; InputError if it is no torch module and no callable.

    The name identifies the class or function. Weights and answers are not part of it: a run records them separately.
    """
    if isinstance(thing, type):
        raise InputError(f"model is the class {thing.__qualname__}; give an instance of it")
    if not callable(thing):
        raise InputError(
            f"model is a {type(thing).__name__}; give a name, a torch.nn.Module, or a callable (pictures, question) "
            "that returns probabilities"
        )
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    name = f"{PREFIX}{named.__module__}.{named.__qualname__}"
    return Live(name, thing)


_LENT: ContextVar[Live | None] = ContextVar("lent model", default=None)


@contextmanager
def lent(model: Live | None) -> Iterator[None]:
    """Inside the block the name of this model opens this object; None lends nothing.

    Afterwards restores the number of torch's threads, and the training mode of each part of the module.
    """
    with ExitStack() as after:
        _restore_torch(model, after)
        token = _LENT.set(model)
        after.callback(_LENT.reset, token)
        yield


def lent_thing(name: str) -> Callable[..., object]:
    """The object lent under this name; InputError if there is none."""
    model = _LENT.get()
    if model is None or model.name != name:
        raise InputError(
            f"model {name!r} is an object of a Python session, which a run folder cannot hold; resume it there: "
            "trex.open_run(folder).resume(model=...)"
        )
    return model.thing


def is_module(thing: object) -> TypeGuard[nn.Module]:
    """Whether it is a torch module; where nobody has imported torch, nothing is."""
    if TORCH not in sys.modules:
        return False
    from torch import nn

    return isinstance(thing, nn.Module)


def _restore_torch(model: Live | None, after: ExitStack) -> None:
    """Calls that undo what using a model changes."""
    if TORCH not in sys.modules:
        return
    import torch

    after.callback(torch.set_num_threads, torch.get_num_threads())
    if model is not None and is_module(model.thing):
        for part in model.thing.modules():
            after.callback(setattr, part, "training", part.training)
