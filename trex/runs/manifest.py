"""The manifest of a run: the query, and the version and hash of everything that decides its draws."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, PrivateAttr, ValidationError

from trex.foundation.errors import InputError, RunError
from trex.foundation.fields import Plain, first_problem, plain
from trex.foundation.json_fields import mapping
from trex.foundation.parse import parse_json
from trex.foundation.words import quoted
from trex.inference.statistics.staying import PRIOR_DEVIATION_BEFORE
from trex.inference.targets import GaussianTarget
from trex.query.question import ResolvedQuestion, check_answers
from trex.query.resolved import ResolvedQuery
from trex.query.schema import ProgramStep, Query, SearchSection, Section
from trex.query.target import given_target, make_target
from trex.runs.checked_lines import DIGITS
from trex.scenes.questions.programs import Step
from trex.scenes.vocabulary import CLEVR, ShapeCard, Vocabulary
from trex.worlds.description import Provenance
from trex.worlds.latents import SCENES, Latent
from trex.worlds.looks import LADDERS_BEFORE
from trex.worlds.recorded import WorldFacts, recorded_world
from trex.worlds.registry import is_shipped, world_named
from trex.worlds.world import World

FORMAT = 1
MIN_PROBABILITY = 1e-6  # smaller probabilities count as zero
MAX_LOG_CHANGE = 0.02  # tolerated change of a probability, on the logarithm
PACKAGES = ("bayes-trex", "bpy", "torch", "numpy", "pyro-ppl")


class DamagedManifest(RunError):
    """A `run.json` is lost, or not what its run has written."""


def _plain_card(card: ShapeCard) -> ShapeCard:
    for word in card.words:
        plain(word)
    return card


class RunFacts(Section):
    """The query's meaning as resolved: enough to read the draws without model or renderer."""

    question: Plain
    program: tuple[ProgramStep, ...]
    possible: tuple[Plain, ...]
    model: Plain
    labels: tuple[Plain, ...]
    cards: tuple[
        Annotated[ShapeCard, AfterValidator(_plain_card)], ...
    ]  # the shapes in scenes; none in other worlds
    size: tuple[
        Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]
    ]  # width and height of the pictures in pixels
    trained_on: tuple[Plain, ...] = ()  # the classes that the decoder has seen
    world: WorldFacts | None = None  # of a user-defined world
    weights: str  # fingerprint of the model, whatever the question
    spread: Annotated[int, Field(ge=0)] | None = None  # [search] spread as resolved; None in runs of before
    # The standard deviation of a hit's noise that is presumed before its draws, in margins of the level set.
    presumed: Annotated[float, Field(gt=0)] = PRIOR_DEVIATION_BEFORE


