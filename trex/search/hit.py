"""Hits and near misses as a report shows them: with the model's answers and the true one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import RunError
from trex.inference.types import Floats
from trex.pages.notebook_html import hit_html
from trex.runs.manifest import Manifest
from trex.runs.picture_files import StoredPicture, read_stored
from trex.runs.record import CHAIN, CONTROLS, LIKELY, RANDOM, SPREAD, Record
from trex.scenes.graph import facts_of, scene_graph
from trex.scenes.scene import Scene
from trex.search.hits import Hits, NoiseDraws
from trex.worlds.latents import SCENES, VECTORS, form_of

if TYPE_CHECKING:
    import networkx as nx
    from PIL.Image import Image

MAX_MISSES = 6
MISSES_LOOKED_AT = 1000  # most confident first; a chain may stay at one scene for long


@dataclass(frozen=True, repr=False)
class Hit:
    """A hit or a near miss: its picture, the model's answers, most probable first, and the truth.

    `truth` is None if it is unknown, as for pictures that a decoder draws, and `is_wrong` None if it is unknown whether
    the model's answer is wrong. `confidence` is the target's own number, 0 to 1: P(answer) for one answer, the least
    probability for answers alike (1/k at best), 1 minus the distance for given probabilities. It is that of the
    picture that the search chose; `noise` is what the hit's fresh noise draws say, None if there are none. Picture and
    mask are read from the folder `run` on each access; RunError if they are missing or were changed.
    """

    record: Record
    truth: str | None
    answers: tuple[tuple[str, float], ...]
    confidence: float
    is_wrong: bool | None
    manifest: Manifest = field(compare=False)
    run: Path | None = field(default=None, compare=False)
    noise: NoiseDraws | None = None

    @property
    def answer(self) -> str:
        """The model's most probable answer."""
        return self.answers[0][0]

    @property
    def mean_confidence(self) -> float | None:
        """The confidence of the mean over the noise draws that decided that the hit stays; None without any.

        A little too high for that reason: those of `Holds.sure` decided nothing.
        """
        return self.noise.confidence if self.noise else None

    @property
    def probabilities(self) -> dict[str, float]:
        """The model's probability for each of its K answers, most probable first; they sum to 1."""
        return dict(self.answers)

    @property
    def words(self) -> str:
        """The latent in words: "Rendered scene with 5 objects: small red metal cylinder, ..."."""
        return self.manifest.world.words(self.record.z)

    @property
    def origin(self) -> str:
        """The draw it comes from: "chain 2, step 17"."""
        record = self.record
        if record.phase in RANDOM:
            name = f"{self.manifest.world.noun.one} {record.index}"
            of = {SPREAD: f"{name} of the spread sample", LIKELY: f"{name} of the likeliest in the bank"}
            return of.get(record.phase, f"prior {name}")
        name = "chain" if record.phase == CHAIN else "control chain"
        return f"{name} {record.chain}, step {record.index}" + (
            "" if record.is_accepted else ", proposed only"
        )

    @property
    def scene(self) -> Scene | None:
        """The scene, None in a world whose latents are vectors."""
        return self.record.scene if form_of(self.record.z) is SCENES else None

    @property
    def graph(self) -> nx.DiGraph:
        """The scene as a networkx graph: a node for each object, what each is to each other one on the edges.

        A node has `shape`, `color`, `material`, `size`, its visible share `visible` and its `depth`; the edge j -> i
        has `gap` (Blender units) and what is true of j as seen from i: `left`, `behind`, `touches`, `hides` and the
        like (`trex.scenes.graph`). RunError in a world whose latents are vectors.
        """
        if self.scene is None:
            raise RunError(f"{self.origin} has no objects; use `vector`")
        return scene_graph(facts_of(self.scene, self.manifest.vocabulary)).copy()

    @property
    def vector(self) -> Floats | None:
        """The latent (d,), float64, in standard deviations of the prior; None in a world of scenes."""
        return self.record.z if form_of(self.record.z) is VECTORS else None

    @property
    def picture(self) -> Image:
        """The picture as the model received it: RGB, or gray ("L") for digits."""
        from PIL import Image

        pixels = self._stored().pixels
        return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)

    @property
    def mask(self) -> NDArray[np.uint8] | None:
        """(H, W): 0 background, i + 1 object i of `scene`; None in a world without objects."""
        return self._stored().mask

    def __repr__(self) -> str:
        truth = "" if self.truth is None else f", truth {self.truth!r}"
        return f"Hit(answer {self.answer!r}{truth}, confidence {self.confidence:.3f}, {self.origin})"

    def _repr_html_(self) -> str:
        """The picture with its answers, for notebooks; only text if the picture is not stored."""
        try:
            picture = (self._stored().pixels, self.words)
        except RunError:
            picture = None
        return hit_html(picture, self.answers, self.truth, self.origin)

    def _stored(self) -> StoredPicture:
        if self.run is None or not self.record.picture:
            raise RunError(f"{self.run or 'the run'} did not store the picture of {self.origin}")
        return read_stored(self.run, self.record.picture)

    @property
    def known_truth(self) -> str:
        """The true answer, in a world that always has one."""
        assert self.truth is not None, "this world knows no true answers"
        return self.truth


def count_known(flags: Iterable[bool | None]) -> int | None:
    """How many are True; None if all are None, that is unknown, and there are some."""
    rows = list(flags)
    return None if rows and all(row is None for row in rows) else sum(row is True for row in rows)


def sorted_hits(manifest: Manifest, records: Sequence[Record], among: Hits) -> tuple[Hit, ...]:
    """These records `among` the hits of a run, most confident first, with their noise draws."""
    scenes = [replace(hit_of(manifest, record), noise=among.noise_draws(record)) for record in records]
    return tuple(sorted(scenes, key=lambda scene: -scene.confidence))


def nearest_misses(manifest: Manifest, records: Sequence[Record]) -> tuple[Hit, ...]:
    """The distinct rendered latents closest to the level set."""
    target = manifest.target
    there = [item for item in records if item.is_rendered and item.phase in (*RANDOM, CHAIN, *CONTROLS)]
    scored = [(target.confidence(np.array(item.log_probs)), item) for item in there]
    kept: list[Hit] = []
    for _, record in sorted(scored, key=lambda pair: -pair[0])[:MISSES_LOOKED_AT]:
        if all(manifest.world.are_distinct(record.z, other.record.z) for other in kept):
            kept.append(hit_of(manifest, record))
        if len(kept) == MAX_MISSES:
            break
    return tuple(kept)


def hit_of(manifest: Manifest, record: Record) -> Hit:
    """A rendered record as a hit."""
    labels, probs = manifest.facts.labels, record.probs
    order = sorted(range(len(labels)), key=lambda k: -probs[k])
    judged = manifest.world.judge(manifest.resolved, record.z, labels[order[0]])
    return Hit(
        record=record,
        truth=judged.truth,
        answers=tuple((labels[k], probs[k]) for k in order),
        confidence=manifest.target.confidence(np.array(record.log_probs)),
        is_wrong=judged.is_wrong,
        manifest=manifest,
    )
