"""A hash of the code of a function, or of an object's classes: what a model computes besides its weights."""

from __future__ import annotations

import hashlib
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import nn

TORCH = "torch"
FOREIGN = "torch."  # code identified by torch's version


def code_hash(model: object) -> str:
    """16 hexadecimal digits that change with the code of a function, or of an object's classes; "" if it has none.

    For a torch module, covers the classes of all its parts. Ignores line numbers, comments and torch itself, and
    what the code reads from elsewhere: that shows in its answers.
    """
    code = getattr(model, "__code__", None)
    words = [_code_words(code)] if isinstance(code, CodeType) else _class_words(model)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16] if words else ""


def is_module(thing: object) -> TypeGuard[nn.Module]:
    """Whether it is a torch module; False if torch was never imported."""
    if TORCH not in sys.modules:
        return False
    from torch import nn

    return isinstance(thing, nn.Module)


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
