"""Clusters of the misread objects' situations, each with a sentence, and fresh scenes of each.

A fresh scene is a small change of a member that stays inside the component's ellipsoid, whatever the model sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.families.rules import find_rules
from trex.foundation.errors import InputError
from trex.inference.rng import stream
from trex.repair.domain import Encoded
from trex.repair.files import Flags, Floats, Ints, Record, floats, read_arrays, write_record
from trex.repair.results import Component
from trex.repair.scenes.identify import GROWN, Misread, learned, read_misreads
from trex.repair.scenes.loaded import Folder, SceneLoaded
from trex.repair.scenes.vectors import Scale, scale_of, vector
from trex.repair.steps import MIXTURE, mixture_in
from trex.scenes.conditions import (
    Condition,
    noun_words,
    object_conditions,
    object_rows,
    part_words,
    scene_conditions,
)
from trex.scenes.graph import Facts, facts_of
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary

CONDITIONS = "conditions.json"
MAX_PRIOR = 1000  # prior scenes that vectors and sentences are compared with
MAX_KINDS = 3
MAX_TRIES = 100


class SentenceConditions(Record):
    """The keys of the conditions that each component's sentence names, by the component's number."""

    components: dict[int, list[str]]


def encode(folder: Folder, loaded: SceneLoaded) -> Encoded:
    """The situations of the misread objects on their principal axes; InputError if there are none."""
    wanted, vocabulary = folder.query.distill, loaded.prior.vocabulary
    rows = read_misreads(folder.require("identify") / GROWN)
    prior = [facts_of(scene, vocabulary) for scene in loaded.members(learned(folder.query)[:MAX_PRIOR])]
    if not rows:
        raise InputError("the model misreads no object; raise identify.seeds, or there is nothing to repair")
    usual = np.stack(
        [vector(facts, k, vocabulary) for facts in prior for k in range(len(facts.scene.objects))]
    )
    found = vectors(rows, vocabulary)
    scale = scale_of(usual, found, vocabulary, wanted.dimensions)

    def describe(place: Path, members: Mapping[int, Ints], weights: Mapping[int, float]) -> list[Component]:
        sentences = _Sentences(rows, prior, vocabulary)
        named = {k: sentences.of(each) for k, each in members.items()}
        keys = {k: [condition.key for condition in chosen] for k, chosen in named.items()}
        write_record(place / CONDITIONS, SentenceConditions(components=keys))
        return [
            _component(k, weights[k], [rows[int(row)] for row in each], subject_words(named[k]))
            for k, each in members.items()
        ]

    codes = scale.codes(found)
    return Encoded(codes, describe, vars(scale), {"dimensions": codes.shape[1]}, wanted.regularization)


def _component(number: int, weight: float, members: Sequence[Misread], sentence: str) -> Component:
    kinds = Counter(each.seen for each in members)
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))[:MAX_KINDS]
    return Component(
        number=number,
        weight=weight,
        members=len(members),
        kinds=ordered,
        origins=len({each.member for each in members}),
        sentence=sentence,
    )


def vectors(rows: Sequence[Misread], vocabulary: Vocabulary) -> Floats:
    """(n, d): the misread objects' situations."""
    return np.stack([vector(facts_of(row.value, vocabulary), row.index, vocabulary) for row in rows])


class Situations:
    """The clusters as the step has stored them: to which component does an object of a scene belong?"""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        found = read_arrays(path)
        self.mixture = mixture_in(found)
        self._scale = Scale(*(floats(found[name]) for name in ("mean", "deviation", "center", "axes")))
        self._vocabulary = vocabulary

    def inside(self, scene: Scene, index: int) -> int:
        """The component in whose 90% ellipsoid the object lies, -1 for none."""
        rows = vector(facts_of(scene, self._vocabulary), index, self._vocabulary)[None]
        return int(self.mixture.inside(self._scale.codes(rows))[0])

    def members(self, rows: Sequence[Misread]) -> Ints:
        """The component (n,) with most responsibility for each misread object."""
        codes = self._scale.codes(vectors(rows, self._vocabulary))
        found: Ints = self.mixture.responsibilities(codes).argmax(axis=1)
        return found


def generator_of(folder: Folder, loaded: SceneLoaded) -> Generator:
    """The generator of fresh scenes, from the members that the earlier steps have stored."""
    rows = read_misreads(folder.require("identify") / GROWN)
    situations = Situations(folder.require("distill") / MIXTURE, loaded.prior.vocabulary)
    change = SmallChange(loaded.prior.vocabulary, folder.query.identify.step)
    return Generator(rows, situations.members(rows), situations, change, folder.query.seed)


@dataclass(frozen=True)
class Fresh:
    """A scene, the object in question, and the number of the prior scene from which all of it comes."""

    scene: Scene
    index: int
    member: int


@dataclass(frozen=True, eq=False)
class Generator:
    """Draws scenes of components; `assigned` (n,) is the component of each misread object."""

    rows: Sequence[Misread]
    assigned: Ints
    situations: Situations
    change: SmallChange
    seed: int

    def draw(self, component: int, n: int, *key: int) -> tuple[list[Fresh], float]:
        """n scenes and the share of small changes that stayed inside; fewer scenes if MAX_TRIES a scene do not do.

        Each starts from a member drawn with equal chances. A function of the seed, the component and the key alone.
        """
        members = np.flatnonzero(self.assigned == component)
        found: list[Fresh] = []
        tried = 0
        for number in range(n):
            rng = stream(self.seed, *key, component, number)
            for _ in range(MAX_TRIES):
                tried += 1
                row = self.rows[int(members[int(rng.integers(len(members)))])]
                scene, _ = self.change.draw(rng, row.value)
                if scene is not None and self.situations.inside(scene, row.index) == component:
                    found.append(Fresh(scene, row.index, row.member))
                    break
        return found, len(found) / tried if tried else 0.0


def all_conditions(vocabulary: Vocabulary) -> list[Condition]:
    """Those that sentences may name."""
    return [*object_conditions(vocabulary), *scene_conditions()]


def subject_words(chosen: Sequence[Condition]) -> str:
    """A sentence's subject: "an object less than 40% visible beside a cube"; "an object" without a condition."""
    parts = (part_words(chosen, part) for part in ("seen", "where", "scene"))
    return " ".join([noun_words(chosen), *(words for part in parts for words in part)])


class _Sentences:
    """Says what sets a component's objects apart from those of the prior: its best rule of few conditions."""

    def __init__(self, rows: Sequence[Misread], prior: Sequence[Facts], vocabulary: Vocabulary) -> None:
        conditions = all_conditions(vocabulary)
        self._conditions: Sequence[Condition] = conditions
        mine = [object_rows(facts_of(row.value, vocabulary), conditions)[row.index] for row in rows]
        self._rows: Flags = np.stack(mine)
        self._prior: Flags = np.concatenate([object_rows(facts, conditions) for facts in prior])

    def of(self, members: Ints) -> list[Condition]:
        """The conditions of the component's sentence; none if nothing sets it apart."""
        holds = np.concatenate([self._rows[members], self._prior])
        events = np.arange(len(holds)) < len(members)
        rules = find_rules(holds, events, most_rules=1)
        return [self._conditions[c] for c in rules[0].conditions] if rules else []
