"""`trex find`, told the kind of each mistake: an attribute's value, which no scene of the search has."""

from __future__ import annotations

import tempfile
from pathlib import Path

import trex
from benchmarks.planted.claims import Claim, claim_of
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.through_trex import Asked, rendering
from benchmarks.planted.referee import BudgetSpentError, Referee
from benchmarks.planted.world import OBJECTS
from trex.scenes.scene import ATTRIBUTES

THINGS = {"shape": "{}s", "size": "{} things", "color": "{} things", "material": "{} things"}
SPARE = 0.6  # of the share of a hint, for the scenes of the prior; the rest decides, explains and judges


def find(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """A search for each hint that can be asked for; its established families."""
    told = [hint for hint in hints if hint.shows in ATTRIBUTES]
    claims, notes = list[Claim](), list[str]()
    for number, hint in enumerate(told):
        share = referee.left // (len(told) - number)
        with tempfile.TemporaryDirectory() as folder, rendering(referee, Path(folder) / "cache"):
            try:
                claims += _searched(Path(folder), referee, seed, hint, int(share * SPARE))
            except BudgetSpentError:
                notes.append(f"{hint.shows} {hint.value}: more renders than the budget has")
    return Result(tuple(claims), note="; ".join(notes))


def _searched(folder: Path, referee: Referee, seed: int, hint: Hint, scenes: int) -> list[Claim]:
    run = trex.find(
        question=f"How many {THINGS[hint.shows].format(hint.value)} are there?", answer="1", revoke=[hint.value],
        objects=list(OBJECTS), preset="fake", model=Asked(referee), seed=seed, prior_scenes=scenes, steps=0,
        control=False, out=folder / "run", progress=False, large=False,
    )  # fmt: skip
    return [
        claim_of(list(family.pattern.conditions), family.words)
        for family in run.results.families.known
        if family.is_established
    ]
