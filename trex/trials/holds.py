"""How far a finding holds: under new render noise, at reference quality, and from other viewpoints.

`holds.json` has what was measured of each scene; `holds_of` sums it up for the most confident hits of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.fields import Hash, Number
from trex.foundation.files import write_atomic
from trex.foundation.progress import Progress
from trex.foundation.words import quoted, whole_percent
from trex.inference.scoring import Scorer
from trex.inference.statistics.clustered import share_of_alike
from trex.inference.statistics.proportion import Proportion
from trex.query.target import leaves_answer_open
from trex.runs.folder import RunFolder
from trex.runs.open_world import open_world
from trex.scenes.noise import fresh_draws, with_seed
from trex.scenes.scene import Scene
from trex.scenes.views import other_views
from trex.search.hit import Hit
from trex.search.render_speed import LARGE, MAX_LARGE, NOISE, VIEWS
from trex.search.results import Results
from trex.trials.confirmation import read_confirmation
from trex.worlds.latents import SCENES, Latent
from trex.worlds.looks import deciding_scorer
from trex.worlds.world import OpenWorld

FILE = "holds.json"


@dataclass(frozen=True)
class Again:
    """A scene rendered again: whether it is a hit, the target's confidence, and whether the answer is wrong."""

    is_hit: bool
    confidence: Number
    is_wrong: bool | None


@dataclass(frozen=True)
class HeldScene:
    """What was measured of the hit with this picture.

    `was_wrong` is None where nobody knows, or where the target wants no sure answer. `skipped` counts viewpoints that
    would have hidden an object.
    """

    picture: Hash
    was_wrong: bool | None
    noise: tuple[Again, ...]
    views: tuple[Again, ...]
    skipped: int


@dataclass(frozen=True)
class HeldScenes:
    """All scenes of a run that were measured, and with which renderer and model."""

    renderer: str
    model: str
    scenes: tuple[HeldScene, ...] = ()
    format: Literal[1] = 1


CODEC = Codec(HeldScenes)


@dataclass(frozen=True, repr=False)
class Holds:
    """How far the finding of some scenes holds; each share is None where it was not measured.

    `noise`: of pictures under new render noise, those that stay in the level set. `reference`: of the scenes, those
    that stay there at preset `reference`. `views_in_set`: of pictures from other viewpoints, those that stay;
    `views_wrong`: of those of scenes that were answered wrongly, those that still are. Intervals take the
    pictures of a start as a cluster: scenes that one chain found are alike. `sure` is P(answer) of each scene, by its
    picture, averaged over the new render noise; empty unless the target is to be sure of one answer.
    """

    noise: Proportion | None = None
    reference: Proportion | None = None
    views_wrong: Proportion | None = None
    views_in_set: Proportion | None = None
    sure: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.sentence() or "Not measured."

    def __repr__(self) -> str:
        return f"<Holds: {self}>"

    def sentence(self) -> str:
        """In one line: "Stays in 31 of 32 pictures with new render noise, 7 of 8 at reference quality, ...".

        Counts, because a percentage of few starts would say more than is known.
        """
        rows = (
            (self.noise, "with new render noise"),
            (self.reference, f"at {LARGE} quality"),
            (self.views_in_set, "from other viewpoints"),
        )
        there = [(share, words) for share, words in rows if share]
        parts = [
            f"{share.count} of {share.of}{'' if k else ' pictures'} {words}"
            for k, (share, words) in enumerate(there)
        ]
        return f"Stays in {', '.join(parts)}." if parts else ""

    def sentences(self) -> tuple[str, ...]:
        """The same with intervals, for below the fold."""
        rows = (
            (self.noise, "Under new render noise {} of the pictures stay in the level set"),
            (self.reference, f"At preset {LARGE} {{}} of the scenes stay in the level set"),
            (self.views_in_set, "From other viewpoints {} of the pictures stay in the level set"),
            (self.views_wrong, "From other viewpoints {} of the answers are still wrong"),
        )
        return tuple(words.format(_words(share)) for share, words in rows if share)

    def document(self) -> dict[str, object]:
        """For machines: each share that was measured, with its counts and interval."""
        shares = {
            "noise": self.noise,
            LARGE: self.reference,
            "views_wrong": self.views_wrong,
            "views_in_set": self.views_in_set,
        }
        return {
            name: {"count": share.count, "of": share.of, "interval_95": list(share.interval)}
            for name, share in shares.items()
            if share
        }


