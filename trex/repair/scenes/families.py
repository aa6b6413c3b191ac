"""Step 2: the families of the misread objects, as an audit finds them; and fresh scenes of each.

A fresh scene is a small change of a member in which the family's conditions hold for the object, whatever the model
sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from trex.families.discover import Situation, conditions_of, discover
from trex.families.family import Family, fresh_members
from trex.families.pattern import Pattern, object_words
from trex.families.symptom import Failure, Symptom
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.inference.rng import stream
from trex.repair.domain import Work
from trex.repair.files import Ints, ints, read_arrays, write_arrays
from trex.repair.results import Component, DistillResult
from trex.repair.scenes.found import stored_scenes
from trex.repair.scenes.identify import GROWN, Misread, learned, read_misreads
from trex.repair.scenes.loaded import Folder, SceneLoaded
from trex.scenes.graph import Facts, facts_of
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary

MEMBERS = "members.safetensors"
MAX_KINDS = 3
MAX_TRIES = 100
NO_FAMILY = -1


def cluster(folder: Folder, loaded: SceneLoaded) -> Work:
    """The step; InputError if there is no mistake, or if chance explains where they are."""

    def carry_out(place: Path, progress: Progress) -> DistillResult:
        vocabulary, identified = loaded.prior.vocabulary, folder.require("identify")
        rows = read_misreads(identified / GROWN)
        if not rows:
            raise InputError(
                "the model misreads no object; raise identify.seeds, or there is nothing to repair"
            )
        found = stored_scenes(identified)
        scenes = [*loaded.members(learned(folder.query)), *(each.value for each in found)]
        situations = _situations(scenes, rows, vocabulary, progress)
        families = discover(situations, vocabulary)
        if not families:
            raise InputError(
                f"no condition says when the model misreads an object ({len(rows)} mistakes); raise identify.seeds"
            )
        known = {each.facts.scene: each.facts for each in situations}
        of = np.array(
            [
                _family_of(row, known.get(row.value) or facts_of(row.value, vocabulary), families)
                for row in rows
            ],
            np.int64,
        )
        write_arrays(place / MEMBERS, {"family": of})
        components = [
            _component(
                k, family, [row for row, number in zip(rows, of, strict=True) if number == k], len(rows)
            )
            for k, family in enumerate(families)
        ]
        held = float((of != NO_FAMILY).mean())
        return DistillResult(mistakes=len(rows), components=components, kept_weight=held)

    return carry_out


def _situations(
    scenes: Sequence[Scene], rows: Sequence[Misread], vocabulary: Vocabulary, progress: Progress
) -> list[Situation]:
    """Each scene with its misread objects; small changes of scenes are left out, as they repeat these."""
    failures: dict[Scene, list[Failure]] = {}
    for row in rows:
        if not row.is_grown:
            failures.setdefault(row.value, []).append(_failure(row))
    conditions, situations = conditions_of(vocabulary), []
    for number, scene in enumerate(scenes):
        facts = facts_of(scene, vocabulary)
        situations.append(Situation(facts, failures.get(scene, ()), conditions))
        progress("scenes described", number + 1, len(scenes))
    return situations


def _failure(row: Misread) -> Failure:
    kind, _, value = row.seen.partition(" ")
    return Failure(Symptom("object", kind), row.index, "", value or kind)


def _family_of(row: Misread, facts: Facts, families: Sequence[Family]) -> int:
    """The first family of the mistake's kind whose conditions hold for the object."""
    symptom = _failure(row).symptom
    holding = (
        k for k, each in enumerate(families) if each.symptom == symptom and each.holds(facts)[row.index]
    )
    return next(holding, NO_FAMILY)


def _component(number: int, family: Family, members: Sequence[Misread], mistakes: int) -> Component:
    pattern, kinds = family.pattern, Counter(each.seen for each in members)
    return Component(
        number=number,
        weight=len(members) / mistakes,
        members=len(members),
        kinds=sorted(kinds.items(), key=lambda item: (-item[1], item[0]))[:MAX_KINDS],
        origins=len({each.member for each in members}),
        sentence=pattern.words if pattern.objects else f"{object_words(())} {pattern.words}",
        symptom=family.symptom.what,
        conditions=tuple(each.key for each in pattern.conditions),
    )


def family_in(component: Component, vocabulary: Vocabulary) -> Family:
    """The family that a component of the step stands for."""
    known = {each.key: each for each in conditions_of(vocabulary)["object"]}
    pattern = Pattern.of(known[key] for key in component.conditions)
    return Family(pattern, Symptom("object", component.symptom))


@dataclass(frozen=True)
class Fresh:
    """A scene, the object in question, and the number of the prior scene from which all of it comes."""

    scene: Scene
    index: int
    member: int


class Generator:
    """Draws scenes of families; `of` (n,) is the family of each misread object."""

    def __init__(
        self, rows: Sequence[Misread], of: Ints, families: Sequence[Family], change: SmallChange, seed: int
    ) -> None:
        self._rows, self._of, self._families, self._change, self._seed = rows, of, families, change, seed

    def draw(self, family: int, n: int, *key: int) -> tuple[list[Fresh], float]:
        """n scenes and the share of small changes that meet the conditions; fewer if MAX_TRIES a scene do not do.

        Each starts from a member drawn with equal chances. A function of the seed, the family and the key alone.
        """
        members = np.flatnonzero(self._of == family)
        tried = 0

        def changes(rng: np.random.Generator, scene: Scene) -> Iterator[Scene]:
            nonlocal tried
            for _ in range(MAX_TRIES):
                tried += 1
                changed, _ = self._change.draw(rng, scene)
                if changed is not None:
                    yield changed

        found: list[Fresh] = []
        for number in range(n):
            rng = stream(self._seed, *key, family, number)
            row = self._rows[int(rng.choice(members))]
            scenes = changes(rng, row.value)
            fresh = fresh_members(self._families[family], scenes, self._change.vocabulary, unit=row.index)
            found += [Fresh(facts.scene, row.index, row.member) for facts in islice(fresh, 1)]
        return found, len(found) / tried if tried else 0.0


def generator_of(folder: Folder, loaded: SceneLoaded) -> Generator:
    """The generator of fresh scenes, from the members that the earlier steps have stored."""
    place, vocabulary = folder.require("distill"), loaded.prior.vocabulary
    components = folder.found("distill", DistillResult).components
    return Generator(
        read_misreads(folder.require("identify") / GROWN),
        ints(read_arrays(place / MEMBERS)["family"]),
        [family_in(each, vocabulary) for each in components],
        SmallChange(vocabulary, folder.query.identify.step),
        folder.query.seed,
    )
