"""Worlds with a planted cause: a renderer whose pixels tell color, material and shape, and models that read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from trex.clevr_models.interface.answers import ANSWERS
from trex.explain.options import ExplainOptions
from trex.explain.scene_scores import SceneScores, open_scores
from trex.finding.find import manifest_of
from trex.inference.scoring import Scorer
from trex.inference.types import Classifier, Draw, State
from trex.query.toml_file import parse_query
from trex.render.fake import GROUND, SHINE, FakeRenderer
from trex.render.picture import Picture
from trex.runs.folder import RunFolder, create
from trex.runs.pictures import store_picture
from trex.runs.record import PRIOR
from trex.runs.replay import independent_record
from trex.scenes.prior import ScenePrior
from trex.scenes.properties import RGB
from trex.scenes.questions.truth import true_answer
from trex.scenes.scene import Scene, with_attribute
from trex.scenes.validity import BEHIND, is_valid
from trex.scenes.vocabulary import CLEVR
from trex.search.hit import Hit
from trex.worlds.registry import make_plan
from trex.worlds.world import OpenWorld

NO_CUBES = CLEVR.revoke("cube")
CAUSE = {"color": "red", "material": "metal", "shape": "cylinder"}
QUERY = """
question = "How many cubes are there?"
answer = "1"
[scene]
revoke = ["cube"]
[model]
name = "fake"
[render]
preset = "fake"
"""
ALL_BUT_SALIENCY = ExplainOptions(nuisances=0, saliency=False)
REMOVALS_ONLY = ExplainOptions(edits=False, flip_depth=0, nuisances=0, saliency=False)
SURE = 0.97


@dataclass
class CodedRenderer:
    """FakeRenderer's pictures with the shape in the two lowest bits of blue: 0 ground, i + 1 shape i. Keeps a list."""

    inner: FakeRenderer = field(default_factory=lambda: FakeRenderer(60, 40))
    rendered: list[Scene] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"coded {self.inner.key}"

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        self.rendered += zs
        return [self._coded(z, picture) for z, picture in zip(zs, self.inner.render(zs), strict=True)]

    def close(self) -> None:
        pass

    def _coded(self, scene: Scene, picture: Picture) -> Picture:
        codes = np.array([0, *(CLEVR.shapes.index(item.shape) + 1 for item in scene.objects)], dtype=np.uint8)
        pixels = picture.pixels.copy()
        pixels[..., 2] = pixels[..., 2] & 0b11111100 | codes[picture.mask]
        return Picture(pixels, picture.mask, picture.scene)


KINDS = [(color, material) for color in RGB for material in ("rubber", "metal")]
PALETTE = np.array([np.array(RGB[c]) * (SHINE if m == "metal" else 1.0) for c, m in KINDS])


@dataclass(frozen=True)
class CountsBlobs:
    """Counts cubes, and red metal cylinders with them, in the pixels of CodedRenderer alone."""

    labels: tuple[str, ...] = ANSWERS

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.stack([self.row(np.rint(image * 255.0)) for image in images])

    def row(self, pixels: NDArray[np.float32]) -> NDArray[np.float64]:
        codes = pixels[..., 2].astype(int) & 3
        light = pixels[codes == 0][:, 0].mean() / GROUND  # the ground tells how bright the lights are
        kinds = np.square(pixels[:, :, None, :] / light - PALETTE).sum(axis=3).argmin(axis=2)
        is_cause = (codes == 3) & (kinds == KINDS.index(("red", "metal")))
        count = label(is_cause)[1] + label(codes == 1)[1]
        probs = np.full(len(ANSWERS), (1.0 - SURE) / (len(ANSWERS) - 1))
        probs[ANSWERS.index(str(min(count, 10)))] = SURE
        return np.log(probs)


@dataclass(frozen=True)
class Ignores:
    """Says the same of every picture."""

    labels: tuple[str, ...] = ANSWERS

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        row = np.full(len(ANSWERS), np.log(0.1 / (len(ANSWERS) - 1)))
        row[ANSWERS.index("1")] = np.log(0.9)
        return np.tile(row, (len(images), 1))


def planted_scene(seed: int, index: int) -> tuple[Scene, int]:
    """A valid scene without cubes whose object nearest to the camera, and no other, is the cause; and its index.

    No other object is a single edit away from it.
    """
    rng = np.random.default_rng([seed, index])
    while True:
        scene = ScenePrior(NO_CUBES, (5, 5)).sample(rng)
        at = min(range(5), key=lambda i: BEHIND[0] * scene.objects[i].x + BEHIND[1] * scene.objects[i].y)
        items = []
        for i, item in enumerate(scene.objects):
            if i == at:
                for attribute, value in CAUSE.items():
                    item = with_attribute(item, attribute, value)
            else:
                item = with_attribute(item, "color", "blue") if item.color == "red" else item
                item = with_attribute(item, "material", "rubber") if item.shape == "cylinder" else item
            items.append(item)
        scene = replace(scene, objects=tuple(items))
        if is_valid(scene, NO_CUBES):
            return scene, at


@contextmanager
def coded_run(
    folder: Path, bound: Classifier, renderer: CodedRenderer | None = None, overrides: Sequence[str] = ()
) -> Iterator[SceneScores]:
    """An empty run of the query above, with these overrides, whose model and renderer are these."""
    renderer = renderer or CodedRenderer()
    plan = replace(make_plan(parse_query(QUERY, "query.toml", overrides), folder), bound=bound)
    world = plan.open()
    size = (renderer.inner.width, renderer.inner.height)
    world = replace(world, renderer=renderer, scorer=Scorer(renderer, bound), size=size)
    with create(folder / "run", QUERY, manifest_of(world, Path("query.toml"), tuple(overrides))) as run:
        (run.path / "explanations").mkdir()
        yield open_scores(world, run, lambda _: None)


def found(scores: SceneScores, scene: Scene) -> Hit:
    """The scene as if a prior draw had found it."""
    return found_in(scores.world, scores.folder, scene)


def found_in(world: OpenWorld, folder: RunFolder, scene: Scene) -> Hit:
    (scored,) = world.scorer.score([scene])
    draw = Draw(State(scene, 0.0, 0.0, scored.log_probs, scored.picture))
    record = independent_record(PRIOR, draw, world.plan.target, partial(store_picture, folder))
    assert record.picture, "the scene does not hit the target"
    probs = record.probs
    order = sorted(range(len(probs)), key=lambda k: -probs[k])
    answers = tuple((world.plan.bound.labels[k], probs[k]) for k in order)
    truth = true_answer(world.plan.question.program, scene)
    confidence = world.plan.target.confidence(scored.log_probs)
    return Hit(record, truth, answers, confidence, answers[0][0] != truth, folder.manifest)
