"""A suite's results as test cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex.foundation.junit import Case, CaseStatus
from trex.suite.run import Change, SceneResult


def is_failure(result: SceneResult, *, strict: bool) -> bool:
    """Whether a scene fails the build: it fails newly or, with `strict`, at all."""
    return result.fails and (strict or result.change is Change.NEWLY_FAILING)


def cases(suite: Path, results: Sequence[SceneResult], *, strict: bool) -> list[Case]:
    """One case a scene; failures that are known are skipped, with the reason."""
    return [
        Case(one.key, suite.resolve().name, _status(one, strict), f"{one.change.value}: {one.words}")
        for one in results
    ]


def _status(result: SceneResult, strict: bool) -> CaseStatus:
    if is_failure(result, strict=strict):
        return CaseStatus.FAILED
    return CaseStatus.SKIPPED if result.fails else CaseStatus.PASSED
