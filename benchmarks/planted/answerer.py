"""What answers questions about scenes as a target sees them, and where its faults are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchmarks.planted.faults import MISSED, Fault, Target, chance
from benchmarks.planted.trained import Network
from benchmarks.planted.world import Known
from trex.scenes.conditions import Asked
from trex.scenes.graph import Facts
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.programs import InvalidProgram, Program, execute_on
from trex.scenes.scene import ATTRIBUTES, Scene, scene_id, with_attribute
from trex.scenes.vocabulary import CLEVR

NOTHING = "no"  # the answer to a question that has none in the scene as it is seen
KEPT = 4096  # scenes whose readings are remembered


@dataclass(frozen=True)
class Misread:
    """An object that is read otherwise than it is: `shows` an attribute, or "missed"."""

    index: int
    shows: str
    value: str


@dataclass
class Answerer:
    """A target that answers; a function of the scene and the question alone."""

    target: Target
    network: Network | None = None
    _seen: dict[Scene, tuple[SceneSets, SceneSets]] = field(default_factory=dict)

    def answer(self, facts: Facts, program: Program, words: str) -> str:
        """The answer to a question about a scene."""
        true, seen = self._sets(facts)
        said = _executed(program, seen)
        target = self.target
        if target.wording and chance(target.seed, words) < target.wording:
            return wrong(said, program)
        asked = [fault for fault in target.faults if fault.of_question]
        if asked:
            truth = said if seen is true else _executed(program, true)
            request = Asked(program, truth)
            if any(
                fault.asked(facts, request) and fault.fails_asked(facts.scene, request, target.seed)
                for fault in asked
            ):
                return wrong(said, program)
        return said

    def misreads(self, facts: Facts) -> list[Misread]:
        """What is misread in a scene."""
        target, scene = self.target, facts.scene
        if self.network is not None:
            return _differences(scene, self.network.reads(facts))
        found = [
            Misread(int(index), fault.shows, fault.value)
            for fault in target.faults
            if not fault.of_question
            for index in fault.objects(facts).nonzero()[0]
            if fault.fails(scene, int(index), target.seed)
        ]
        if target.noise:
            values = CLEVR.available("shape")
            for index, item in enumerate(scene.objects):
                if chance(target.seed, scene_id(scene), index) < target.noise:
                    found.append(
                        Misread(index, "shape", values[(values.index(item.shape) + 1) % len(values)])
                    )
        return found

    def fires(self, fault: Fault, known: Known) -> bool:
        """Whether the model misreads something as the fault says; of questions, whether one is answered wrongly."""
        if fault.of_question:
            return any(
                fault.asked(known.facts, each) and fault.fails_asked(known.scene, each, self.target.seed)
                for each in known.asked
            )
        return any(
            (each.shows, each.value) == (fault.shows, fault.value)
            and (self.network is not None or fault.objects(known.facts)[each.index])
            for each in self.misreads(known.facts)
        )

    def _sets(self, facts: Facts) -> tuple[SceneSets, SceneSets]:
        """The scene as it is, and as it is seen: the same if nothing is misread."""
        scene = facts.scene
        if scene not in self._seen:
            if len(self._seen) >= KEPT:
                self._seen.clear()
            true = scene_sets(scene)
            changes = self.misreads(facts)
            self._seen[scene] = (true, scene_sets(seen_as(scene, changes)) if changes else true)
        return self._seen[scene]


def seen_as(scene: Scene, changes: list[Misread]) -> Scene:
    """The scene with these misreadings."""
    items = list(scene.objects)
    for change in changes:
        if change.shows in ATTRIBUTES:
            items[change.index] = with_attribute(items[change.index], change.shows, change.value)
    missed = {change.index for change in changes if change.shows == MISSED}
    return replace(scene, objects=tuple(item for k, item in enumerate(items) if k not in missed))


def wrong(answer: str, program: Program) -> str:
    """One too many, the other of yes and no, or the next value of the attribute."""
    if answer.isdecimal():
        return str(min(10, int(answer) + 1)) if answer != "10" else "9"
    if answer in ("yes", "no"):
        return "no" if answer == "yes" else "yes"
    name = program[-1].function.removeprefix("query_")
    values = CLEVR.available(name) if name in ATTRIBUTES else (answer,)
    return values[(values.index(answer) + 1) % len(values)]


def _differences(scene: Scene, reads: list[dict[str, str]]) -> list[Misread]:
    found = []
    for index, (item, read) in enumerate(zip(scene.objects, reads, strict=True)):
        found += [
            Misread(index, name, read[name]) for name in ATTRIBUTES if read[name] != getattr(item, name)
        ]
        if read[MISSED] == MISSED:
            found.append(Misread(index, MISSED, ""))
    return found


def _executed(program: Program, sets: SceneSets) -> str:
    try:
        return execute_on(program, sets)
    except InvalidProgram:
        return NOTHING
