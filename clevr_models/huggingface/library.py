"""The library `transformers`: imported when a model is loaded, silent, and with its errors in the user's words."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from types import ModuleType

from trex.clevr_models.adapters.callable_model import RAISED, error_text
from trex.foundation.errors import InputError, TrexError
from trex.foundation.extensions import import_extra


def import_library(name: str = "transformers") -> ModuleType:
    """The module; InputError with the command that installs it if it is missing."""
    return import_extra(name, "hf", "a model hf:NAME needs transformers")


@contextlib.contextmanager
def loading(what: str) -> Iterator[None]:
    """Maps any error of the library to InputError, and silences its progress bars and warnings."""
    transformers = import_library()
    was_on = transformers.utils.logging.is_progress_bar_enabled()
    level = logging.getLogger("transformers").level
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        yield
    except TrexError:
        raise
    except RAISED as error:
        raise InputError(f"{what} cannot be loaded by transformers: {error_text(error)}") from error
    finally:
        logging.getLogger("transformers").setLevel(level)
        if was_on:
            transformers.utils.logging.enable_progress_bar()
