"""`--trust`: the code that a run folder of somebody else names may be run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Also for a run folder that you have not made here: run the code, or ask the address, that it names.",
    ),
]


def trust_runs(runs: Iterable[Path]) -> None:
    """Records that what these run folders name may be run."""
    from trex.runs.folder import open_run
    from trex.runs.trust import trust

    for run in runs:
        with open_run(run, for_writing=False) as folder:
            trust(run, folder.manifest.query)


def trust_queue(runs: Path) -> None:
    """Records it of all that is in the queue of a runs folder at this moment."""
    from trex.queue.queued_folder import queued_folders, queued_query
    from trex.runs.folder import is_run
    from trex.runs.trust import trust

    for path in queued_folders(runs).values():
        if is_run(path):
            trust_runs([path])
        else:
            trust(path, queued_query(path))
