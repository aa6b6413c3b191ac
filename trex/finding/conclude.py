"""The end of a run so far: its results, the scenes of its hits and its report, written from the draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.explain.causes import explained_results
from trex.export.found_scenes import write_found_scenes
from trex.report.report import write_report
from trex.runs.draw_log import run_draws
from trex.runs.folder import FINDINGS, RunFolder, open_run
from trex.runs.manifest import Manifest
from trex.runs.record import Record
from trex.search.results import Results
from trex.search.results_json import to_json
from trex.trials.confirmation import Confirmation, read_confirmations
from trex.worlds.latents import Latent
from trex.worlds.world import World


@dataclass(frozen=True)
class Outcome:
    """A run with its results, its page and the confirmations of its hits."""

    folder: Path
    manifest: Manifest
    results: Results
    report: Path
    confirmations: tuple[Confirmation, ...] = ()


def conclude_run(folder: RunFolder, records: Sequence[Record]) -> Outcome:
    """Write the results and the report of the draws so far."""
    results = explained_results(folder, records)
    folder.write(FINDINGS, to_json(results))
    files = write_found_scenes(folder, results.found)
    report = write_report(folder, results, files)
    return Outcome(folder.path, folder.manifest, results, report, tuple(read_confirmations(folder)))


def renew_report(run: Path, world: World[Latent] | None = None) -> Outcome:
    """Rewrite the results and the report of a run, with all explanations and confirmations that it now has.

    Raises RunError if the run has no prior draw yet.
    """
    with open_run(run, for_writing=True, world=world) as folder:
        return conclude_run(folder, run_draws(folder))
