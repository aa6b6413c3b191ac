"""`trex confirm`: renders hits at another preset."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.cli import complete
from trex.cli.command import WHY, Command
from trex.cli.result import AsJson
from trex.cli.trust import Trust, trust_runs
from trex.foundation.errors import STOPPED
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.crosscheck.confirmation import Confirmation
    from trex.runs.folder import RunFolder

    Made = Sequence[tuple[RunFolder, Confirmation]]


def confirm(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run folders, as `trex find` makes them.", autocompletion=complete.runs
        ),
    ],
    preset: Annotated[
        str, typer.Option(help="The preset to render at: clevr, reference, sharp, fast, sketch or draft.")
    ] = "clevr",
    top: Annotated[int, typer.Option(help="Number of hits of each run, most confident first.")] = 20,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, optix, hip, oneapi or metal.")] = "auto",
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Render the hits again at another preset, score them again, and report how many stay hits.

    At the default preset, clevr, a scene takes about two minutes on one core. Each is saved as soon as it is done,
    and the runs take turns: after Ctrl-C or a kill the same command resumes, and with a smaller --top it reports
    what exists.
    """
    from trex.api.watchers import ConfirmProgress
    from trex.cli.commands.judging.explain import renew_report
    from trex.crosscheck.confirm import ConfirmOptions
    from trex.crosscheck.confirm import confirm as confirm_runs
    from trex.pages.display import Display

    if trust:
        trust_runs(runs)
    try:
        with Display() as display:
            made = confirm_runs(runs, ConfirmOptions(preset, top, device), ConfirmProgress(display, preset))
    except KeyboardInterrupt:
        sys.stderr.write("stopped; every scene that was done is kept. The same command goes on.\n")
        raise typer.Exit(STOPPED) from None
    reports = [renew_report(folder.path) for folder, _ in made]
    typer.echo(json.dumps(_json(made)) if as_json else _text(made, reports))


def _text(made: Made, reports: Sequence[Path]) -> str:
    from trex.crosscheck.confirmation import sentences

    lines = []
    for (folder, one), report in zip(made, reports, strict=True):
        lines.append(f"{folder.path}: {folder.manifest.facts.question}")
        lines += [
            f"{number:4}. true answer {scene.truth}: said {scene.before.answer} ({scene.before.confidence:.3f}), "
            f"says {scene.after.answer} ({scene.after.confidence:.3f}): {scene.verdict}"
            for number, scene in enumerate(one.scenes, start=1)
        ]
        lines += [f"  {sentence}" for sentence in sentences(one.scenes, one.preset, one.asked)]
        lines.append(f"report: {report}")
    if len(made) > 1:
        scenes = [scene for _, one in made for scene in one.scenes]
        asked = sum(one.asked for _, one in made)
        lines.append(f"all {counted(len(made), 'run')}:")
        lines += [f"  {sentence}" for sentence in sentences(scenes, made[0][1].preset, asked)]
    return "\n".join(lines)


def _json(made: Made) -> dict[str, object]:
    from trex.crosscheck.confirmation import stay, still_wrong

    return {
        "runs": [
            {
                "run": str(folder.path),
                **asdict(one),
                "stay": [rate.count, rate.of, *rate.interval],
                "still_wrong": [wrong.count, wrong.of, *wrong.interval],
            }
            for folder, one in made
            for rate, wrong in [(stay(one.scenes), still_wrong(one.scenes))]
        ]
    }


COMMAND = Command("confirm", confirm, WHY, 120)
