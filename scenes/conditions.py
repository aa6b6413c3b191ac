"""The vocabulary of patterns: conditions on an object and its surroundings, on a scene, and on a question.

A condition is data: what must be true of a unit, and for a relation of some other object that has it. Audits and
repairs search for rules of these conditions; what a search finds is described by them too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trex.foundation.words import with_article
from trex.scenes.graph import Facts, scene_facts, scene_graph
from trex.scenes.questions.programs import Program
from trex.scenes.relations import RELATIONS
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx as nx

SHARES = (0.2, 0.4, 0.6, 0.8)  # visible shares that a rule may name
BESIDE = 0.5  # gap on the ground between the objects' footprints, Blender units; a large object is 1.4 wide
FAR = 1.0  # along CLEVR's direction "behind", Blender units; the ground reaches from -3 to 3
LOW = 0.25  # offset of the camera, Blender units; CLEVR's reaches from -.5 to .5
ORDER = ("size", "color", "material", "shape")  # of the words before a noun
CROWDS = (5, 6, 7, 8, 9, 10)  # numbers of objects
COUNTS = tuple(range(2, 11))  # true answers that a rule may name, "at least"
FULLY, PARTLY, MOSTLY = "in full view", "partly hidden", "mostly hidden"
MIN_FULLY, MIN_PARTLY = 0.9, 0.5  # visible share; a sliver less than the whole does not count as hidden
Part = Literal["noun", "seen", "where", "scene", "question"]
Level = Literal["object", "scene", "question"]
Bools = NDArray[np.bool_]
Known = Mapping[str, str | float]  # facts by name


@dataclass(frozen=True)
class Asked:
    """A question about a scene: its program and its true answer."""

    program: Program
    truth: str


@dataclass(frozen=True)
class Term:
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

    def holds(self, graph: nx.DiGraph, index: int) -> bool:
        """Whether it holds for an object of a scene's graph; a condition on the scene holds for each."""
        if not _all(self.terms, graph.graph if self.part == "scene" else graph.nodes[index]):
            return False
        return not self.relation or any(
            _all(self.relation, edge) and _all(self.other, graph.nodes[j])
            for j, edge in graph.pred[index].items()
        )


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
        "behind a larger object",
        relation=(Term("hides", low=0.0), is_true("larger")),
    )
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
    back = Condition("far back", "where", "at the back", (Term("depth", low=FAR),))
    front = Condition("far front", "where", "at the front", (Term("depth", high=-FAR),))
    return (*nouns, *seen, larger, back, front, *near)


def scene_conditions() -> tuple[Condition, ...]:
    """All conditions on a scene that a rule may name."""
    crowds = (
        Condition(f"objects {n}", "scene", f"in scenes of at least {n} objects", (Term("objects", low=n),))
        for n in CROWDS
    )
    low = Condition("camera low", "scene", "when the camera is low", (Term("camera height", high=-LOW),))
    high = Condition("camera high", "scene", "when the camera is high", (Term("camera height", low=LOW),))
    return (*crowds, low, high)


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


def looks(graph: nx.DiGraph, index: int) -> tuple[Condition, ...]:
    """An object as a picture shows it: its size, color, material and shape, and what hides how much of it.

    In full view from 90% of the pixels that it would have alone, mostly hidden below 50%; what hides it is the object
    that covers most of these pixels, by size and shape.
    """
    node = graph.nodes[index]
    nouns = (has(name, node[name]) for name in ATTRIBUTES)
    if node["visible"] >= MIN_FULLY:
        return (*nouns, Condition(FULLY, "seen", FULLY, (Term("visible", low=MIN_FULLY),)))
    is_partly = node["visible"] >= MIN_PARTLY
    seen = PARTLY if is_partly else MOSTLY
    term = Term("visible", low=MIN_PARTLY, high=MIN_FULLY) if is_partly else below(MIN_PARTLY)
    hider = next((j for j, edge in graph.pred[index].items() if "hides" in edge), None)
    if hider is None:
        return (*nouns, Condition(seen, "seen", seen, (term,)))
    other = [has(name, graph.nodes[hider][name]) for name in ("size", "shape")]
    words = f"{seen} by {noun_words(other)}"
    terms = tuple(term for condition in other for term in condition.terms)
    return (*nouns, Condition(words, "seen", words, (term,), (Term("hides", low=0.0),), terms))


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
    words = [condition.words for condition in conditions if condition.part == part]
    return [" and ".join(words)] if words else []


def object_rows(facts: Facts, conditions: Sequence[Condition]) -> Bools:
    """(n, m): which conditions hold for each of the n objects of a scene."""
    graph, n = scene_graph(facts), len(facts.scene.objects)
    rows = [[condition.holds(graph, i) for condition in conditions] for i in range(n)]
    return np.array(rows, dtype=np.bool_).reshape(n, len(conditions))


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
    return all(term.holds(known) for term in terms)
