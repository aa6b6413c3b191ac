"""Code of the user's own: a hash of it, and what it raises as an error of ours."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, TypeGuard

from trex.foundation.errors import InputError, TrexError

if TYPE_CHECKING:  # importing torch takes seconds
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

TORCH = "torch"
FOREIGN = "torch."  # code identified by torch's version
LONGEST_WORDS = 300  # characters of an error from the user's code
LAST_WORDS = 200  # of these, from its end, where many libraries say what to do
RAISED = (Exception, SystemExit)  # third-party code may raise anything, or end the program


def code_hash(model: object) -> str:
    """16 hexadecimal digits that change with the code of a function, or of an object's classes; "" if it has none.

    For a torch module, covers the classes of all its parts. Ignores line numbers, comments and torch itself, and
    what the code reads from elsewhere: that shows in its answers.
    """
    code = getattr(model, "__code__", None)
    words = [_code_words(code)] if isinstance(code, CodeType) else _class_words(model)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16] if words else ""


def array_words(found: NDArray[np.generic]) -> str:
    """What the user's code gave, after `np.asarray`: "float32 (2, 4)"; the type of what is no array: "a dict"."""
    is_other = found.dtype == object and not found.ndim
    return f"a {type(found.item()).__name__}" if is_other else f"{found.dtype} {found.shape}"


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


@contextmanager
def called(what: str, kind: type[TrexError] = InputError) -> Iterator[None]:
    """Whatever the user's code raises in here becomes an error of this kind: "`what` fails: ..."."""
    try:
        yield
    except RAISED as error:
        raise kind(f"{what} fails: {error_text(error)}") from error


def error_text(error: BaseException) -> str:
    """An exception from third-party code, in one line: its beginning and its end, or its place if it says nothing."""
    try:
        words = " ".join(str(error).split())
    except Exception:
        words = "unprintable error"
    words = words or _place(error)
    words = words if words.isprintable() else ascii(words)
    if len(words) > LONGEST_WORDS:
        words = f"{words[: LONGEST_WORDS - LAST_WORDS]} ... {words[-LAST_WORDS:]}"
    return f"{type(error).__name__}: {words}"


def _place(error: BaseException) -> str:
    """The line that raised an error without a message, such as a bare `assert`."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "without a message"
    return f"in {Path(frames[-1].filename).name}, line {frames[-1].lineno}: {frames[-1].line or 'no source'}"
