"""What an audit writes down: its settings, a line for each examined picture, a line for each tested scene."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from trex.auditing.options import MAX_SCENES
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import DATA_LIMIT, is_missing, read_text
from trex.foundation.json_fields import short
from trex.foundation.parse import parse_json
from trex.foundation.words import differing_keys
from trex.runs.manifest import answers_alike
from trex.scenes.misreading import Misreading
from trex.worlds.description import ProbeProbabilities

Shared = Annotated[str, AfterValidator(sys.intern)]  # one of few words, kept once however often it is read
REMEDY = "delete the folder and audit again"
DOCUMENT = "report.json"  # what a finished audit says; it holds the settings too
FORMAT = 1
OPTIONS = {  # that are not named as their setting
    "look": "--preset",
    "deciding": "--confirm-preset",
    "severity": "--weigh",
    "model": "the model",
    "weights": "the model or its weights",
    "probe_probabilities": "the model's answers",
    "narrows": "the version of trex",
    "sought": "the random scenes that judge rare families",
    "format": "the format of its files",
}


@dataclass(frozen=True)
class Settings:
    """Everything that decides an audit.

    `weights` is the model's fingerprint, `world` that of the prior; rules are made from `scenes`, and judged by
    `held_out` more; `questions` a scene; `look` of these scenes, and the `deciding` look, at which at most `tested`
    failures of each family are rendered again; `sure` is the probability from which a mistake is confident.
    `families` holds kinds or names of question families, of which alone questions are asked; all if it is empty.
    `probe_probabilities` are the answers to the probe pictures of a model whose weights are out of reach; empty for any
    other. `rare` scenes with rare combinations are examined as well, and at most as many changed copies of those that
    failed. `bank_seed` is that of the bank whose scenes are examined. `explain`: some failures are rendered with
    changes as well. `narrows`: rules that say too little and that fewer scenes than this meet are narrowed by further
    scenes; audits of before did not. `sought`: so many random scenes are drawn for each held-out one to judge a rare
    family, in a world without crowded scenes; in audits of before, 16.
    """

    model: str
    weights: str
    world: str
    scenes: int
    held_out: int
    questions: int
    look: str
    deciding: str
    sure: float
    tested: int
    seed: int
    severity: dict[str, float]
    families: tuple[str, ...] = ()
    probe_probabilities: ProbeProbabilities = ()
    format: int = FORMAT  # of the folder; audits of before do not say it
    rare: int = 0
    bank_seed: int = 0
    explain: bool = True
    narrows: int = 0
    sought: int = 0


@dataclass(frozen=True)
class Numbered:
    """The families of an audit by their keys (`Family.key`), in the order in which its logs number them."""

    families: tuple[str, ...]


@dataclass(frozen=True)
class FreshScenes:
    """The number of fresh scenes that an audit's leader was asked for at most; its helpers read it."""

    scenes: Annotated[int, Field(ge=0, le=MAX_SCENES)]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A confident mistake: the question's place among those asked, and the misreading that explains it (from 0)."""

    at: int
    by: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question of a family (question_family_index of CLEVR v1.0)."""

    family: int
    truth: Shared
    said: Shared
    probability: float


@dataclass(frozen=True, slots=True)
class Examined:
    """A picture, by the number of its scene: the answers, what was misread, and the facts that rules speak of."""

    scene: int
    answers: tuple[Answer, ...]
    mistakes: tuple[Mistake, ...]
    misread: tuple[Misreading, ...]
    shares: tuple[float, ...]
    hiders: tuple[int | None, ...]


@dataclass(frozen=True)
class Variants:
    """The share of a failing scene's confident mistakes that stay after a change of the scene; None if not asked."""

    noise: float | None = None  # another noise seed
    nuisances: float | None = None  # other lights and camera
    without: float | None = None  # without the object responsible


@dataclass(frozen=True)
class Flip:
    """How many of the possible single changes of a scene were tried, and the first after which the model is right.

    `change` is in words, "" if the model stays wrong after all that were tried.
    """

    tried: int
    possible: int
    change: str = ""


