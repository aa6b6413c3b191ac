"""`traces.jsonl`: what the model misreads in the wrong answers of a run, traced by asking it about their pictures.

Traced are the distinct hits and, for comparison, prior scenes with a wrong answer that are no hits: those that a search
for other hits never sees. Nothing is rendered for a hit; the picture of a prior scene comes from its bank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trex.families.symptom import Failure, misread
from trex.foundation.codec import Codec
from trex.foundation.progress import Progress
from trex.inference.rng import TRACE_STREAM, stream
from trex.inference.scoring import images
from trex.inference.statistics.two_phase import Selection
from trex.inference.types import Draw
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.runs.pictures import read_picture
from trex.scenes.graph import facts_of
from trex.scenes.misreading import Answered, Misreading
from trex.scenes.scene import ATTRIBUTES, Scene, scene_id
from trex.search.engine import open_bank
from trex.search.hit import Hit
from trex.search.results import Results
from trex.trials.lines import Lines, read_lines
from trex.worlds.latents import SCENES, Latent
from trex.worlds.looks import DECIDING
from trex.worlds.world import OpenWorld

FILE = "traces.jsonl"
MOST = 80  # prior scenes with a wrong answer that are traced on average; each takes about .25 s
TAKEN, ASKED, HALF = range(3)  # streams of random numbers


@dataclass(frozen=True)
class TracedDraw:
    """A traced wrong answer to a scene (`scene_id`): of a hit, or of a prior scene that is none.

    `by` is the misreading, from 0, that explains the answer; None if none does. `closed` says why the model could not
    be asked other questions, "" if it could.
    """

    kind: Literal["hit", "prior"]
    scene: str
    misreadings: tuple[Misreading, ...]
    margins: tuple[float, ...]
    by: int | None
    questions: int
    closed: str = ""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The misreading that explains the answer; none if it could not be traced."""
        return () if self.by is None else (misread(self.misreadings[self.by]),)


@dataclass(frozen=True)
class Traces:
    """The traces of a run, by the scene: of hits, and of prior scenes that are none."""

    hits: Mapping[str, TracedDraw]
    others: Mapping[str, TracedDraw]

    def misread(self, scene: Scene) -> tuple[int, ...]:
        """The objects of a hit's scene of which the model reads an attribute wrongly; none if it was not traced.

        Not those that it misses or counts twice: without them it need not be right.
        """
        row = self.hits.get(scene_id(scene))
        failures = row.failures if row else ()
        return tuple(failure.unit for failure in failures if failure.symptom.what in ATTRIBUTES)

    def explained(self, scene: str) -> tuple[Failure, ...]:
        """All that the model misreads in a scene (`scene_id`), if that explains its answer; none if not traced."""
        row = self.hits.get(scene) or self.others.get(scene)
        return tuple(map(misread, row.misreadings)) if row and row.failures else ()

    @property
    def closed(self) -> str:
        """Why the model could not be asked other questions; "" if it could, or if nothing was traced."""
        return next((row.closed for row in self.hits.values() if row.closed), "")


NOT_TRACED = Traces({}, {})
CODEC = Codec(TracedDraw)


def may_trace(manifest: Manifest) -> bool:
    """Whether a run's hits can be wrong answers about scenes, so that something can be traced."""
    return manifest.world.form is SCENES and manifest.query.target.declared.is_sure


def read_traces(folder: RunFolder) -> Traces:
    """The traces of a run so far, up to a line that was changed."""
    rows = read_lines(folder.path / FILE, CODEC) if (folder.path / FILE).exists() else []
    return Traces(
        {row.scene: row for row in rows if row.kind == "hit"},
        {row.scene: row for row in rows if row.kind == "prior"},
    )


def wrong_others(manifest: Manifest, results: Results) -> tuple[list[tuple[int, Draw[Latent]]], Selection]:
    """Prior draws with a wrong answer that are not hits, by their place in the counted sample, and their selection.

    Some MOST of them: each is taken by a permanent random number of its own (Poisson sampling), so that inclusion
    probabilities are those of the counted sample times the share that is taken.
    """
    (draws, selection), target = results.sample.counted, manifest.target
    places = [
        k
        for k, draw in enumerate(draws)
        if not target.is_hit(draw.state.log_probs) and _is_wrong(manifest, draw)
    ]
    share = min(1.0, MOST / len(places)) if places else 1.0
    own = [_stream(manifest, TAKEN, draws[k].z).random() for k in places]
    taken = [(k, draws[k]) for k, number in zip(places, own, strict=True) if number < share]
    return taken, Selection(selection.members, selection.inclusion * share)


