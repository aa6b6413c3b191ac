"""What `--trust` does: allows a run folder or a query file to run the code that it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def trust_runs(runs: Iterable[Path]) -> None:
    """Record that the code named by these run folders may run."""
    from trex.runs.folder import open_run
    from trex.runs.trust import trust

    for run in runs:
        with open_run(run, for_writing=False) as folder:
            trust(run, folder.manifest.query)


def trust_queue(runs: Path) -> None:
    """Record that the code named by all present entries of a runs folder's queue may run."""
    from trex.farm.queue.queued_folder import queued_folders, queued_query
    from trex.runs.folder import is_run
    from trex.runs.trust import trust

    for path in queued_folders(runs).values():
        if is_run(path):
            trust_runs([path])
        else:
            trust(path, queued_query(path))


def trust_queries(
    files: Iterable[Path], settings: Sequence[str], ways: Sequence[Sequence[str]] = ((),)
) -> None:
    """Record that the code named by these query files may run, with `settings` and each of the further overrides.

    Both are the user's own words: what they name needs no trust.
    """
    from trex.query.toml_file import parse_query, read_text
    from trex.runs.trust import trust_query

    for path in files:
        text = read_text(path)
        forms = [parse_query(text, str(path), [*settings, *way]) for way in ways]
        trust_query(path, forms, [*settings, *ways[0]])
