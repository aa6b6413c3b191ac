"""What an entrant claims: a sentence that can be checked in any scene, in the vocabulary of conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.world import COLUMNS, OF_OBJECT, OF_QUESTION, OF_SCENE, Table
from trex.scenes.conditions import Bools, Condition

Subject = Literal["object", "scene", "question"]
Pictures = NDArray[np.uint8]
KEYED: dict[tuple[Subject, str], Condition] = {
    **{("object", each.key): each for each in OF_OBJECT},
    **{("scene", each.key): each for each in OF_SCENE},
    **{("question", each.key): each for each in OF_QUESTION},
}


@dataclass(frozen=True)
class Part:
    """That some unit meets all literals or, if not `exists`, that none does.

    A literal is a condition's key, and whether it must hold.
    Units are the objects of a scene, the scene itself, or a question about it.
    """

    subject: Subject
    literals: tuple[tuple[str, bool], ...]
    exists: bool = True


@dataclass(frozen=True)
class Claim:
    """The model fails where all parts hold; `rate` is the interval that the entrant states for how often, if any."""

    parts: tuple[Part, ...]
    words: str
    rate: tuple[float, float] | None = None

    @property
    def of_question(self) -> bool:
        """Whether it speaks of questions."""
        return any(part.subject == "question" for part in self.parts)


@dataclass(frozen=True)
class Slice:
    """A claim of the pixel track: the model fails on the pictures that `holds` picks, (n, 80, 120, 3) -> (n,)."""

    holds: Callable[[Pictures], Bools]
    words: str


def claim_of(conditions: list[Condition], words: str, rate: tuple[float, float] | None = None) -> Claim:
    """The claim of a conjunction: its conditions on an object are met by one object."""
    by: dict[Subject, list[tuple[str, bool]]] = {"object": [], "scene": [], "question": []}
    for condition in conditions:
        subject: Subject = (
            "scene" if condition.part == "scene" else "question" if condition.part == "question" else "object"
        )
        by[subject].append((condition.key, True))
    return Claim(
        tuple(Part(subject, tuple(literals)) for subject, literals in by.items() if literals), words, rate
    )


def units(part: Part, table: Table) -> Bools:
    """(rows,): which units of the part's subject meet its literals."""
    rows = {"object": table.objects, "scene": table.scenes, "question": table.questions}[part.subject]
    met = np.ones(len(rows), dtype=np.bool_)
    for key, sign in part.literals:
        met &= rows[:, COLUMNS[part.subject][key]] == sign
    return met


def in_scenes(claim: Claim, table: Table) -> Bools:
    """(scenes,): where the claim holds; its parts on a question hold together for one of the scene's questions."""
    holds = np.ones(len(table), dtype=np.bool_)
    for part in claim.parts:
        if part.subject != "question":
            holds &= _of_scenes(part, table)
    if claim.of_question:
        asked = np.ones(len(table.questions), dtype=np.bool_)
        for part in claim.parts:
            if part.subject == "question":
                asked &= units(part, table) == part.exists
        holds &= anywhere(asked, table.question_of, len(table))
    return holds


def in_questions(claim: Claim, table: Table) -> Bools:
    """(questions,): for which questions about the scenes the claim holds."""
    holds = np.ones(len(table.questions), dtype=np.bool_)
    for part in claim.parts:
        if part.subject == "question":
            holds &= units(part, table) == part.exists
        else:
            holds &= _of_scenes(part, table)[table.question_of]
    return holds


def _of_scenes(part: Part, table: Table) -> Bools:
    met = units(part, table)
    there = anywhere(met, table.object_of, len(table)) if part.subject == "object" else met
    found: Bools = there == part.exists
    return found


def anywhere(met: Bools, scene_of: NDArray[np.int64], n: int) -> Bools:
    """(n,): whether some unit of a scene is met."""
    found: Bools = np.bincount(scene_of[met], minlength=n) > 0
    return found
