"""Answered questions that use the words whose indices are open: read from files, and phrased from scenes.

Phrasings are CLEVR's own (clevr-dataset-gen, question templates); the truth comes from the objects in the scene file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from trex.clevr_models.interface.program_kinds import ATTRIBUTE_VALUES
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, read_text
from trex.foundation.json_fields import field, listed, mapping
from trex.foundation.parse import parse_json

Thing = Mapping[str, str]  # shape, size, color, material of an object
SYNONYMS: dict[str, tuple[str, ...]] = {
    "large": ("large", "big"),
    "small": ("small", "tiny"),
    "metal": ("metal", "metallic", "shiny"),
    "rubber": ("rubber", "matte"),
    "cube": ("cube", "block"),
    "sphere": ("sphere", "ball"),
    "thing": ("thing", "object"),
}
ORDER = ("size", "color", "material", "shape")
LARGE = 7  # the least of the counts whose outputs are settled
COUNT_TRIES = 2000
LARGEST = 2048 * MIB  # the questions of CLEVR v1.0 train have 1.3 GB


class Answered(NamedTuple):
    """A question on the picture in a file, with its true answer."""

    picture: Path
    text: str
    answer: str
    source: str = "phrased"


class Noun(NamedTuple):
    """A description, in words without article, and the objects of the scene that it fits."""

    words: str
    fits: tuple[int, ...]

    @property
    def plural(self) -> str:
        """The description for several objects."""
        return self.words + "s"


def read_answered(root: Path) -> list[Answered]:
    """All questions in `questions/*.json` of a folder in CLEVR's layout whose pictures are there too."""
    found = []
    for path in sorted((root / "questions").glob("*.json")):
        for record in _records(path, "questions"):
            picture = root / "images" / str(record["split"]) / str(record["image_filename"])
            if picture.is_file() and "answer" in record:
                found.append(Answered(picture, str(record["question"]), str(record["answer"]), path.stem))
    if not found:
        raise InputError(
            f"{root} holds no answered questions; it needs questions/*.json and images/SPLIT/*.png as CLEVR has them"
        )
    return found


def read_scenes(root: Path) -> list[tuple[Path, tuple[Thing, ...]]]:
    """Pictures of a folder in CLEVR's layout with the attributes of their objects, from `scenes/*.json`."""
    found = []
    for path in sorted((root / "scenes").glob("*.json")):
        for record in _records(path, "scenes"):
            picture = root / "images" / str(record["split"]) / str(record["image_filename"])
            if picture.is_file():
                found.append((picture, tuple(cast(list[Thing], record["objects"]))))
    return found


def _records(path: Path, key: str) -> list[Mapping[str, object]]:
    try:
        data = mapping(parse_json(read_text(path, limit=LARGEST), str(path)), str(path))
        return [
            mapping(item, f"{path}, {key}") for item in listed(field(data, key, str(path)), f"{path}, {key}")
        ]
    except InputError as error:
        raise InputError(f"{path} is not a CLEVR file of {key}: {error}") from error


def phrase_questions(rng: np.random.Generator, root: Path, per_scene: int) -> list[Answered]:
    """`per_scene` questions of every family below on every picture with a scene; fewer where no objects fit."""
    return [
        Answered(picture, *question)
        for picture, things in read_scenes(root)
        for family in FAMILIES
        for _ in range(per_scene)
        if (question := family(rng, things)) is not None
    ]


def _noun(rng: np.random.Generator, things: Sequence[Thing], of: Thing | None = None, least: int = 1) -> Noun:
    """A description by `least` or more attributes: of one thing, of one of the things, or of none in particular."""
    source = of if of is not None else things[rng.integers(len(things))]
    if of is None and rng.random() < 0.25:
        source = {name: str(rng.choice(values)) for name, values in ATTRIBUTE_VALUES.items()}
    chosen = set(rng.choice(ORDER, size=rng.integers(least, len(ORDER) + 1), replace=False))
    words = [source[name] if name in chosen else "thing" * (name == "shape") for name in ORDER]
    text = " ".join(str(rng.choice(SYNONYMS.get(word, (word,)))) for word in words if word)
    return Noun(
        text,
        tuple(i for i, thing in enumerate(things) if all(thing[name] == source[name] for name in chosen)),
    )


def _unique(rng: np.random.Generator, things: Sequence[Thing]) -> Noun | None:
    """A description that fits exactly one object."""
    for _ in range(20):
        noun = _noun(rng, things, of=things[rng.integers(len(things))])
        if len(noun.fits) == 1:
            return noun
    return None


def _pick(rng: np.random.Generator, *phrasings: str) -> str:
    return str(rng.choice(phrasings))


def _yes(is_true: bool) -> str:
    return "yes" if is_true else "no"


Phrased = tuple[str, str] | None
Family = Callable[[np.random.Generator, Sequence[Thing]], Phrased]


