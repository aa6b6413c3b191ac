"""The vocabulary of patterns: conditions on an object and its surroundings, on a scene, and on a question.

Conditions on the named values of a world of the user's own (`trex.worlds.own.conditions`) are of part "value".

A condition is data: what must be true of a unit, and for a relation of some other object that has it. Audits and
repairs search for rules of these conditions; what a search finds is described by them too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.words import with_article
from trex.scenes.graph import RELATIONS, Facts, scene_facts, scene_graph
from trex.scenes.questions.programs import Program
from trex.scenes.scene import ATTRIBUTES, NUISANCES
from trex.scenes.vocabulary import Vocabulary

SHARES = (0.2, 0.4, 0.6, 0.8)  # visible shares that a rule may name
BESIDE = 0.5  # gap on the ground between the objects' footprints, Blender units; a large object is 1.4 wide
FAR = 1.0  # along CLEVR's direction "behind", Blender units; the ground reaches from -3 to 3
HALF = 0.5  # of the reach of the camera's or a light's height, from which on it is low or high
# An object is left of another one if that one is right of it.
SIDES = (
    ("left", "right", "left of"),
    ("right", "left", "right of"),
    ("front", "behind", "nearer than"),
    ("behind", "front", "farther back than"),
)
ORDER = ("size", "color", "material", "shape")  # of the words before a noun
CROWDS = (5, 6, 7, 8, 9, 10)  # numbers of objects
COUNTS = tuple(range(2, 11))  # true answers that a rule may name, "at least"
Part = Literal["noun", "seen", "where", "scene", "question", "value"]
Level = Literal["object", "scene", "question"]
Bools = NDArray[np.bool_]
Known = Mapping[str, str | float]  # facts by name


@dataclass(frozen=True)
class Asked:
    """A question about a scene: its program and its true answer."""

    program: Program
    truth: str


class Term(NamedTuple):
    """What a fact must be: this word, or a number from `low` up to below `high`; false without the fact."""

    name: str
    word: str | None = None
    low: float = -math.inf
    high: float = math.inf

    def holds(self, known: Known) -> bool:
        """Whether it is so."""
        fact = known.get(self.name)
        if fact is None or isinstance(fact, str):
            return fact is not None and fact == self.word
        return self.low <= fact < self.high


@dataclass(frozen=True)
class Condition:
    """Terms on a unit; with `relation`, some other object must have this relation to it and meet `other`.

    `part` is where a sentence has the words; `key` names the condition in files.
    """

    key: str
    part: Part
    words: str
    terms: tuple[Term, ...] = ()
    relation: tuple[Term, ...] = ()
    other: tuple[Term, ...] = ()


def noun_conditions(vocabulary: Vocabulary) -> tuple[Condition, ...]:
    """A condition for each value of each attribute."""
    return tuple(has(name, value) for name in ATTRIBUTES for value in vocabulary.available(name))


def has(name: str, value: str) -> Condition:
    """The condition that an object has this value of an attribute."""
    return Condition(f"{name} {value}", "noun", value, (Term(name, value),))


def object_conditions(vocabulary: Vocabulary) -> tuple[Condition, ...]:
    """All conditions on an object that a rule may name."""
    nouns = noun_conditions(vocabulary)
    seen = [
        Condition(f"visible {share}", "seen", f"less than {round(100 * share)}% visible", (below(share),))
        for share in SHARES
    ]
    larger = Condition(
        "hidden by larger",
        "seen",
        "partly hidden by a larger object",
        relation=(Term("hides", low=0.0), is_true("larger")),
    )
    hides = Condition(
        "hides", "seen", "that hides part of another object", relation=(Term("hidden", low=0.0),)
    )
    alike = [
        Condition(
            f"{n} others of its {name}",
            "seen",
            f"that is one of at least {n + 1} of its {name}",
            (Term(f"same {name}", low=n),),
        )
        for name in ("shape", "color")
        for n in (1, 2)
    ]
    near = [
        Condition(
            f"beside {noun.key}",
            "where",
            f"beside {noun_words([noun])}",
            (),
            (Term("gap", high=BESIDE),),
            noun.terms,
        )
        for noun in nouns
    ]
    to = [
        Condition(
            f"{name} {noun.key}",
            "where",
            f"{words} {noun_words([noun])}",
            (),
            (is_true(opposite),),
            noun.terms,
        )
        for name, opposite, words in SIDES
        for noun in nouns
    ]
    back = Condition("far back", "where", "at the back", (Term("depth", low=FAR),))
    front = Condition("far front", "where", "at the front", (Term("depth", high=-FAR),))
    return (*nouns, *touch_conditions(vocabulary), *seen, larger, hides, *alike, back, front, *near, *to)


def touch_conditions(vocabulary: Vocabulary) -> tuple[Condition, ...]:
    """The conditions that an object touches another one in the picture: any, one like it, one of a kind."""

    def touching(
        key: str, words: str, like: tuple[Term, ...] = (), other: tuple[Term, ...] = ()
    ) -> Condition:
        return Condition(
            f"touches {key}", "seen", f"that overlaps {words}", (), (is_true("touches"), *like), other
        )

    return (
        touching("any", "another object in the picture"),
        touching("larger", "a larger object in the picture", (is_true("larger"),)),
        *(
            touching(f"same {name}", f"an object of its {name} in the picture", (is_true(f"same {name}"),))
            for name in ATTRIBUTES
        ),
        *(
            touching(noun.key, f"{noun_words([noun])} in the picture", (), noun.terms)
            for noun in noun_conditions(vocabulary)
        ),
    )


def scene_conditions() -> tuple[Condition, ...]:
    """All conditions on a scene that a rule may name."""
    crowds = (
        Condition(f"objects {n}", "scene", f"in scenes of at least {n} objects", (Term("objects", low=n),))
        for n in CROWDS
    )
    heights = (
        Condition(f"{part.name} {key}", "scene", f"when the {part.words} is {key}", (term,))
        for part in NUISANCES
        if part.n == 3
        for key, term in (
            ("low", Term(f"{part.name} height", high=-HALF * part.reach)),
            ("high", Term(f"{part.name} height", low=HALF * part.reach)),
        )
    )
    return (*crowds, *heights)


def question_conditions(vocabulary: Vocabulary) -> tuple[Condition, ...]:
    """All conditions on a question that a rule may name: its end, its parts, and its true answer."""

    def on_question(key: str, words: str, term: Term) -> Condition:
        return Condition(key, "question", words, (term,))

    ends = (
        ("count", "for a number"),
        ("exist", "whether there is any"),
        *((f"query_{name}", f"for the {name}") for name in ATTRIBUTES),
        ("equal_integer", "whether two numbers are equal"),
        ("less_than", "whether a number is less"),
        ("greater_than", "whether a number is greater"),
        *((f"equal_{name}", f"whether two things have the same {name}") for name in ATTRIBUTES),
    )
    return (
        *(on_question(f"asks {name}", f"that ask {words}", Term("asks", name)) for name, words in ends),
        *(
            on_question(f"relation {name}", f"with the relation “{name}”", is_true(f"relate {name}"))
            for name in RELATIONS
        ),
        *(
            on_question(f"same {name}", f"about the same {name}", is_true(f"same_{name}"))
            for name in ATTRIBUTES
        ),
        *(
            on_question(
                f"mentions {name} {value}", f"that mention “{value}”", is_true(f"filter_{name} {value}")
            )
            for name in ATTRIBUTES
            for value in vocabulary.available(name)
        ),
        on_question("and", "with “both … and”", is_true("intersect")),
        on_question("or", "with “either … or”", is_true("union")),
        on_question("relations 2", "with two relations or more", Term("relate", low=2)),
        on_question("relations 3", "with three relations", Term("relate", low=3)),
        *(
            on_question(f"truth {n}", f"whose true answer is at least {n}", Term("truth", low=n))
            for n in COUNTS
        ),
    )


def below(share: float) -> Term:
    """The term that less than this share of an object is visible."""
    return Term("visible", high=share)


def is_true(name: str) -> Term:
    """The term that a fact is there at least once."""
    return Term(name, low=1)


def noun_words(conditions: Iterable[Condition]) -> str:
    """The object that conditions speak of: "a small metal cylinder", "an object"."""
    named = {
        condition.key.split()[0]: condition.words for condition in conditions if condition.part == "noun"
    }
    words = [named[name] for name in ORDER if name in named]
    return with_article(" ".join(words if "shape" in named else [*words, "object"]))


def part_words(conditions: Iterable[Condition], part: Part) -> list[str]:
    """The words of all conditions of one part, joined; no words if there are none."""
    mine = [condition for condition in conditions if condition.part == part]
    words = value_words(mine) if part == "value" else [condition.words for condition in mine]
    return [" and ".join(words)] if words else []


def value_words(conditions: Sequence[Condition]) -> list[str]:
    """The words of conditions on values; of two on one number "tilt is between 10 and 20"."""
    words: dict[str, str] = {}
    for condition in conditions:
        (term,) = condition.terms
        others = [each.terms[0] for each in conditions if each.terms[0].name == term.name]
        low, high = max(each.low for each in others), min(each.high for each in others)
        is_between = term.word is None and math.isfinite(low) and math.isfinite(high)
        name = condition.words.rpartition(" is ")[0]
        words[term.name] = f"{name} is between {low:.12g} and {high:.12g}" if is_between else condition.words
    return list(words.values())


def object_rows(facts: Facts, conditions: Sequence[Condition]) -> Bools:
    """(n, m): which conditions hold for each of the n objects of a scene; one on the scene holds for each."""
    graph, n = scene_graph(facts), len(facts.scene.objects)
    nodes = [graph.nodes[i] for i in range(n)]
    met: dict[tuple[Term, ...], Bools] = {}  # (n,): which objects meet these terms
    related: dict[tuple[Term, ...], Bools] = {}  # (n, n): [i, j]: whether j has this relation to i

    def meets(terms: tuple[Term, ...]) -> Bools:
        if terms not in met:
            met[terms] = np.array([_all(terms, node) for node in nodes], dtype=np.bool_)
        return met[terms]

    def relates(terms: tuple[Term, ...]) -> Bools:
        if terms not in related:
            related[terms] = np.zeros((n, n), dtype=np.bool_)
            for j, i, edge in graph.edges(data=True):
                related[terms][i, j] = _all(terms, edge)
        return related[terms]

    rows = np.empty((n, len(conditions)), dtype=np.bool_)
    for place, condition in enumerate(conditions):
        if condition.part == "scene":
            rows[:, place] = _all(condition.terms, graph.graph)
            continue
        rows[:, place] = meets(condition.terms)
        if condition.relation:
            rows[:, place] &= (relates(condition.relation) & meets(condition.other)).any(axis=1)
    return rows


def scene_row(facts: Facts, conditions: Sequence[Condition]) -> Bools:
    """(1, m): which conditions hold for a scene."""
    known = scene_facts(facts.scene)
    return np.array([[_all(condition.terms, known) for condition in conditions]], dtype=np.bool_)


def question_rows(facts: Facts, request: Sequence[Asked], conditions: Sequence[Condition]) -> Bools:
    """(q, m): which conditions hold for each of q questions about a scene."""
    of_scene = scene_facts(facts.scene)
    rows = [
        [_all(condition.terms, of_scene if condition.part == "scene" else known) for condition in conditions]
        for known in map(question_facts, request)
    ]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(conditions))


def question_facts(request: Asked) -> Known:
    """A question as facts: how often its program has each function and each word, what it asks, its true answer."""
    facts: dict[str, str | float] = {"asks": request.program[-1].function}
    if request.truth.isdecimal():
        facts["truth"] = int(request.truth)
    for step in request.program:
        for name in {step.function, " ".join((step.function, *step.value_inputs))}:
            facts[name] = float(facts.get(name, 0)) + 1
    return facts


def _all(terms: Iterable[Term], known: Known) -> bool:
    return all(map(Term.holds, terms, repeat(known)))
