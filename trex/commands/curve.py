"""Turn one quantity of a run's hits up and down, and find the dose from which on the model is right."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trex.commands.verb import Session, Verb
from trex.curves.options import CurveOptions
from trex.finding.options import Run
from trex.query.verb_options import Processes, TrustRun

if TYPE_CHECKING:
    from trex.curves.curve import Curve


class CurveCommand(CurveOptions):
    """The options of `trex curve`."""

    run: Run
    processes: Processes = None
    trust: TrustRun = False


@dataclass(frozen=True)
class CurveMade:
    """A curve of a run, and its report."""

    curve: Curve
    report: Path

    def document(self) -> dict[str, object]:
        """The curve as it is stored, with what follows from it."""
        from trex.curves.stored import CODEC

        curve, found = self.curve, self.curve.threshold
        doses = [
            {"dose": dose, "scenes": n, "share": mean, "band_95": list(interval), "outside": curve.outside(k)}
            for k, (dose, n, mean, interval) in enumerate(
                zip(curve.doses, curve.counts, curve.means, curve.band, strict=True)
            )
        ]
        stored = json.loads(CODEC.text(curve))
        return {
            "says": list(curve.sentences),
            "threshold": asdict(found) if found.low or found.high else None,
            "at": doses,
            "curve": stored,
            "report": str(self.report),
        }

    def __str__(self) -> str:
        from trex.curves.shown import text

        return f"{text(self.curve)}\nreport: {self.report}"


def curve(options: CurveCommand, session: Session) -> CurveMade:
    """Turn one quantity of a run's hits up and down, all else equal, and report how often the model is wrong.

    The quantity belongs to the misread object of each hit. A model that answers any question is asked some 200 about
    each hit to find it, without a render; else it is the one that trex explain names, or --object. 12 hits at 8
    doses are 96 renders. Every picture is kept: after Ctrl-C the same command resumes.
    """
    from trex.commands.results.curving import curve_with_report
    from trex.commands.shell.trust import trust_runs

    options.refuse(
        ["doses"] if options.at else [], f"{options.written('at')} names the doses; drop one of the two"
    )
    if options.trust:
        trust_runs([options.run])
    return CurveMade(*curve_with_report(options.run, options, session.display, options.processes))


VERB = Verb(CurveCommand, curve, kept="every render is kept", result=lambda made, _: made.curve)
