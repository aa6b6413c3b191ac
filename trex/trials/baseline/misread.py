"""What the model misreads in the true mistakes of a baseline, and what those of a kind have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trex.clevr_models.specs.ours import asks_freely
from trex.datasets.examples import Example
from trex.families.cases import Case, families_of
from trex.families.discover import Situation, conditions_of
from trex.families.family import Family
from trex.families.one_question import OneQuestion
from trex.families.symptom import Failure, misread, misread_words
from trex.foundation.errors import InputError
from trex.inference.rng import TRACE_STREAM, stream
from trex.inference.scoring import images
from trex.scenes.camera import HEIGHT_PX, WIDTH_PX
from trex.scenes.clevr_format.camera_fit import fit_camera
from trex.scenes.graph import facts_of
from trex.scenes.misreading import Answered
from trex.scenes.scene import Scene, scene_id
from trex.trials.baseline.baseline import Baseline, Misread, MistakeFamily, ScoredExample
from trex.worlds.world import Plan

MOST = 200  # mistakes of a query that are traced; each takes about .25 s
COHORT = 400  # pictures that mistakes are held against, as they come
BASELINE = 3  # stream of random numbers, after those of a run's traces
NO_SCENES = "these pictures have no scenes"
COSTS = "a trace asks some 200 questions a picture, and this model is behind an address"
OTHER_SHAPES = "a scene holds a shape that the query does not know"


@dataclass(frozen=True)
class Photographed:
    """A scene as its picture was taken; without a known camera, what is hidden or overlaps is not known either."""

    scene: Scene
    is_camera_known: bool


class Tracer:
    """Traces a query's true mistakes, the first MOST of them, picture by picture."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._cases: list[Case] = []
        self._names: list[str] = []
        self._misread: dict[str, tuple[Failure, ...]] = {}  # by the picture's name: what explains its answer
        self._traced, self._untraced, self._closed, self._are_cameras_known = 0, "", "", True

    def traced(self, example: Example, row: ScoredExample) -> ScoredExample:
        """The row of a picture; with what explains its answer if that is a true mistake that can be traced."""
        plan = self._plan
        if not row.is_mistake or not plan.query.target.declared.is_sure or self._traced == MOST:
            return row
        if why := self._closed or _why_not(plan, example.scene):
            self._untraced = self._untraced or why
            return row
        assert example.scene is not None and plan.asks is not None, "they have no scene otherwise"
        from trex.families.trace import trace  # imports torch

        known = photographed(example)
        facts = facts_of(known.scene, plan.vocabulary)
        rng = stream(0, TRACE_STREAM, BASELINE, int(scene_id(example.scene)[:15], 16))
        asked = [Answered(plan.question.program, row.answer, row.probability)]
        (image,) = images([example])
        found = trace(rng, plan.asks, facts, image, plan.vocabulary, asked)
        if found.closed:
            self._closed = self._untraced = found.closed
            return row
        self._traced += 1
        if found.by[0] is None:
            return row
        self._misread[row.name] = tuple(map(misread, found.misreadings))
        misreading = found.misreadings[found.by[0]]
        failure = misread(misreading)
        scene = Situation(facts, (failure,), conditions_of(plan.vocabulary))
        self._cases.append(Case(scene, failure, row.name, len(self._cases)))
        self._names.append(row.name)
        self._are_cameras_known &= known.is_camera_known
        return replace(row, misread=Misread(misreading, misread_words(failure, facts.scene)))

    def told(self, empty: Baseline, plain: Mapping[str, Photographed]) -> Baseline:
        """The baseline with the families of the traced mistakes; `plain` are pictures that no answer has chosen."""
        wrong = {row.name for row in empty.seen if row.has_truth and not row.is_right}
        families: list[Family] = []
        if self._cases:
            families = families_of(self._cases, self._cohort(plain, wrong), self._plan.vocabulary)
        named = tuple(
            MistakeFamily(
                family.words,
                family.evidence if family.is_established else "",
                tuple(self._names[place] for place in family.members),
            )
            for family in families
        )
        return replace(empty, traced=self._traced, untraced=self._untraced, families=named)

    def _cohort(self, plain: Mapping[str, Photographed], wrong: set[str]) -> list[Situation]:
        """These scenes; none if no two mistakes are of a kind, or where a camera is not known."""
        if (
            len({case.failure.symptom for case in self._cases}) == len(self._cases)
            or not self._are_cameras_known
        ):
            return []
        usable = {
            name: each.scene
            for name, each in plain.items()
            if each.is_camera_known and not _why_not(self._plan, each.scene)
        }
        vocabulary = self._plan.vocabulary
        conditions = conditions_of(vocabulary)
        shows = OneQuestion(self._plan.question.program, vocabulary).shows(lambda wrong: True)
        unclear = wrong - self._misread.keys()
        return [
            Situation(
                facts_of(z, vocabulary), self._misread.get(name, ()), conditions, is_untraced=name in unclear
            ).showing(shows)
            for name, z in usable.items()
        ]


def _why_not(plan: Plan, scene: Scene | None) -> str:
    """Why a mistake cannot be traced, "" if it can."""
    if scene is None or plan.asks is None:
        return NO_SCENES
    if not asks_freely(plan.query.model.name):
        return COSTS
    shapes = plan.vocabulary.values("shape")
    return "" if all(item.shape in shapes for item in scene.objects) else OTHER_SHAPES


def photographed(example: Example) -> Photographed:
    """The scene of an example with the camera that took its picture, fitted to where the file says objects are seen.

    Files give pixels of CLEVR's 480 by 320, or of the picture itself.
    """
    assert example.scene is not None, "only pictures with a scene are traced"
    if example.coordinates is None:
        return Photographed(example.scene, is_camera_known=True)
    points, pixels = example.coordinates
    height, width = example.pixels.shape[:2]
    for size in dict.fromkeys(((WIDTH_PX, HEIGHT_PX), (width, height))):
        try:
            fit = fit_camera(points, pixels, *size)
        except InputError:
            break
        if fit.explains:
            nuisances = replace(example.scene.nuisances, camera=fit.offset)
            return Photographed(replace(example.scene, nuisances=nuisances), is_camera_known=True)
    return Photographed(example.scene, is_camera_known=False)
