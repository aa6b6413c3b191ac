"""The schema of a query: question, target, world, model and search budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from trex.clevr_models.interface.options import CONCURRENCY, ModelOptions
from trex.clevr_models.specs.adapter import misplaced_option
from trex.foundation.errors import InputError
from trex.foundation.extensions import LIVE, declared, is_code
from trex.foundation.fields import first_problem, plain
from trex.inference.targets.kind import TargetKind


def targets() -> Mapping[str, TargetKind]:
    """The kinds of targets, by the names that [target] kind takes."""
    return declared("trex.inference.targets", "TARGET", TargetKind)


def _word(value: object) -> object:
    """The answer in words: a TOML count 1 means "1", a TOML boolean "yes" or "no"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) else value


def _words(value: object) -> object:
    words = tuple(_word(item) for item in value) if isinstance(value, list | tuple) else (_word(value),)
    if not all(isinstance(word, str) for word in words):
        raise ValueError('write an answer like "1", or several like ["1", "2"]')
    return words


def _texts(value: object) -> object:
    texts = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('write a list of texts like ["cube", "blue spheres"]')
    return texts


def _range(value: object) -> object:
    ends = value if isinstance(value, list | tuple) else (value, value)
    if len(ends) != 2 or not all(isinstance(end, int) and not isinstance(end, bool) for end in ends):
        raise ValueError("write a whole number or a pair like [3, 10]")
    return tuple(ends)


def _target_kind(name: str) -> str:
    if name not in targets() and not is_code(name):  # code is imported only after its author is trusted
        names = [repr(known) for known in targets() if not known.startswith(LIVE)]
        raise ValueError(
            f"it is not known; use {', '.join(names)}, or 'package.module:object'; an object of "
            "Python is given by trex.find(target=...), and to its run by trex.open_run(folder, target=...)"
        )
    return name


def _lines(text: str) -> str:
    if not text.replace("\n", "").isprintable():
        raise ValueError("it contains unprintable characters other than line breaks; remove them")
    return text


def _short_json(table: Mapping[str, object]) -> Mapping[str, object]:
    if len(json.dumps(table)) > MAX_EXTRA:
        raise ValueError(f"it is too long; the limit is {MAX_EXTRA} characters as JSON")
    return table


# Upper bounds far beyond any use: larger values are mistakes or attacks. docs/reference/queries.md lists them.
MAX_STEPS = 10_000_000  # of a chain; each step renders a picture
MAX_DRAWS = 10_000_000
MAX_EXTRA = 2000
Name = Annotated[str, Field(max_length=300), AfterValidator(plain)]
Sentence = Annotated[str, Field(max_length=2000), AfterValidator(plain)]
Words = Annotated[tuple[Name, ...], Field(max_length=100), BeforeValidator(_words)]
Texts = Annotated[tuple[Name, ...], Field(max_length=200), BeforeValidator(_texts)]
Count = Annotated[int, Field(strict=True)]
Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Options = Annotated[dict[Name, Real | Count | bool | Sentence], Field(max_length=100)]
Extra = Annotated[dict[Name, JsonValue], Field(max_length=100), AfterValidator(_short_json)]
Range = Annotated[tuple[Count, Count], BeforeValidator(_range)]


