"""Write a first query, a model file and a notebook, which run as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from trex.commands.shell.result import Printed
from trex.commands.verb import Session, verb_of
from trex.foundation.errors import InputError, RunError
from trex.foundation.options import Option
from trex.foundation.words import quoted

STARTER = Path(__file__).parent / "starter"
FILES = ("query.toml", "mymodel.py", "first_run.ipynb")
NEW = "give a new folder: trex init FOLDER"


def init(
    session: Session,
    folder: Annotated[
        Path, Option("Where to write; made if it is missing.", metavar="[FOLDER]", is_argument=True)
    ] = Path("."),
) -> Printed:
    """Write query.toml, mymodel.py and first_run.ipynb: a query with comments, a model, and both in a notebook.

    No file is overwritten.
    """
    from trex.foundation.files import write_atomic

    there = [str(folder / name) for name in FILES if (folder / name).exists()]
    if there:
        verb = "exists" if len(there) == 1 else "exist"
        raise InputError(f"{', '.join(there)} {verb} already; {NEW}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make folder {folder}: {error.strerror}; {NEW}") from error
    for name in FILES:
        write_atomic(folder / name, (STARTER / name).read_bytes())
    return Printed({"folder": str(folder), "files": list(FILES)}, "\n".join(words(folder)))


def words(folder: Path) -> list[str]:
    """What was written, and the commands that use it."""
    go = [] if folder == Path(".") else [f"cd {quoted(folder)}"]
    return [
        f"wrote {', '.join(FILES)} to {folder}",
        *go,
        "trex check query.toml --model mymodel:factory    # what it would do; renders nothing",
        "trex find query.toml --model mymodel:factory     # search",
        "jupyter lab first_run.ipynb                      # the same from Python (pip install jupyterlab)",
    ]


VERB = verb_of(init)
