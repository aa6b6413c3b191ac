"""A world of vectors from plain functions: what `trex.World` is, unless its prior is one of CLEVR's scenes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError, RenderError
from trex.foundation.own_code import called, code_hash
from trex.inference.types import Draw, Floats, Prior
from trex.query.question import named_answers
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query
from trex.render.drawing import checked_pixels
from trex.worlds.description import NOT_KNOWN, Judgment, Known, Summary
from trex.worlds.own.classifier import own_classifier
from trex.worlds.own.prior import OwnPrior
from trex.worlds.own.values import Spec, Value, latent_at, own_edits, values_at
from trex.worlds.vectors import VectorParts, VectorWorld
from trex.worlds.world import Plan

Latents = Mapping[str, Value] | Floats  # what the user's functions get: named values, or the vector
SHOWN = 3  # pictures of the prior that identify a renderer, and that a model is tried on
TRIED = 1000  # draws in which a condition on the prior must hold sometimes
MOST = 100_000  # draws until a condition holds
PROBES = 64  # draws by whose verdicts a condition is known, and whose true answers are checked


@dataclass(frozen=True)
class Functions:
    """The user's functions, each of what `shown` makes of a latent."""

    render: Callable[[Latents], object]
    answer: Callable[[Latents], str] | None = None
    edits: Callable[[Latents], Mapping[str, Latents]] | None = None
    describe: Callable[[Latents], object] | None = None
    specs: tuple[Spec, ...] = ()  # of a prior of named values

    def shown(self, z: Floats) -> Latents:
        """The named values of a latent, or a copy of the vector."""
        return values_at(self.specs, z) if self.specs else z.copy()

    def latent(self, changed: Latents, like: Floats) -> Floats:
        """The latent of what an edit gives; InputError if it is none."""
        if self.specs:
            if not isinstance(changed, Mapping):
                raise InputError(f"an edit gives a {type(changed).__name__}; it must be a mapping of values")
            return latent_at(self.specs, changed, like)
        try:
            found = np.array(changed, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"an edit gives {changed!r:.100}; it must be numbers {like.shape}") from error
        if found.shape != like.shape or not np.isfinite(found).all():
            raise InputError(f"an edit gives an array {found.shape}; it must be finite numbers {like.shape}")
        return found

    def truth(self, z: Floats, labels: Sequence[str]) -> str | None:
        """The true answer, None if no function gives it, or if it gives None; InputError if it is none of these.

        A number may be beyond those that the model can say.
        """
        if self.answer is None:
            return None
        with called("answer"):
            found = self.answer(self.shown(z))
        if found is None:
            return None
        truth = str(found)
        if truth in labels or (truth.isdecimal() and any(label.isdecimal() for label in labels)):
            return truth
        raise InputError(
            f"trex.World: answer gives {truth!r}, which is none of the answers ({', '.join(labels)}); let it give "
            "one of them, or None where the truth is unknown"
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture, float32 (H, W, C) in [0, 1]."""

    pixels: NDArray[np.float32]


@dataclass(frozen=True)
class OwnRenderer:
    """The user's function as a renderer; `key` changes with its code, and with its pictures of SHOWN prior draws."""

    functions: Functions
    key: str = ""

    def render(self, zs: Sequence[Floats]) -> list[Drawn]:
        """One picture (H, W, C) each, float32 in [0, 1]; RenderError if the function fails or gives none."""
        return [Drawn(self._pixels(z)) for z in zs]

    def close(self) -> None:
        """Nothing is held."""

    def _pixels(self, z: Floats) -> NDArray[np.float32]:
        with called("render", RenderError):
            found = np.asarray(self.functions.render(self.functions.shown(z)))
        return checked_pixels(found)


@dataclass(frozen=True)
class Narrowed:
    """A prior of vectors given a condition; exact, by rejection."""

    base: Prior[Floats]
    holds: Callable[[Floats], bool]
    words: str
    code: str = ""  # a hash of the condition's

    @cached_property
    def key(self) -> str:
        """32 hex digits that change with the condition's code, and with what it says of PROBES draws."""
        rng = np.random.default_rng(0)
        said = "".join(str(int(self.holds(self.base.sample(rng)))) for _ in range(PROBES))
        return hashlib.sha256(f"{self.code} {said}".encode()).hexdigest()[:32]

    def sample(self, rng: np.random.Generator) -> Floats:
        """One draw; InputError if none of MOST draws meets the condition."""
        for _ in range(MOST):
            z = self.base.sample(rng)
            if self.holds(z):
                return z
        raise InputError(f"none of {MOST:,} draws of the prior meets the condition {self.words!r}")

    def log_density(self, z: Floats) -> float:
        """The base's, -inf where the condition fails: it leaves out the log of the condition's probability."""
        density = self.base.log_density(z)
        return density if np.isfinite(density) and self.holds(z) else -np.inf


@dataclass(frozen=True, kw_only=True)
class OwnVectors(VectorWorld):
    """A world of vectors that knows its truths, words and edits from the user's functions."""

    functions: Functions

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """As of any world of vectors; with `wrong`, of the latents whose true answer is none of the query's."""
        plan = super().plan(query.model_copy(update={"wrong": False}), query_dir)
        rng = np.random.default_rng(0)
        for _ in range(PROBES):
            self.functions.truth(plan.prior.sample(rng), plan.bound.labels)
        if not query.wrong:
            return plan
        if self.functions.answer is None:
            raise InputError("wrong = true needs the true answers; give trex.World(answer=function)")
        answers = named_answers(plan.query)
        if not answers:
            raise InputError("wrong = true needs answers that can be wrong; name them")

        def is_wrong(z: Floats) -> bool:
            truth = self.functions.truth(z, plan.bound.labels)
            return truth is not None and truth not in answers

        words = f"only where {' or '.join(answers)} is wrong"
        prior = Narrowed(plan.prior, is_wrong, words, code_hash(self.functions.answer))
        rng = np.random.default_rng(0)
        if not any(is_wrong(plan.prior.sample(rng)) for _ in range(TRIED)):
            raise InputError(
                f"wrong = true: in none of {TRIED:,} draws of the prior is {' or '.join(answers)} wrong; change the "
                "answer, or the prior"
            )
        outline = plan.outline._replace(world=f"{plan.outline.world}, {words}")
        return replace(
            plan, query=plan.query.model_copy(update={"wrong": True}), prior=prior, outline=outline
        )

    def codes(self, plan: Plan) -> dict[str, str]:
        """Hashes of the prior and, if they narrow it, of the true answers: a resumed run must have the same."""
        prior, found = plan.prior, {}
        if isinstance(prior, Narrowed):
            found["the true answers, which narrow the prior,"] = prior.key
            prior = prior.base
        if isinstance(prior, OwnPrior):
            found["the prior"] = prior.code
        elif self.functions.specs:
            text = repr(self.functions.specs)
            found["the prior"] = hashlib.sha256(text.encode()).hexdigest()[:32]
        return found

    def scope(self, query: Query) -> str:
        """The world in a few words."""
        words = super().scope(query)
        return f"{words}, only where {' or '.join(named_answers(query))} is wrong" if query.wrong else words

    def words(self, z: Floats) -> str:
        """What `describe` says of the latent, or its named values."""
        told = self.described(z)
        if isinstance(told, Mapping):
            return ", ".join(f"{name} {_figure(value)}" for name, value in told.items())
        return str(told) if told is not None else super().words(z)

    def described(self, z: Floats) -> object:
        """What `describe` gives, else the named values; None without either."""
        shown = self.functions.shown(z)
        if self.functions.describe is not None:
            with called("describe"):
                return self.functions.describe(shown)
        return shown if self.functions.specs else None

    def edits(self, z: Floats) -> dict[str, Floats]:
        """The changes of a latent that `Run.explain` tries, by name; empty if there are none."""
        functions, shown = self.functions, self.functions.shown(z)
        given: object = {}
        if functions.edits is not None:
            with called("edits"):
                given = functions.edits(shown)
        elif functions.specs and isinstance(shown, dict):
            given = own_edits(functions.specs, shown)
        if not isinstance(given, Mapping):
            raise InputError(
                f"edits gives a {type(given).__name__}; it must be a mapping from names to latents"
            )
        return {str(name): functions.latent(changed, z) for name, changed in given.items()}

    def judge(self, resolved: ResolvedQuery, z: Floats, answer: str) -> Judgment:
        """The true answer, if a function gives it."""
        truth = self.functions.truth(z, resolved.labels)
        return NOT_KNOWN if truth is None else Judgment(truth, answer != truth)

    def known(self, plan: Plan, example: object) -> Known:
        """Nothing is known of pictures from elsewhere."""
        return Known(None, None)

    def summaries(self, resolved: ResolvedQuery, like: Floats) -> Mapping[str, Summary]:
        """As of any world of vectors, and each named number."""
        found = dict(super().summaries(resolved, like))
        for place, spec in enumerate(self.functions.specs):
            if not spec.entries:
                name = f"value {spec.name}" if spec.name in found else spec.name
                found[name] = partial(_number, place=place, spec=spec)
        return found


def vector_world(
    name: str, question: str, answers: tuple[str, ...], prior: Prior[Floats], functions: Functions
) -> OwnVectors:
    """The world under this name; its pictures are tried when a query is planned."""

    def load(query: Query) -> VectorParts:
        rng = np.random.default_rng(0)
        probes = [np.asarray(prior.sample(rng), dtype=np.float64) for _ in range(SHOWN)]
        try:
            pixels = [picture.pixels for picture in OwnRenderer(functions).render(probes)]
        except RenderError as error:
            raise InputError(str(error)) from error
        if len({each.shape for each in pixels}) > 1:
            raise InputError(
                f"render gives pictures of different sizes: {pixels[0].shape}, {pixels[1].shape}"
            )
        digest = hashlib.sha256(b"".join(each.tobytes() for each in pixels)).hexdigest()[:16]
        renderer = OwnRenderer(functions, f"own {code_hash(functions.render)} {digest}")
        model = own_classifier(query.model.name, question, answers, np.stack(pixels))
        key = f"{model.name} {model.identity}"
        height, width, _ = pixels[0].shape
        return VectorParts(prior, renderer, model, model.name, key, (width, height))

    return OwnVectors(name, question, "pictures", load, functions=functions)


def _number(draw: Draw[Floats], place: int, spec: Spec) -> float:
    return float(spec.at(float(draw.z[place])))


def _figure(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
