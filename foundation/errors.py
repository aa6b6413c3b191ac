"""The one small tree of errors; each message says what was wrong, the value, what is allowed and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_VALUE = 100  # characters of a value that an error repeats


class TrexError(Exception):
    """Anything this project reports to its user."""


class InputError(TrexError):
    """The user's input is wrong; nothing was rendered, trained or overwritten (exit code 2)."""


class RenderError(TrexError):
    """A picture could not be made."""


class ModelError(TrexError):
    """A model could not be loaded or does not do what its card says."""


class RunError(TrexError):
    """A run folder cannot be used."""


def unknown(kind: str, value: str, allowed: Iterable[str], fix: str = "") -> InputError:
    """An InputError that names the value, the nearest allowed one and all that is allowed."""
    choices = tuple(allowed)
    near = difflib.get_close_matches(value[:LONGEST_VALUE], choices, n=1)
    told = repr(value) if len(value) <= LONGEST_VALUE else repr(value[:LONGEST_VALUE]) + "..."
    hint = f"; did you mean {near[0]!r}?" if near else ""
    ending = f" {fix}" if fix else ""
    return InputError(f"{kind} {told} is not known ({', '.join(choices)}){hint}{ending}")


USER = 2


OURS = 1


STOPPED = 130