class Manifest(Section):
    """`run.json`: the folder's format, the query as resolved, and what the draws depend on."""

    format: Literal[1] = 1
    source: str  # the path of the query file, as given
    folder: str  # its folder, from which paths of shape cards start
    overrides: tuple[str, ...] = ()
    query: Query
    facts: RunFacts
    made: Provenance
    versions: dict[str, str]
    seal: str = ""  # checksum of all else, and the beginning of the chain of the draws'; "" in runs of before
    _world: World[Latent] | None = PrivateAttr(default=None)

    @property
    def command(self) -> str:
        """The command that reproduces the same draws."""
        settings = "".join(f" --set {shlex.quote(override)}" for override in self.overrides)
        return f"trex find {quoted(self.source)}{settings}"

    @property
    def question(self) -> ResolvedQuestion:
        """The question as resolved."""
        steps = tuple(Step(s.function, s.inputs, s.value_inputs) for s in self.facts.program)
        return ResolvedQuestion(self.facts.question, steps, self.query.answer, self.facts.possible)

    @property
    def resolved(self) -> ResolvedQuery:
        """The query as resolved."""
        facts = self.facts
        return ResolvedQuery(
            self.query, self.question, facts.labels, facts.cards, facts.size, facts.trained_on
        )

    @property
    def search(self) -> SearchSection:
        """[search] of the query, with `spread` as resolved: None in a run of before, which had none."""
        return self.query.search.model_copy(update={"spread": self.facts.spread})

    @property
    def target(self) -> GaussianTarget:
        """The level set of the query's target."""
        return self.resolved.target

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the scenes."""
        return self.resolved.vocabulary

    @property
    def world(self) -> World[Latent]:
        """The world that reads the draws: a shipped one by name, any other as its facts record it.

        Loads no third-party code: a world of the user's own reads its draws only if `read_by` has given it.
        """
        if self._world is None:
            name, facts = self.query.generator.name, self.facts
            is_ours = is_shipped(name)
            self._world = world_named(name) if is_ours else recorded_world(name, facts.question, facts.world)
        return self._world

    def __getstate__(self) -> dict[Any, Any]:
        """What a pickle keeps: all but the world, whose functions often cannot be pickled."""
        return {**super().__getstate__(), "__pydantic_private__": {"_world": None}}

    def read_by(self, world: World[Latent]) -> Manifest:
        """The same manifest, of a run whose world has been opened."""
        found = self.model_copy()
        found._world = world
        return found


def versions() -> dict[str, str]:
    """Versions of trex, of Python, and of the packages that decide pixels and scores."""
    found = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def sealed(manifest: Manifest) -> Manifest:
    """The manifest of a new run, with its checksum."""
    return manifest.model_copy(update={"seal": seal_of(json.loads(manifest.model_dump_json()))})


def seal_of(fields: Mapping[str, object]) -> str:
    """The checksum of what a `run.json` says, 32 hexadecimal digits; its spaces and the order of its keys are free."""
    output = {name: value for name, value in fields.items() if name != "seal"}
    text = json.dumps(output, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def parse_manifest(text: str, source: str) -> Manifest:
    """The manifest in the text of a `run.json`; RunError if it is broken or of another version."""
    try:
        data = parse_json(text, source, error=RunError)
    except RunError as error:
        raise DamagedManifest(f"{error}; this is not a run of trex") from error
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        kind = RunError if isinstance(found, int) else DamagedManifest
        raise kind(
            f"{source} has run format {found!r}, but this version reads format {FORMAT}; "
            "use the version that wrote it, or start a new run"
        )
    fields = mapping(data, source)
    try:
        manifest = _with_looks(Manifest.model_validate(data))
        check_answers(manifest.query, manifest.facts.question, manifest.facts.possible)
        _check_target(manifest)
        if manifest.world.form is SCENES:
            _check_cards(manifest)
    except InputError as error:
        # With the right seal an object of the session is another than the run's, and nothing is damaged.
        kind = RunError if fields.get("seal", "") in ("", seal_of(fields)) else DamagedManifest
        raise kind(f"{source} is damaged: query: {error}; start a new run") from error
    except ValidationError as error:
        key, message = first_problem(error)
        raise DamagedManifest(f"{source} is damaged: {key}: {message}; start a new run") from error
    if manifest.seal and manifest.seal != seal_of(fields):
        raise DamagedManifest(
            f"{source} was changed after the run began (its checksum differs), so it may describe other draws than the "
            "run has; restore it, or start a new run"
        )
    return manifest


def _with_looks(manifest: Manifest) -> Manifest:
    """The manifest with the cheap looks that its run had, also if it is of before, when the preset alone said which."""
    render = manifest.query.render
    if render.looks is not None or not manifest.query.search.bank:
        return manifest
    looks = LADDERS_BEFORE.get(render.preset, ())
    query = manifest.query.model_copy(update={"render": render.model_copy(update={"looks": looks})})
    return manifest.model_copy(update={"query": query})


def _check_target(manifest: Manifest) -> None:
    """InputError if the target cannot be built, or is another object than the one of this name that the run had."""
    labels, section = manifest.facts.labels, manifest.query.target
    target = make_target(section, manifest.question, labels)
    for name, now in given_target(section, target, len(labels)).items():
        if manifest.versions.get(name, now) != now:
            raise InputError(f"{name!r} is another object than the run's, with other scores; pass the run's")


def _check_cards(manifest: Manifest) -> None:
    """InputError unless every shape has a card, and every revoked word a meaning."""
    names = {card.name for card in manifest.facts.cards}
    missing = [shape for shape in CLEVR.shapes if shape not in names]
    if missing:
        raise InputError(f"facts.cards has no card of {', '.join(missing)}")
    manifest.vocabulary.combinations()


def differences(before: Provenance, now: Provenance) -> tuple[str, ...]:
    """The differences between a run's manifest and the present state, in words."""
    pairs = [("the model", before.model, now.model), ("the renderer", before.renderer, now.renderer)]
    if before.leader:
        pairs.append(("the analytic preset", before.leader, now.leader or "none"))
    for name in sorted(before.shapes.keys() | now.shapes.keys()):
        pairs.append((f"shape {name}", before.shapes.get(name, "none"), now.shapes.get(name, "none")))
    words = [f"{what} was {old}, now it is {new}" for what, old, new in pairs if old != new]
    if not words and not answers_alike(before.probe_probabilities, now.probe_probabilities):
        words.append(f"the model {now.model} now gives other answers to its probe pictures")
    return tuple(words)


def answers_alike(before: tuple[float, ...], now: tuple[float, ...]) -> bool:
    """Whether the answers differ by no more than another processor or batch may change; True if the run stored none."""
    if not before:
        return True
    if len(before) != len(now):
        return False
    old, new = (np.log(np.maximum(answers, MIN_PROBABILITY)) for answers in (before, now))
    return bool(np.max(np.abs(old - new)) <= MAX_LOG_CHANGE)
