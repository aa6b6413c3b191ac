"""Render the hits again at another preset, and report how many stay hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trex.commands.verb import Session, Verb
from trex.foundation.options import Option
from trex.foundation.words import counted
from trex.query.verb_options import TrustRun
from trex.trials.options import ConfirmOptions

if TYPE_CHECKING:
    from trex.inference.statistics.proportion import Proportion
    from trex.runs.folder import RunFolder
    from trex.trials.confirmation import Confirmation


class ConfirmCommand(ConfirmOptions):
    """The options of `trex confirm`."""

    runs: Annotated[
        tuple[Path, ...],
        Option(
            "Run folders, as `trex find` makes them.", metavar="RUN...", complete="runs", is_argument=True
        ),
    ]
    trust: TrustRun = False


@dataclass(frozen=True)
class ConfirmedRuns:
    """What the confirmed hits of each run are now, and its report."""

    done: Sequence[tuple[RunFolder, Confirmation]]
    reports: Sequence[Path]

    def document(self) -> object:
        from trex.trials.confirmation import stay, still_wrong

        return {
            "runs": [
                {
                    "run": str(folder.path),
                    **asdict(confirmation),
                    "stay": _share(stay(confirmation.scenes)),
                    "still_wrong": _share(still_wrong(confirmation.scenes)),
                }
                for folder, confirmation in self.done
            ]
        }

    def __str__(self) -> str:
        from trex.pages.table import Table
        from trex.trials.confirmation import COLUMNS, sentences

        lines = []
        for (folder, confirmation), report in zip(self.done, self.reports, strict=True):
            lines.append(f"{folder.path}: {folder.manifest.facts.question}")
            lines += Table("", COLUMNS, confirmation.scenes).text("  ")
            lines += [
                f"  {sentence}"
                for sentence in sentences(confirmation.scenes, confirmation.preset, confirmation.asked)
            ]
            lines.append(f"report: {report}")
        if len(self.done) > 1:
            scenes = [scene for _, confirmation in self.done for scene in confirmation.scenes]
            total = sum(confirmation.asked for _, confirmation in self.done)
            lines.append(f"all {counted(len(self.done), 'run')}:")
            lines += [f"  {sentence}" for sentence in sentences(scenes, self.done[0][1].preset, total)]
        return "\n".join(lines)


def confirm(options: ConfirmCommand, session: Session) -> ConfirmedRuns:
    """Render the hits again at another preset, score them again, and report how many stay hits.

    At the default preset, clevr, a scene takes about two minutes on one core. Each is saved as soon as it is done,
    and the runs take turns: after Ctrl-C or a kill the same command resumes, and with a smaller --top it reports
    what exists.
    """
    from trex.commands.shell.trust import trust_runs
    from trex.finding.conclude import renew_report
    from trex.trials.confirm import confirm as confirm_runs

    if options.trust:
        trust_runs(options.runs)
    done = confirm_runs(options.runs, options, session.display.show)
    return ConfirmedRuns(done, [renew_report(folder.path).report for folder, _ in done])


def _share(rate: Proportion) -> list[float]:
    return [rate.count, rate.of, *rate.interval]


VERB = Verb(ConfirmCommand, confirm, kept="every scene that was done is kept")
