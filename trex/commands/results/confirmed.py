"""`trex report --confirm`: the hits of runs at another preset, with the report of each run."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from pathlib import Path

from trex.commands.shell.result import Printed
from trex.finding.conclude import renew_report
from trex.foundation.progress import Progress
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Proportion
from trex.pages.table import Table
from trex.trials.confirm import confirm
from trex.trials.confirmation import COLUMNS, sentences, stay, still_wrong
from trex.trials.options import ConfirmOptions


def confirmed_runs(runs: Sequence[Path], options: ConfirmOptions, progress: Progress) -> Printed:
    """What the hits of each run are at the preset, and all runs together; every report is written again."""
    done = confirm(runs, options, progress)
    documents, lines = [], []
    all_starts: dict[str, Hashable] = {}
    for folder, confirmation in done:
        scenes, preset = confirmation.scenes, confirmation.preset
        outcome = renew_report(folder.path)
        starts = {picture: (folder.path, start) for picture, start in outcome.results.starts.items()}
        all_starts |= starts
        rates = {"stay": _share(stay(scenes, starts)), "still_wrong": _share(still_wrong(scenes, starts))}
        documents.append({"run": str(folder.path), **asdict(confirmation), **rates})
        lines.append(f"{folder.path}: {folder.manifest.facts.question}")
        lines += Table("", COLUMNS, scenes).text("  ")
        lines += [f"  {sentence}" for sentence in sentences(scenes, preset, confirmation.asked, starts)]
        lines.append(f"report: {outcome.report}")
    if len(done) > 1:
        scenes = tuple(scene for _, confirmation in done for scene in confirmation.scenes)
        total = sum(confirmation.asked for _, confirmation in done)
        lines.append(f"all {counted(len(done), 'run')}:")
        lines += [f"  {sentence}" for sentence in sentences(scenes, options.preset, total, all_starts)]
    return Printed({"runs": documents}, "\n".join(lines))


def _share(rate: Proportion) -> list[float]:
    return [rate.count, rate.of, *rate.interval]
