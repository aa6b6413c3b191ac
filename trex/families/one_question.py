"""What a run's one question can show: of two objects misread alike, it often tells of one alone.

A run learns of a misreading only if it changes the answer to its question. A model that misses any object changes the
answer to "How many red things are there?" by red ones alone; held against all objects of random scenes, its failures
would say that it misses red ones. So a unit counts only if its misreading would have made such a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from trex.families.symptom import PHANTOM, Symptom, is_such, misreading_of
from trex.scenes.graph import Facts
from trex.scenes.misreading import Misreading, answers_if, phantoms
from trex.scenes.questions.programs import Program
from trex.scenes.questions.variants import Ints
from trex.scenes.scene import scene_id
from trex.scenes.vocabulary import Vocabulary

Shows = Callable[
    [Facts, Symptom, str], Ints
]  # (units,): how many such misreadings of a scene each unit has a part in
MOST_TOGETHER = 3

Change = tuple[tuple[int, ...], str]  # the units that are misread, and what the answer would be


class OneQuestion:
    """The question of a run, asked of scenes in which `together` units are misread alike.

    >>> from trex.scenes.misreading import counting
    >>> from trex.scenes.vocabulary import CLEVR
    >>> shows = OneQuestion(counting([("color", "red")]), CLEVR).shows(lambda answer: answer == "1")
    """

    def __init__(self, program: Program, vocabulary: Vocabulary, together: int = 1) -> None:
        self.together = together
        self._program, self._vocabulary = program, vocabulary
        self._known: dict[tuple[str, Symptom, str], list[Change]] = {}

    def shows(self, counts: Callable[[str], bool]) -> Shows:
        """For a scene and a way of misreading, how often each unit is among those whose misreading gives a wrong answer
        that counts: 0 or 1 if one is misread, and for several the number of such sets that a unit is in.

        Of symptoms that are no misreadings every unit has 1.
        """

        def times(facts: Facts, symptom: Symptom, value: str) -> Ints:
            n = len(facts.scene.objects) if symptom.level == "object" else 1
            if misreading_of(symptom, 0, value) is None:
                return np.ones(n, dtype=np.int64)
            found = np.zeros(n, dtype=np.int64)
            for units, answer in self._changes(facts, symptom, value):
                if counts(answer):
                    found[list(units)] += 1
            return found

        return times

    def _changes(self, facts: Facts, symptom: Symptom, value: str) -> list[Change]:
        """The misreadings of this kind that make the answer wrong."""
        key = scene_id(facts.scene), symptom, value
        if key not in self._known:
            scene = facts.scene
            units = np.flatnonzero(symptom.can_show(len(scene.objects), (), scene, value)).tolist()
            sets = combinations(units, self.together) if symptom.level == "object" else [(0,)]
            each = [((), ()), *((chosen, self._reading(symptom, chosen, value)) for chosen in sets)]
            truth, *answers = answers_if(
                scene, [reading for _, reading in each], self._program, self._vocabulary
            )
            self._known[key] = [
                (chosen, answer)
                for (chosen, _), answer in zip(each[1:], answers, strict=True)
                if truth is not None and answer is not None and answer != truth
            ]
        return self._known[key]

    def _reading(self, symptom: Symptom, units: tuple[int, ...], value: str) -> tuple[Misreading, ...]:
        if symptom.what == PHANTOM:  # of those that a sentence names, the first stands for all
            every = (each.value for each in phantoms(self._vocabulary))
            value = next((each for each in every if is_such(symptom, each, value)), value)
        return tuple(made for unit in units if (made := misreading_of(symptom, unit, value)))
