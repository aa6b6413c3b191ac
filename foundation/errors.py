"""The project's errors; each message states the fault, the value, the allowed values and a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MAX_VALUE_LENGTH = 100  # of a value repeated in an error


class TrexError(Exception):
    """Base of all errors that this project reports to its user."""


class InputError(TrexError, ValueError):
    """The user's input is wrong; nothing was rendered, trained or overwritten (exit code 2)."""


class RenderError(TrexError):
    """A picture could not be rendered."""


class ModelError(TrexError):
    """A model could not be loaded or does not behave as its card says."""


class RunError(TrexError):
    """A run folder cannot be used."""


def unknown(kind: str, value: str, allowed: Iterable[str], fix: str = "") -> InputError:
    """An InputError that names the value, the nearest allowed word, and all that is allowed, then `fix`.

    No number is near: 17 is not meant for 7.
    """
    choices = tuple(allowed)
    hint = did_you_mean(value, [choice for choice in choices if not choice.isdigit()])
    quoted = repr(value) if len(value) <= MAX_VALUE_LENGTH else repr(value[:MAX_VALUE_LENGTH]) + "..."
    wrong = f"{kind} {quoted} is not known ({', '.join(choices)}){hint}"
    if not fix:
        return InputError(wrong)
    if fix[0].isupper():  # a sentence of its own
        return InputError(f"{wrong}{'' if hint else '.'} {fix}")
    return InputError(f"{wrong} {fix}" if fix[0] == "(" else f"{wrong}; {fix}")


def did_you_mean(value: str, words: Sequence[str], cutoff: float = 0.6) -> str:
    """ "; did you mean 'shipped'?" of the nearest word, "" if none is near (`difflib.get_close_matches`)."""
    near = difflib.get_close_matches(value[:MAX_VALUE_LENGTH], words, n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


USER = 2


OURS = 1


FAILED = 3  # a verdict: the condition holds, or a scene of a suite fails newly


UNDECIDED = 4  # a verdict: the draws do not tell whether the condition holds


STOPPED = 130
