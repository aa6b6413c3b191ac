"""The spellings that count as an answer: CLEVR's words and synonyms, plural shapes, digits and number words."""

from __future__ import annotations

import re

from trex.clevr_models.interface.answers import ANSWERS, BOOLEANS, SHAPES
from trex.scenes.questions.answers import NUMBERS
from trex.scenes.vocabulary import SYNONYMS

MARKS = "\"'*`(_"  # that may precede an answer, with white space
# One word or number, in quotes or bold; then nothing, a full stop, or a new sentence or line.
REPLY = re.compile(
    r"""[\s"'*`(_]*([a-z]+|[0-9]+)["'*`)_]*(,\s.*|[.!]?\s*|[.!]["'*`)_]*\s.*|\n.*)""", re.DOTALL
)
LEAST_BEGUN = 2  # letters of a word that only one answer begins with


def _spellings() -> dict[str, str]:
    found = {answer: answer for answer in ANSWERS}
    found |= {word: str(number) for number, word in enumerate(NUMBERS)}
    for answer in ANSWERS:
        found |= dict.fromkeys(SYNONYMS.get(answer, ()), answer)
    for shape in SHAPES:
        found |= {f"{word}s": shape for word in SYNONYMS[shape]}
    return found | {"grey": "gray"}


SPELLINGS = _spellings()


def spelled(text: str) -> str | None:
    """The answer that a whole reply gives, whatever its case; None if it is not exactly one spelling.

    A spelling may stand in quotes or bold. A full stop, "!" or a new line ends it, and after "yes" and "no" a comma;
    what follows such an end does not matter. "Red and blue", "1.5" and "the cube" are no answers.
    """
    found = REPLY.fullmatch(text.lower())
    answer = SPELLINGS.get(found[1]) if found else None
    if found and found[2].startswith(",") and answer not in BOOLEANS:
        return None
    return answer


def may_become_another(text: str) -> bool:
    """Whether what follows an answer's text may make another answer of it: "1" may become "10"; "red" may not."""
    word = text.lower().lstrip().lstrip(MARKS)
    return any(
        spelling.startswith(word) and answer != SPELLINGS.get(word) for spelling, answer in SPELLINGS.items()
    )


def begun(text: str) -> str | None:
    """The answer of a reply that may go on: a spelling, or letters that spellings of only one answer begin with.

    "cyl" is cylinder; "c" and "gr" begin several answers, and are None.
    """
    answer = spelled(text)
    if answer is not None:
        return answer
    word = text.lower().lstrip().lstrip(MARKS)
    if len(word) < LEAST_BEGUN or not word.isalpha():
        return None
    answers = {answer for spelling, answer in SPELLINGS.items() if spelling.startswith(word)}
    return answers.pop() if len(answers) == 1 else None
