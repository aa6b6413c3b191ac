"""What repairs take from Python: paths, overrides and a display."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from pathlib import Path

from trex.foundation.errors import InputError
from trex.pages.display import display_if
from trex.query.toml_text import toml_value
from trex.repair.loaded import Progress
from trex.runs.place import RUNS

REPAIRS = RUNS / "repair"  # where repairs are kept if nothing else is said
Given = str | PathLike[str]
ShowProgress = Callable[[Path], AbstractContextManager[Progress]]


def overrides_of(given: Mapping[str, object] | None) -> list[str]:
    """KEY=VALUE for each key of `set`; InputError unless it is a mapping of keys."""
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise InputError('set is not a mapping of keys; write e.g. set={"identify.noise": "printed"}')
    return [f"{key}={toml_value(key, value)}" for key, value in (given or {}).items()]


def path_of(given: Given | None) -> Path | None:
    """As a path."""
    return None if given is None else Path(fspath(given))


def display_of(progress: bool) -> ShowProgress:
    """The display of a step, which says first where it writes; nothing without `progress`."""

    @contextmanager
    def shown(place: Path) -> Iterator[Progress]:
        with display_if(progress) as display:
            display.say(f"writing to {place}")
            yield display.show

    return shown
