"""What a run was made of: the query, and the version and hash of everything that decides its draws."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from importlib import metadata
from typing import Literal

import numpy as np
from pydantic import Field, ValidationError

from trex.foundation.errors import InputError, RunError
from trex.foundation.parse import parse_json
from trex.inference.targets import GaussianTarget
from trex.query.question import Asked, check_answers
from trex.query.schema import ProgramStep, Query, Section
from trex.query.target import make_target
from trex.scenes.questions.programs import Step
from trex.scenes.vocabulary import CLEVR, ShapeCard, Vocabulary
from trex.worlds.registry import KINDS, LOADED, kind_named
from trex.worlds.world import WorldKind

FORMAT = 1
LEAST_TRIED = 1e-6  # a probability below this is as good as none
ALIKE = 0.02  # how much more or less a probability may be, on the logarithm, than it was
PACKAGES = ("bayes-trex", "bpy", "torch", "numpy", "pyro-ppl")


class Made(Section):
    """What the draws depend on; a run goes on only where all of it is the same."""

    model: str
    tried: tuple[
        float, ...
    ] = ()  # of a model whose weights are not seen: its answers to pictures it was tried on
    renderer: str
    shapes: dict[str, str] = Field(default_factory=dict)


class WorldFacts(Section):
    """What a world of somebody's own says of itself, so that its runs can be read without its code."""

    one: str  # what a latent is called once it is rendered
    many: str
    scope: str
    has_scenes: bool


class Facts(Section):
    """What the query was understood to mean: enough to read the draws without model or renderer."""

    question: str
    program: tuple[ProgramStep, ...]
    possible: tuple[str, ...]
    model: str
    labels: tuple[str, ...]
    cards: tuple[ShapeCard, ...]  # of the shapes in a scene; none in other worlds
    size: tuple[int, int]  # width and height of the pictures in pixels
    trained_on: tuple[str, ...] = ()  # the classes that a decoder has seen
    world: WorldFacts | None = None  # of a world of somebody's own
    weights: str = ""  # fingerprint of the model whatever it is asked, "" in runs that did not record it


class Manifest(Section):
    """`run.json`: the format of the folder, the query as resolved, and what the run was made of."""

    format: Literal[1] = 1
    source: str  # the query file as it was named
    folder: str  # where it lay: shape cards are beside it
    overrides: tuple[str, ...] = ()
    query: Query
    facts: Facts
    made: Made
    versions: dict[str, str]

    @property
    def command(self) -> str:
        """The command that makes the same draws again."""
        words = ["trex", "find", self.source]
        for override in self.overrides:
            words += ["--set", override]
        return shlex.join(words)

    @property
    def kind(self) -> WorldKind:
        """The kind of world that was searched; no code of somebody's own is loaded for it."""
        from trex.worlds.recorded import recorded_kind

        name = self.query.generator.name
        return kind_named(name) if name in KINDS else LOADED.get(name) or recorded_kind(self)

    @property
    def asked(self) -> Asked:
        """The question as it was understood."""
        steps = tuple(Step(s.function, s.inputs, s.value_inputs) for s in self.facts.program)
        return Asked(self.facts.question, steps, self.query.answer, self.facts.possible)

    @property
    def target(self) -> GaussianTarget:
        """The level set that was searched for."""
        return make_target(self.query.target, self.asked, self.facts.labels)

    @property
    def vocabulary(self) -> Vocabulary:
        """What the scenes may hold."""
        new = tuple(card.name for card in self.facts.cards if card.name not in CLEVR.shapes)
        vocabulary = replace(CLEVR, shapes=(*CLEVR.shapes, *new), cards=self.facts.cards)
        for what in self.query.scene.revoke:
            vocabulary = vocabulary.revoke(what)
        return vocabulary


def versions() -> dict[str, str]:
    """Versions of this package, of Python and of the packages that decide pixels and scores."""
    found = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def parse_manifest(text: str, where: str) -> Manifest:
    """The manifest in the text of a `run.json`; RunError where it is of another version or broken."""
    try:
        data = parse_json(text, where, error=RunError)
    except RunError as error:
        raise RunError(f"{error}; it is no run of this program") from error
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise RunError(
            f"{where} is of run format {found!r}, this version reads format {FORMAT}; "
            "read it with the version that made it, or start a new run"
        )
    try:
        manifest = Manifest.model_validate(data)
        check_answers(manifest.query, manifest.facts.question, manifest.facts.possible)
        make_target(manifest.query.target, manifest.asked, manifest.facts.labels)
        return manifest
    except InputError as error:
        raise RunError(f"{where} is damaged: query: {error}; start a new run") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise RunError(f"{where} is damaged: {key}: {first['msg']}; start a new run") from error


def differences(before: Made, now: Made) -> tuple[str, ...]:
    """In words, what differs between what a run was made of and what is here now."""
    pairs = [("the model", before.model, now.model), ("the renderer", before.renderer, now.renderer)]
    for name in sorted(before.shapes.keys() | now.shapes.keys()):
        pairs.append((f"shape {name}", before.shapes.get(name, "none"), now.shapes.get(name, "none")))
    words = [f"{what} was {old}, now it is {new}" for what, old, new in pairs if old != new]
    if not words and not _answers_alike(before.tried, now.tried):
        words.append(f"the model {now.model} answers otherwise than then to the pictures that it is tried on")
    return tuple(words)


def _answers_alike(before: tuple[float, ...], now: tuple[float, ...]) -> bool:
    """Within what another processor or batch may change; also where a run has not kept any."""
    if not before:
        return True
    if len(before) != len(now):
        return False
    old, new = (np.log(np.maximum(answers, LEAST_TRIED)) for answers in (before, now))
    return bool(np.max(np.abs(old - new)) <= ALIKE)
