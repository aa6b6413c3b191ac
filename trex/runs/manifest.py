"""What a run was made of: the query, and the version and hash of everything that decides its draws."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from typing import Literal

import numpy as np
from pydantic import ValidationError

from trex.foundation.errors import InputError, RunError
from trex.foundation.parse import parse_json
from trex.inference.targets import GaussianTarget
from trex.query.question import ResolvedQuestion, check_answers
from trex.query.resolved import ResolvedQuery
from trex.query.schema import ProgramStep, Query, Section
from trex.query.target import make_target
from trex.scenes.questions.programs import Step
from trex.scenes.vocabulary import ShapeCard, Vocabulary
from trex.worlds.provenance import Provenance
from trex.worlds.recorded import WorldFacts

FORMAT = 1
LEAST_TRIED = 1e-6  # a probability below this is as good as none
ALIKE = 0.02  # how much more or less a probability may be, on the logarithm, than it was
PACKAGES = ("bayes-trex", "bpy", "torch", "numpy", "pyro-ppl")


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
    made: Provenance
    versions: dict[str, str]

    @property
    def command(self) -> str:
        """The command that makes the same draws again."""
        words = ["trex", "find", self.source]
        for override in self.overrides:
            words += ["--set", override]
        return shlex.join(words)

    @property
    def question(self) -> ResolvedQuestion:
        """The question as it was understood."""
        steps = tuple(Step(s.function, s.inputs, s.value_inputs) for s in self.facts.program)
        return ResolvedQuestion(self.facts.question, steps, self.query.answer, self.facts.possible)

    @property
    def resolved(self) -> ResolvedQuery:
        """The query as it was understood."""
        facts = self.facts
        return ResolvedQuery(
            self.query, self.question, facts.labels, facts.cards, facts.size, facts.trained_on
        )

    @property
    def target(self) -> GaussianTarget:
        """The level set that was searched for."""
        return self.resolved.target

    @property
    def vocabulary(self) -> Vocabulary:
        """What the scenes may hold."""
        return self.resolved.vocabulary


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
        make_target(manifest.query.target, manifest.question, manifest.facts.labels)
        return manifest
    except InputError as error:
        raise RunError(f"{where} is damaged: query: {error}; start a new run") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise RunError(f"{where} is damaged: {key}: {first['msg']}; start a new run") from error


def differences(before: Provenance, now: Provenance) -> tuple[str, ...]:
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
