"""Report what is installed, what works, and how to get what is missing."""

from __future__ import annotations

from dataclasses import asdict

import typer

from trex.commands.shell.result import AsJson, print_result
from trex.foundation.errors import OURS


def doctor(as_json: AsJson = False) -> None:
    """Examine the installation: Blender, devices, torch, memory, cache, models; renders one small scene.

    Exits with 1 if something that a search needs is missing or broken.
    """
    from trex.doctor.examine import findings
    from trex.doctor.finding import Finding, State
    from trex.foundation.words import counted
    from trex.pages.table import Column, Table

    columns: tuple[Column[Finding], ...] = (
        Column("part", lambda one: one.part),
        Column("state", lambda one: one.state.value),
        Column("found", lambda one: one.found),
    )
    found = list(findings())
    faults = [one for one in found if one.state is State.FAULT]
    lines = Table("installation", columns, found).text()
    lines += [f"{one.part}: {one.remedy}" for one in found if one.remedy]
    end = (
        f"{counted(len(faults), 'fault')}: {', '.join(one.part for one in faults)}" if faults else "all works"
    )
    print_result([asdict(one) for one in found], "\n".join([*lines, end]), as_json)
    if faults:
        raise typer.Exit(OURS)


COMMAND = doctor
