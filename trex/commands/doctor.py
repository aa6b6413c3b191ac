"""Report what is installed, what works, and how to get what is missing."""

from __future__ import annotations

from dataclasses import asdict

from trex.commands.shell.result import Printed
from trex.commands.verb import Session, verb_of
from trex.foundation.errors import OURS


def doctor(session: Session) -> Printed:
    """Examine the installation: Blender, devices, torch, memory, cache, models; renders one small scene.

    Exits with 1 if something that a search needs is missing or broken.
    """
    from trex.doctor.examine import findings
    from trex.doctor.finding import Finding, State
    from trex.foundation.words import counted
    from trex.pages.table import Column, Table

    columns: tuple[Column[Finding], ...] = (
        Column("part", lambda finding: finding.part),
        Column("state", lambda finding: finding.state.value),
        Column("found", lambda finding: finding.found),
    )
    found = list(findings())
    faults = [finding.part for finding in found if finding.state is State.FAULT]
    lines = Table("installation", columns, found).text()
    lines += [f"{finding.part}: {finding.remedy}" for finding in found if finding.remedy]
    end = f"{counted(len(faults), 'fault')}: {', '.join(faults)}" if faults else "all works"
    return Printed(
        [asdict(finding) for finding in found], "\n".join([*lines, end]), code=OURS if faults else 0
    )


VERB = verb_of(doctor)
