"""The hits of a run that other commands render, explain or export again."""

from __future__ import annotations

from trex.foundation.errors import RunError
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, check_scenes
from trex.search.hit import Hit
from trex.search.results import read_results


def stored_hits(folder: RunFolder, purpose: str, top: int | None = None) -> tuple[Hit, ...]:
    """The hits whose pictures are stored, most confident first, at most `top`.

    RunError if the run's world has no objects, or if it has no such hit; `purpose` ("to explain") is why they are read.
    """
    check_scenes(folder)
    results = read_results(folder.manifest, run_draws(folder))
    found = tuple(one for one in results.found if one.record.picture)[:top]
    if not found:
        how = "start a longer search in another folder (trex find QUERY --set search.steps=... --out NEW)"
        if not folder.is_finished:
            how = f"search longer (trex resume {folder.path})"
        raise RunError(f"{folder.path} has no hit {purpose}; {how} or search for something else")
    return found
