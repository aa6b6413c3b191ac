"""What rules may say of questions: what they ask for, mention and relate, and their true answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trex.scenes.conditions import Asked, Bools, Facts, OfQuestion, OfScene
from trex.scenes.relations import RELATIONS
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import Vocabulary

COUNTS = tuple(range(2, 11))  # true answers that a rule may name, "at least"


def question_conditions(vocabulary: Vocabulary) -> tuple[OfQuestion, ...]:
    """All conditions on a question."""
    relations = [
        OfQuestion(f"relation {name}", "question", f"with the relation “{name}”", _uses("relate", name))
        for name in RELATIONS
    ]
    same = [
        OfQuestion(f"same {name}", "question", f"about the same {name}", _calls(f"same_{name}"))
        for name in ATTRIBUTES
    ]
    mentions = [
        OfQuestion(
            f"mentions {name} {value}", "question", f"that mention “{value}”", _uses(f"filter_{name}", value)
        )
        for name in ATTRIBUTES
        for value in vocabulary.available(name)
    ]
    ends = [
        OfQuestion(f"asks {name}", "question", words, _ends(name))
        for name, words in (
            ("count", "that ask for a number"),
            ("exist", "that ask whether there is any"),
            *_ENDS,
        )
    ]
    joins = [
        OfQuestion("and", "question", "with “both … and”", _calls("intersect")),
        OfQuestion("or", "question", "with “either … or”", _calls("union")),
        OfQuestion("relations 2", "question", "with two relations or more", _relates(2)),
        OfQuestion("relations 3", "question", "with three relations", _relates(3)),
    ]
    truths = [
        OfQuestion(f"truth {n}", "question", f"whose true answer is at least {n}", _is_at_least(n))
        for n in COUNTS
    ]
    return (*ends, *relations, *same, *mentions, *joins, *truths)


_ENDS = tuple((f"query_{name}", f"that ask for the {name}") for name in ATTRIBUTES) + (
    ("equal_integer", "that ask whether two numbers are equal"),
    ("less_than", "that ask whether a number is less"),
    ("greater_than", "that ask whether a number is greater"),
    *((f"equal_{name}", f"that ask whether two things have the same {name}") for name in ATTRIBUTES),
)


def question_rows(facts: Facts, asked: Sequence[Asked], conditions: Sequence[OfQuestion | OfScene]) -> Bools:
    """(q, m): which conditions hold for each of q questions about a scene."""
    rows = [
        [one.holds(facts) if isinstance(one, OfScene) else one.holds(each) for one in conditions]
        for each in asked
    ]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(conditions))


def _uses(function: str, word: str) -> Callable[[Asked], bool]:
    return lambda asked: any(
        step.function == function and step.value_inputs == (word,) for step in asked.program
    )


def _calls(function: str) -> Callable[[Asked], bool]:
    return lambda asked: any(step.function == function for step in asked.program)


def _ends(function: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.program[-1].function == function


def _relates(n: int) -> Callable[[Asked], bool]:
    return lambda asked: sum(step.function == "relate" for step in asked.program) >= n


def _is_at_least(n: int) -> Callable[[Asked], bool]:
    return lambda asked: asked.truth.isdecimal() and int(asked.truth) >= n