class Section(BaseModel):
    """A table of the query; rejects unknown keys and is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProgramStep(Section):
    """One step of a CLEVR program: {function = "filter_shape", inputs = [0], value_inputs = ["cube"]}."""

    function: Name
    inputs: Annotated[tuple[Count, ...], Field(max_length=10)] = ()
    value_inputs: Annotated[tuple[Name, ...], Field(max_length=10)] = ()


class TargetSection(Section):
    """The level set: which answers to look for, and how exactly (Bayes-TrEx, equations 1-10).

    `options` belong to target kinds of your own; each kind declares its keys.
    """

    kind: Annotated[Name, AfterValidator(_target_kind)] = "high_confidence"
    width: Annotated[Real, Field(ge=1e-6, le=1)] = 0.05
    threshold: Annotated[Real, Field(ge=1e-6, lt=1)] = 0.9
    share: Annotated[Real, Field(ge=0, le=1)] = 0.5
    probabilities: Annotated[dict[Name, Real], Field(max_length=100)] = Field(default_factory=dict)
    options: Options = Field(default_factory=dict)

    @property
    def declared(self) -> TargetKind:
        """The target kind that a module declares under this name."""
        found = targets()
        if self.kind not in found:
            raise InputError(f"target.kind = {self.kind!r} is code in a module, which was not loaded")
        return found[self.kind]

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.kind not in targets():
            return self
        try:
            self.declared.options.model_validate(self.options)
        except ValidationError as error:
            key, message = first_problem(error)
            raise ValueError(f"options.{key} of kind {self.kind!r}: {message}") from error
        return self


class GeneratorSection(Section):
    """The world: CLEVR's scenes, a decoder of digits, garments or signs, or a user-defined world.

    `without`, `classes`: use the decoder that was trained without these classes, or with these alone.
    """

    name: Name = "clevr"
    without: Words = ()
    classes: Words = ()


class SceneSection(Section):
    """The scenes: number of objects, values revoked from CLEVR's vocabulary, shapes introduced."""

    objects: Range = (5, 5)
    revoke: Texts = ()
    introduce: Texts = ()


class ModelSection(Section):
    """The model: "shipped", "relation-network", "package.module:factory", or a safetensors file."""

    name: Name = "shipped"


class OptionedModelSection(ModelSection):
    """A model, and how to load or ask it; each key applies to the adapters that declare it.

    `endpoint`: the base address of a chat server ("openai:MODEL"), by default OPENAI_BASE_URL. `prompt`: the text
    with {question}, and with {answers} if wanted. `samples`: 0 reads log probabilities, n counts n samples at
    temperature 1. `max_requests` bounds the requests of a command, `concurrency` those at a time. `extra`: further
    fields of each request to a chat server.
    `trust_remote_code`: run the code in the folder of a model of transformers ("hf:NAME").
    """

    endpoint: Sentence = ""
    prompt: Annotated[str, Field(max_length=4000), AfterValidator(_lines)] = ""
    samples: Annotated[Count, Field(ge=0, le=1000)] = 0
    max_requests: Annotated[Count, Field(ge=1, le=MAX_DRAWS)] | None = None
    concurrency: Annotated[Count, Field(ge=1, le=64)] = CONCURRENCY
    trust_remote_code: Annotated[bool, Field(strict=True)] = False
    extra: Extra = Field(default_factory=dict)

    @property
    def options(self) -> ModelOptions:
        """How to load and ask the model."""
        given = {field.name: getattr(self, field.name) for field in fields(ModelOptions)}
        return ModelOptions(**given | {"extra": json.dumps(self.extra, sort_keys=True) if self.extra else ""})

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if problem := misplaced_option(self.name, self.options):
            raise ValueError(problem)
        return self


class RenderSection(Section):
    """How scenes are rendered when it counts: the deciding preset and its noise draws.

    `preset`: "fake" draws flat colors without Blender, for tests. `noise`: the level set is that of the mean
    probability over this many noise draws. `views`: and over this many viewpoints, the scene's own and others. `fresh`:
    a hit counts as found if it stays in the level set under further noise draws, at most this many; 0 asks for none.
    None takes the world's default, 8 for Blender's pictures. `processes`: number of Blender processes; by default one
    per core, at most four. No picture depends on it. `looks`: the cheaper presets that may choose scenes and lead the
    search, cheapest first; the first one scores the bank. None takes those of the preset, an empty list none.
    """

    preset: Name = "reference"
    noise: Annotated[Count, Field(ge=1, le=64)] = 1
    views: Annotated[Count, Field(ge=1, le=64)] = 1
    fresh: Annotated[Count, Field(ge=0, le=64)] | None = None
    device: Name = "auto"
    processes: Annotated[Count, Field(ge=1, le=256)] | None = None
    looks: Texts | None = None

    @property
    def pictures(self) -> int:
        """The pictures of one scene that its probabilities are the mean over: noise draws of each viewpoint."""
        return self.noise * self.views

    @property
    def mean_words(self) -> str:
        """The keys that ask for a mean over pictures: "render.noise = 2"; "" if there is none."""
        keys = {"noise": self.noise, "views": self.views}
        return " and ".join(f"render.{key} = {value}" for key, value in keys.items() if value > 1)


