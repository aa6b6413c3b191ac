"""Render the hits again at another preset, and report how many stay hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell import complete
from trex.commands.shell.options import LOOKS, RenderDevice
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, print_result
from trex.commands.shell.trust import Trust, trust_runs
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.inference.statistics.proportion import Proportion
    from trex.runs.folder import RunFolder
    from trex.trials.confirmation import Confirmation

    Made = Sequence[tuple[RunFolder, Confirmation]]


def confirm(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run folders, as `trex find` makes them.", autocompletion=complete.runs
        ),
    ],
    preset: Annotated[str, typer.Option(help=f"The preset to render at: {LOOKS}.")] = "clevr",
    top: Annotated[int, typer.Option(help="Number of hits of each run, most confident first.")] = 20,
    device: RenderDevice = "auto",
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Render the hits again at another preset, score them again, and report how many stay hits.

    At the default preset, clevr, a scene takes about two minutes on one core. Each is saved as soon as it is done,
    and the runs take turns: after Ctrl-C or a kill the same command resumes, and with a smaller --top it reports
    what exists.
    """
    from trex.finding.conclude import renew_report
    from trex.trials.confirm import ConfirmOptions
    from trex.trials.confirm import confirm as confirm_runs

    if trust:
        trust_runs(runs)
    with display_until_stopped("every scene that was done is kept") as display:
        done = confirm_runs(runs, ConfirmOptions(preset, top, device), display.show)
    reports = [renew_report(folder.path).report for folder, _ in done]
    print_result(_json(done), _text(done, reports), as_json)


def _text(done: Made, reports: Sequence[Path]) -> str:
    from trex.pages.table import Table
    from trex.trials.confirmation import COLUMNS, sentences

    lines = []
    for (folder, confirmation), report in zip(done, reports, strict=True):
        lines.append(f"{folder.path}: {folder.manifest.facts.question}")
        lines += Table("", COLUMNS, confirmation.scenes).text("  ")
        lines += [
            f"  {sentence}"
            for sentence in sentences(confirmation.scenes, confirmation.preset, confirmation.asked)
        ]
        lines.append(f"report: {report}")
    if len(done) > 1:
        scenes = [scene for _, confirmation in done for scene in confirmation.scenes]
        total = sum(confirmation.asked for _, confirmation in done)
        lines.append(f"all {counted(len(done), 'run')}:")
        lines += [f"  {sentence}" for sentence in sentences(scenes, done[0][1].preset, total)]
    return "\n".join(lines)


def _json(done: Made) -> dict[str, object]:
    from trex.trials.confirmation import stay, still_wrong

    return {
        "runs": [
            {
                "run": str(folder.path),
                **asdict(confirmation),
                "stay": _share(stay(confirmation.scenes)),
                "still_wrong": _share(still_wrong(confirmation.scenes)),
            }
            for folder, confirmation in done
        ]
    }


def _share(rate: Proportion) -> list[float]:
    return [rate.count, rate.of, *rate.interval]


COMMAND = confirm