def to_trace(folder: RunFolder, found: Sequence[Hit]) -> list[Hit]:
    """Those of a run's hits whose wrong answers are not traced yet."""
    if not may_trace(folder.manifest):
        return []
    known = read_traces(folder).hits
    return [
        hit
        for hit in found
        if hit.is_wrong and hit.record.picture and scene_id(hit.record.scene) not in known
    ]


def trace_hits(folder: RunFolder, world: OpenWorld, hits: Sequence[Hit], progress: Progress) -> None:
    """Trace these hits; a kill costs one picture."""
    if not hits:
        return
    with Lines(folder.path / FILE, CODEC) as log:
        for done, hit in enumerate(hits):
            progress("wrong answers traced", done, len(hits))
            pixels = read_picture(folder, hit.record.picture)[0].astype(np.float32) / np.float32(255.0)
            log.append([traced("hit", world, folder.manifest, hit.record.scene, pixels, hit.answers[0])])
    progress("wrong answers traced", len(hits), len(hits))


def trace_others(folder: RunFolder, world: OpenWorld, results: Results, progress: Progress) -> None:
    """Trace some of the other wrong answers in the counted prior sample; a kill costs one picture."""
    manifest, known = folder.manifest, read_traces(folder).others
    others = [draw for _, draw in wrong_others(manifest, results)[0] if _id(draw.z) not in known]
    if not others:
        return
    seed = manifest.query.search.bank_seed
    with (
        Lines(folder.path / FILE, CODEC) as log,
        open_bank(world, DECIDING, seed, is_optional=True) as bank,
    ):
        for done, draw in enumerate(others):
            progress("other wrong answers traced", done, len(others))
            assert isinstance(draw.z, Scene), "only scenes are in a bank"
            (image,) = images(bank.renderer.render([draw.z]))
            best = int(np.argmax(draw.state.log_probs))
            said = manifest.facts.labels[best], float(np.exp(draw.state.log_probs[best]))
            log.append([traced("prior", world, manifest, draw.z, image, said)])
    progress("other wrong answers traced", len(others), len(others))


def unexplained(manifest: Manifest, results: Results, traces: Traces) -> set[str]:
    """The prior scenes (`scene_id`) with a wrong answer, of which it is not known what the model misreads."""
    draws, _ = results.sample.counted
    wrong = {_id(draw.z) for draw in draws if _is_wrong(manifest, draw)}
    return {scene for scene in wrong if not traces.explained(scene)}


def _is_wrong(manifest: Manifest, draw: Draw[Latent]) -> bool:
    answer = manifest.facts.labels[int(np.argmax(draw.state.log_probs))]
    return manifest.world.judge(manifest.resolved, draw.z, answer).is_wrong is True


def traced(
    kind: Literal["hit", "prior"],
    world: OpenWorld,
    manifest: Manifest,
    z: Latent,
    image: NDArray[np.float32],
    said: tuple[str, float],
) -> TracedDraw:
    """What the model misreads in a picture (H, W, 3) in [0, 1] of a scene, given its answer to the run's question."""
    from trex.families.trace import trace  # imports torch

    assert world.plan.asks is not None and isinstance(z, Scene), "only scenes have questions"
    asked = [Answered(manifest.question.program, *said)]
    facts = facts_of(z, manifest.vocabulary)
    found = trace(_stream(manifest, ASKED, z), world.plan.asks, facts, image, manifest.vocabulary, asked)
    return TracedDraw(
        kind, _id(z), found.misreadings, found.margins, found.by[0], found.questions, found.closed
    )


def _id(z: Latent) -> str:
    assert isinstance(z, Scene), "only scenes are traced"
    return scene_id(z)


def _stream(manifest: Manifest, purpose: int, z: Latent) -> np.random.Generator:
    """Random numbers of a scene, whatever has been traced before it."""
    return stream(manifest.query.search.seed, TRACE_STREAM, purpose, int(_id(z)[:15], 16))


def half_of(manifest: Manifest, z: Latent) -> int:
    """The half that a traced prior scene is in, 0 or 1: rules that one half makes are judged by the other."""
    return int(_stream(manifest, HALF, z).integers(2))


def failures_of(z: Latent, traces: Traces) -> tuple[Failure, ...]:
    """What failed in a prior scene; nothing if it was not traced."""
    row = traces.others.get(_id(z))
    return () if row is None else row.failures