def measure_holds(
    folder: RunFolder,
    hits: Sequence[Hit],
    progress: Progress,
    opened: Callable[[], AbstractContextManager[OpenWorld]] | None = None,
) -> bool:
    """Measure the scenes of these hits that are not measured yet, one after the other; False if none is missing.

    Each is saved as soon as it is done. Viewpoints and noise follow from the picture's hash, so that a resumed
    measurement gives the same. The run's world is `opened` only if something is missing. RunError if an earlier
    measurement was made with another renderer or model.
    """
    if folder.manifest.world.form is not SCENES:
        return False
    old = read_held(folder)
    known = {scene.picture for scene in old.scenes} if old else set()
    missing = [hit for hit in hits if hit.record.picture and hit.record.picture not in known]
    if not missing:
        return False
    with opened() if opened else open_world(folder) as world:
        made = folder.manifest.made
        held = old or HeldScenes(world.made.renderer, made.model)
        if (held.renderer, held.model) != (world.made.renderer, made.model):
            raise RunError(
                f"{folder.path / FILE} was made with renderer {held.renderer} and model {held.model}; {_remedy(folder)}"
            )
        for number, hit in enumerate(missing, start=len(hits) - len(missing)):
            progress("how far it holds", number, len(hits))
            held = replace(held, scenes=(*held.scenes, _measured(folder, world, hit)))
            write_atomic(folder.path / FILE, CODEC.text(held).encode())
        progress("how far it holds", len(hits), len(hits))
    return True


def read_held(folder: RunFolder) -> HeldScenes | None:
    """What was measured of a run's scenes, None if nothing was; RunError if the file is damaged."""
    return CODEC.read(folder.path / FILE, _remedy(folder), inside=folder.path)


def _remedy(folder: RunFolder) -> str:
    return f"delete it, then: trex resume {quoted(folder.path)}"


def holds_of(folder: RunFolder, results: Results, most: int | None = MAX_LARGE) -> Holds:
    """How far the finding of a run's most confident hits holds, as far as it was measured; None: of all."""
    wanted = {hit.record.picture for hit in results.found[:most]}
    starts = {picture: start for picture, start in results.starts.items() if picture in wanted}
    held = read_held(folder)
    scenes = [scene for scene in held.scenes if scene.picture in starts] if held else []
    large = read_confirmation(folder, LARGE)
    confirmed = [scene for scene in large.scenes if scene.before.picture in starts] if large else []
    query = folder.manifest.query
    is_one = query.target.declared.is_sure and len(query.answer) == 1

    def share(rows: Iterable[tuple[str, Sequence[bool]]]) -> Proportion | None:
        """The share of True among pictures, of which those of a start are alike; None if there are no pictures."""
        found = share_of_alike((starts[picture], is_it) for picture, row in rows for is_it in row)
        return found if found.of else None

    return Holds(
        noise=share((scene.picture, [again.is_hit for again in scene.noise]) for scene in scenes),
        reference=share((scene.before.picture, [scene.after.is_hit]) for scene in confirmed),
        views_wrong=share(
            (scene.picture, [again.is_wrong is True for again in scene.views])
            for scene in scenes
            if scene.was_wrong
        ),
        views_in_set=share((scene.picture, [again.is_hit for again in scene.views]) for scene in scenes),
        sure={
            scene.picture: float(np.mean([again.confidence for again in scene.noise]))
            for scene in scenes
            if is_one and scene.noise
        },
    )


def _words(share: Proportion) -> str:
    return f"{whole_percent(share.value)} (95% CI {share.range})"


def _measured(folder: RunFolder, world: OpenWorld, hit: Hit) -> HeldScene:
    """A scene under new noise, and from other viewpoints with one picture each and the query's noise draws."""
    plan, scene = world.plan, hit.record.scene
    views = other_views(_rng(hit), scene, VIEWS, plan.vocabulary)
    one_view = plan.query.render.model_copy(update={"views": 1})
    scorer = deciding_scorer(one_view, world.renderer, plan.bound, plan.vocabulary)
    seen = [with_seed(view, f"view of {hit.record.picture}", k) for k, view in enumerate(views.scenes)]
    is_open = leaves_answer_open(plan.query.target, plan.question, plan.bound.labels)
    return HeldScene(
        picture=hit.record.picture,
        was_wrong=None if is_open else hit.is_wrong,
        noise=_again(folder, world.scorer, fresh_draws(scene, NOISE, plan.query.render.fresh or 0)),
        views=_again(folder, scorer, seen),
        skipped=views.skipped,
    )


def _rng(hit: Hit) -> np.random.Generator:
    return np.random.default_rng(int(hit.record.picture, 16))


def _again(folder: RunFolder, scorer: Scorer[Latent], scenes: Sequence[Scene]) -> tuple[Again, ...]:
    manifest = folder.manifest
    target, labels = manifest.target, manifest.facts.labels
    return tuple(
        Again(
            is_hit=target.is_hit(scored.log_probs),
            confidence=target.confidence(scored.log_probs),
            is_wrong=manifest.world.judge(
                manifest.resolved, scene, labels[int(scored.log_probs.argmax())]
            ).is_wrong,
        )
        for scene, scored in zip(scenes, scorer.score(scenes), strict=True)
    )
