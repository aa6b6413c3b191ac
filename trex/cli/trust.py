"""`--trust`: allows a foreign run folder to run the code that it names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Trust a run folder from elsewhere: run the code, or use the address, that it names.",
    ),
]


def trust_runs(runs: Iterable[Path]) -> None:
    """Record that the code named by these run folders may run."""
    from trex.runs.folder import open_run
    from trex.runs.trust import trust

    for run in runs:
        with open_run(run, for_writing=False) as folder:
            trust(run, folder.manifest.query)


def trust_queue(runs: Path) -> None:
    """Record that the code named by all present entries of a runs folder's queue may run."""
    from trex.queue.queued_folder import queued_folders, queued_query
    from trex.runs.folder import is_run
    from trex.runs.trust import trust

    for path in queued_folders(runs).values():
        if is_run(path):
            trust_runs([path])
        else:
            trust(path, queued_query(path))
