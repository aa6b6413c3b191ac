"""`trex audit`, told nothing: random scenes, and scenes with rare combinations, make rules; others judge them."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

import trex
from benchmarks.planted.claims import Claim, claim_of
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.through_trex import Asked, rendering
from benchmarks.planted.referee import BudgetSpentError, Referee
from benchmarks.planted.world import OBJECTS
from trex.auditing.judging.findings import Finding
from trex.auditing.judging.sought import FEW
from trex.auditing.rare.choice import chosen_scenes
from trex.auditing.rare.narrow import MORE
from trex.auditing.rare.steps import NARROWING_PART
from trex.bank.drawn import member
from trex.foundation.progress import Progress, silent
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene

SWEPT = 0.22  # of the budget, random scenes that make rules, and as many that judge them
# Of the budget, scenes with rare combinations, as many changed copies of those that failed, and a third as many that
# narrow rules.
RARE = 0.18
FAMILIES = 3  # that the rest has room for
QUESTIONS = 16  # about each scene

# Audits with one seed look through the same scenes, whatever the target: drawn once for all targets of a process.
_member = lru_cache(maxsize=250_000)(member)
_chosen = lru_cache(maxsize=4)(chosen_scenes)


def audit(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """An audit whose scenes fit in the budget, and which tries a few failures of each family again.

    One of which it says that it depends on how the question is put is not claimed to fail in all such questions.
    """
    scenes, rare = int(referee.budget * SWEPT), int(referee.budget * RARE)
    left = referee.budget - 2 * (scenes + rare) - rare // NARROWING_PART // MORE * MORE
    tested = max(1, min(20, left // FAMILIES - FEW))
    with (
        tempfile.TemporaryDirectory() as folder,
        rendering(referee, Path(folder) / "cache"),
        patch("trex.bank.bank.member", _member),
        patch("trex.auditing.rare.steps.chosen_scenes", _chosen_once),
    ):
        world = Path(folder) / "world.toml"
        world.write_text(f"[scene]\nobjects = [{OBJECTS[0]}, {OBJECTS[1]}]\n")
        try:
            done = trex.audit(
                model=Asked(referee), world=world, scenes=scenes, held_out=scenes, rare=rare, questions=QUESTIONS,
                preset="fake", confirm_preset="fake", tested=tested, probed=0, explain=False, seed=seed, bank_seed=seed,
                out=Path(folder) / "audit", bank=Path(folder) / "bank", progress=False, processes=1,
            )  # fmt: skip
        except BudgetSpentError:
            return Result((), note="its families were more than the budget has room for")
        return Result(
            tuple(_claim(each) for each in done.families if not each.depends_on_wording),
            sum(bool(examined.mistakes) for _, examined in done.done.held_out),
            f"{len(done.rejected)} rules not confirmed",
        )


def _chosen_once(
    prior: ScenePrior, seed: int, n: int, progress: Progress = silent, processes: int = 1
) -> list[Scene]:
    return _chosen(prior, seed, n)


def _claim(finding: Finding) -> Claim:
    return claim_of(
        list(finding.family.pattern.conditions),
        finding.words,
        (finding.rate_interval.low, finding.rate_interval.high),
    )