class SearchSection(Section):
    """The search budget and its kernel.

    `bank`: number of prior scenes that are rendered cheaply, once for all queries of a world, and scored before
    anything else; 0 for none, None for the world's default. `bank_seed` draws them. `prior_scenes`: prior scenes
    that are rendered at the deciding preset, from the bank if there is one. `spread`: members of the bank, chosen by
    `bank_seed` alone, that are rendered at the deciding preset after the search, for its rate; None for as many as
    cost little. `warmup`: how many steps of each chain
    are left out of every summary; None for the kernel's share of them. `kernel`: "auto" takes the world's default.
    `inner`: cheap steps before each render at the deciding preset, for kernel "surrogate"; None for as many as suit the
    cost of the preset that leads. `scale`: step size of kernel "gaussian", in standard deviations of the prior.
    `max_depth`: for kernel "nuts", a trajectory has at most 2^max_depth steps. `further`: independent draws that a
    common target may take instead of chains; None for as many as the chains have steps, 0 to run chains in any case.
    `stop_when_found`: stop at this many distinct scenes found; 0 spends the whole budget. `options`: each kernel
    declares its keys. `control`: if nothing is found, run the same search on
    easier targets.
    """

    seed: Annotated[Count, Field(ge=0, lt=2**63)] = 0
    bank: Annotated[Count, Field(ge=0, le=MAX_DRAWS)] | None = None
    bank_seed: Annotated[Count, Field(ge=0, lt=2**63)] = 0
    prior_scenes: Annotated[Count, Field(ge=1, le=MAX_DRAWS)] = 100
    spread: Annotated[Count, Field(ge=0, le=MAX_DRAWS)] | None = None
    chains: Annotated[Count, Field(ge=1, le=1024)] = 4
    steps: Annotated[Count, Field(ge=0, le=MAX_STEPS)] = 500
    warmup: Annotated[Count, Field(ge=0, le=MAX_STEPS)] | None = None
    kernel: Name = "auto"
    options: Options = Field(default_factory=dict)
    inner: Annotated[Count, Field(ge=1, le=1000)] | None = None
    scale: Annotated[Real, Field(ge=1e-6, le=10)] = 0.3
    max_depth: Annotated[Count, Field(ge=1, le=20)] = 10  # the default of Pyro and Stan
    stop_when_found: Annotated[Count, Field(ge=0, le=MAX_DRAWS)] = 0
    further: Annotated[Count, Field(ge=0, le=MAX_DRAWS)] | None = None
    control: Annotated[bool, Field(strict=True)] = True

    @property
    def n_warmup(self) -> int:
        """The number of warmup steps of a resolved query."""
        return self.warmup or 0


class Query(Section):
    """A whole query; `program` gives the meaning of a `question` that no CLEVR family can express in English.

    `wrong`: only scenes in which the question has a true answer, and `answer` is not it.
    """

    question: Sentence = ""
    program: Annotated[tuple[ProgramStep, ...], Field(max_length=100)] = ()
    answer: Words = ()
    wrong: Annotated[bool, Field(strict=True)] = False
    target: TargetSection = TargetSection()
    generator: GeneratorSection = GeneratorSection()
    scene: SceneSection = SceneSection()
    model: OptionedModelSection = OptionedModelSection()
    render: RenderSection = RenderSection()
    search: SearchSection = SearchSection()