def fewer_or_more(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """compare_integer: less_than, greater_than."""
    a, b = _noun(rng, things), _noun(rng, things)
    fewer = rng.random() < 0.5
    truth = len(a.fits) < len(b.fits) if fewer else len(a.fits) > len(b.fits)
    short = f"Are there {'fewer' if fewer else 'more'} {a.plural} than {b.plural}?"
    long = f"Is the number of {a.plural} {'less' if fewer else 'greater'} than the number of {b.plural}?"
    return _pick(rng, short, long, long), _yes(truth)


def as_many(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """compare_integer: equal_integer."""
    a, b = _noun(rng, things), _noun(rng, things)
    same = f"Are there the same number of {a.plural} and {b.plural}?"
    equal = f"Are there an equal number of {a.plural} and {b.plural}?"
    is_same = f"Is the number of {a.plural} the same as the number of {b.plural}?"
    return _pick(rng, same, equal, equal, is_same), _yes(len(a.fits) == len(b.fits))


def visible(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """zero_hop: exist."""
    noun = _noun(rng, things, least=2)
    return _pick(rng, f"Are any {noun.plural} visible?", f"Are there any {noun.plural}?"), _yes(
        bool(noun.fits)
    )


def equal_attribute(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """comparison: do two objects share an attribute."""
    a, b = _unique(rng, things), _unique(rng, things)
    if a is None or b is None or a.fits == b.fits:
        return None
    name = str(rng.choice(ORDER))
    truth = things[a.fits[0]][name] == things[b.fits[0]][name]
    do = f"Do the {a.words} and the {b.words} have the same {name}?"
    does = f"Does the {a.words} have the same {name} as the {b.words}?"
    made = f"Are the {a.words} and the {b.words} made of the same material?"
    return (made if name == "material" and rng.random() < 0.5 else _pick(rng, do, do, does)), _yes(truth)


def anything_else(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """same_relate: exist."""
    anchor = _unique(rng, things)
    if anchor is None:
        return None
    name = str(rng.choice(ORDER))
    other = _noun(rng, things, least=1)
    alike = [
        i for i, t in enumerate(things) if i != anchor.fits[0] and t[name] == things[anchor.fits[0]][name]
    ]
    tail = _pick(rng, f"that is the same {name} as", f"that has the same {name} as", f"of the same {name} as")
    if rng.random() < 0.6:
        return f"Is there anything else {tail} the {anchor.words}?", _yes(bool(alike))
    start = _pick(rng, "another", "another", "a")
    return f"Is there {start} {other.words} {tail} the {anchor.words}?", _yes(
        bool(set(alike) & set(other.fits))
    )


def either_or(rng: np.random.Generator, things: Sequence[Thing], least: int = 2) -> Phrased:
    """single_or: count; things are described by `least` attributes or more."""
    a, b = _noun(rng, things, least=least), _noun(rng, things, least=least)
    start = _pick(rng, "How many things are", "What number of objects are", "How many objects are")
    return f"{start}{_pick(rng, ' either', ' either', '')} {a.plural} or {b.plural}?", str(
        len({*a.fits, *b.fits})
    )


def query(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """zero_hop: query an attribute."""
    noun = _unique(rng, things)
    if noun is None:
        return None
    name = str(rng.choice(ORDER))
    has = f"The {noun.words} {'is' if name in ('size', 'shape') else 'has'} what {name}?"
    there = f"There is a {noun.words}; what {name} is it?"
    its = f"There is a {noun.words}; what is its {name}?"
    made = (
        f"What is the {noun.words} made of?"
        if name == "material"
        else f"What is the {name} of the {noun.words}?"
    )
    return _pick(rng, has, has, there, its, made), things[noun.fits[0]][name]


def count(rng: np.random.Generator, things: Sequence[Thing]) -> Phrased:
    """zero_hop: count."""
    noun = _noun(rng, things, least=1)
    return _pick(rng, f"How many {noun.plural} are there?", f"What number of {noun.plural} are there?"), str(
        len(noun.fits)
    )


FAMILIES: tuple[Family, ...] = (
    fewer_or_more, as_many, visible, equal_attribute, anything_else, either_or, query, count,
)  # fmt: skip


def large_counts(rng: np.random.Generator, root: Path, per_scene: int = 14) -> list[Answered]:
    """Questions whose answer is 7 or more: how many things are this or that, on every picture with so many objects."""
    found: dict[tuple[Path, str], Answered] = {}
    for picture, things in read_scenes(root):
        kept = 0
        for _ in range(COUNT_TRIES if len(things) >= LARGE else 0):
            question = either_or(rng, things, least=1)
            if (
                question
                and int(question[1]) >= LARGE
                and (picture, question[0]) not in found
                and kept < per_scene
            ):
                found[picture, question[0]] = Answered(picture, *question)
                kept += 1
    return list(found.values())
