"""A suite's results as test cases."""

from __future__ import annotations

from pathlib import Path

from trex.foundation.junit import Case, CaseStatus
from trex.suite.run import Change, SceneResult, SuiteRun


def is_failure(result: SceneResult, *, strict: bool) -> bool:
    """Whether a scene fails the build: it fails newly or, with `strict`, at all."""
    return result.fails and (strict or result.change is Change.NEWLY_FAILING)


def cases(suite: Path, done: SuiteRun, *, strict: bool) -> list[Case]:
    """One case a scene, in a group for each look; failures that are known are skipped, with the reason."""
    group = suite.resolve().name + (f" ({done.look.name})" if done.look.words else "")
    return [
        Case(one.key, group, _status(one, strict), f"{one.change.value}: {one.words}") for one in done.results
    ]


def _status(result: SceneResult, strict: bool) -> CaseStatus:
    if is_failure(result, strict=strict):
        return CaseStatus.FAILED
    return CaseStatus.SKIPPED if result.fails else CaseStatus.PASSED