@dataclass(frozen=True)
class Tested:
    """A held-out failure of a family at the deciding look: whether it stays, how surely, and after which changes."""

    family: int
    scene: int
    stays: bool
    confidence: float
    question: str
    said: str
    truth: str
    blamed: str  # the misread object in words, and what it was taken for; "" if no object is responsible
    variants: Variants
    flip: Flip | None = (
        None  # None if none was looked for, or if the mistake does not outlast another noise seed
    )


@dataclass(frozen=True)
class Probed:
    """A scene made from a known failure of a family in one way: whether it fails in the same way.

    `scene` is the number of the known failure; `fails` is None if no valid scene with the conditions was found.
    """

    family: int
    way: str
    scene: int
    fails: bool | None


@dataclass(frozen=True)
class Reworded:
    """The confident mistakes of a failing scene of a family whose questions were put in other words.

    `wording` numbers the wordings of a question, from 1. Of the `asked` questions, `again` get a mistake as the
    family's sentence says (None in audits of before, which did not count them), and `stays` are as sure of it as
    before; of `moved` the words change a probability. `is_read` is False if the model reads programs alone, and
    nothing was asked.
    """

    family: int
    scene: int
    wording: int
    asked: int
    stays: int
    moved: int
    is_read: bool = True
    again: int | None = None


SETTINGS, EXAMINED, TESTED = Codec(Settings), Codec(Examined), Codec(Tested)
PROBED, REWORDED, FRESH_SCENES, NUMBERED = Codec(Probed), Codec(Reworded), Codec(FreshScenes), Codec(Numbered)


def read_settings(path: Path, inside: Path | None = None) -> Settings | None:
    """The settings in an `audit.json`, None if there is none; RunError if it is damaged or of another version.

    A damaged one is no loss if the audit is finished.
    """
    try:
        text = read_text(path, error=RunError, inside=inside)
    except RunError as error:
        if is_missing(error):
            return None
        if not isinstance(error.__cause__, UnicodeDecodeError):
            raise RunError(f"{error}; {REMEDY}") from error
        text = ""
    fields = _fields(text)
    if fields.get("format", FORMAT) != FORMAT:
        raise RunError(
            f"{path} has audit format {short(fields['format'])}, but this version reads format {FORMAT}; use the "
            "version that wrote it, or choose another folder"
        )
    remedy = f"{REMEDY}: scenes in the bank are not rendered again"
    try:
        return SETTINGS.parse(text, str(path), remedy)
    except RunError:
        told = _fields(_text_of(path.with_name(DOCUMENT), inside)).get("settings")
        if told is None:
            raise
        return SETTINGS.parse(json.dumps(told), str(path.with_name(DOCUMENT)), remedy)


def _text_of(path: Path, inside: Path | None) -> str:
    """The text of a file, "" if it cannot be read."""
    try:
        return read_text(path, limit=DATA_LIMIT, inside=inside)
    except InputError:
        return ""


def _fields(text: str) -> Mapping[str, object]:
    """The fields of a JSON object; none if it is damaged, which its parser names."""
    try:
        found = parse_json(text, "audit.json")
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}


def check_same(known: Settings, settings: Settings, folder: Path) -> None:
    """InputError unless an audit's settings are these."""
    if not answers_alike(known.probe_probabilities, settings.probe_probabilities):
        raise InputError(
            f"{folder} holds an audit of {known.model}, which now gives other answers to its probe pictures; choose "
            "another --out"
        )
    # `weights` tell models apart.
    same = {"probe_probabilities": known.probe_probabilities, "model": known.model}
    if keys := differing_keys(_by_option(vars(known)), _by_option(vars(settings) | same)):
        raise InputError(
            f"{folder} holds an audit with other settings ({keys}); repeat its options, or choose another --out"
        )


def option_name(key: str) -> str:
    """The option of `trex audit` that decides a setting; its name in words if none does."""
    return OPTIONS.get(key, f"--{key.replace('_', '-')}")


def _by_option(settings: Mapping[str, object]) -> Mapping[str, object]:
    return {option_name(key): value for key, value in settings.items()}
