"""`trex find`, told the kind of each mistake: an attribute's value, which no scene of the search has, or "missed"."""

from __future__ import annotations

import tempfile
from pathlib import Path

import trex
from benchmarks.planted.claims import Claim, claim_of
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.through_trex import Asked, rendering
from benchmarks.planted.faults import MISSED
from benchmarks.planted.referee import BudgetSpentError, Referee
from benchmarks.planted.world import OBJECTS
from trex.scenes.scene import ATTRIBUTES

THINGS = {"shape": "{}s", "size": "{} things", "color": "{} things", "material": "{} things"}
MOST_OBJECTS = OBJECTS[1]  # of scenes in which one may be missed: the more, the likelier
SPARE = 0.75  # of the share of a hint, for the scenes of the prior; the rest decides, explains and judges


def find(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """A search for each hint that can be asked for; its established families."""
    told = [hint for hint in hints if hint.shows in (*ATTRIBUTES, MISSED)]
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
    is_missed = hint.shows == MISSED
    things = "things" if is_missed else THINGS[hint.shows].format(hint.value)
    run = trex.find(
        question=f"How many {things} are there?", answer=str(MOST_OBJECTS - 1) if is_missed else "1",
        revoke=[] if is_missed else [hint.value], objects=[MOST_OBJECTS if is_missed else OBJECTS[0], MOST_OBJECTS],
        preset="fake", model=Asked(referee), seed=seed, prior_scenes=scenes, steps=0,
        control=False, out=folder / "run", progress=False, large=False,
    )  # fmt: skip
    return [
        claim_of(list(family.pattern.conditions), family.words)
        for family in run.results.families.known
        if family.is_established
    ]
