"""`--fail-if` and `--junit`: an exit code and a file of test results from what a search has found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.foundation.errors import InputError

if TYPE_CHECKING:
    from trex.search.judging.fail_if import FailIf, Ruling
    from trex.search.results import Results

Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help='found, or "rate > 0.01": exit 3 if it holds, 4 if that is undecided. Repeatable.',
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML, one test case each."),
]


@dataclass(frozen=True)
class Gate:
    """Checked conditions, and the file for their verdicts; none of either by default."""

    conditions: tuple[FailIf, ...] = ()
    junit: Path | None = None

    def rule(self, run: Path, results: Results, *, is_finished: bool = True) -> tuple[Ruling, ...]:
        """The verdicts on the results of a run, also written to the file, one test case each."""
        from trex.foundation.junit import Case, CaseStatus, write_junit
        from trex.search.judging.fail_if import Decision, rule

        rulings = tuple(rule(one, results, is_finished=is_finished) for one in self.conditions)
        if self.junit is not None:
            status = {
                Decision.PASS: CaseStatus.PASSED,
                Decision.FAIL: CaseStatus.FAILED,
                Decision.UNDECIDED: CaseStatus.UNDECIDED,
            }
            cases = [Case(one.condition.text, run.name, status[one.decision], one.reason) for one in rulings]
            write_junit(self.junit, "trex find", cases)
        return rulings


def make_gate(conditions: list[str] | None, junit: Path | None) -> Gate:
    """The gate that the options ask for; InputError names a condition or a path that cannot be used."""
    from trex.foundation.junit import check_junit
    from trex.search.judging.fail_if import parse_fail_if

    if junit is not None:
        if not conditions:
            raise InputError("--junit does not apply: it holds verdicts; add --fail-if found")
        check_junit(junit)
    return Gate(tuple(map(parse_fail_if, dict.fromkeys(conditions or []))), junit)


def rulings_json(rulings: tuple[Ruling, ...]) -> dict[str, object]:
    """The verdicts for machines, under one key; nothing if there are none."""
    told = [
        {"fail_if": one.condition.text, "verdict": one.decision.name.lower(), "reason": one.reason}
        for one in rulings
    ]
    return {"verdicts": told} if told else {}


def exit_by(rulings: tuple[Ruling, ...]) -> None:
    """End the command with the exit code of the verdicts, unless all of them pass."""
    from trex.search.judging.fail_if import overall

    if code := overall(rulings).value:
        raise typer.Exit(code)
