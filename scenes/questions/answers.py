"""One spelling for each answer: data sets and models write the same one as "Yes", true, 2, 2.0, "two" or "Cube"."""

from __future__ import annotations

import re

from trex.foundation.errors import InputError
from trex.foundation.json_fields import short
from trex.scenes.questions.programs import answer_text
from trex.scenes.vocabulary import SYNONYMS

WHOLE = re.compile(r"\+?([0-9]{1,300})(?:\.0*)?")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS = {
    "true": "yes",
    "false": "no",
    "grey": "gray",
    **{word: str(number) for number, word in enumerate(NUMBERS)},
    **{word: answer for answer, words in SYNONYMS.items() for word in words},
}


def answer_of(value: object, where: str = "the answer") -> str:
    """The answer as CLEVR v1.0 writes it ("yes", "2", "cube"), from a text, a whole number, true or false.

    "" if there is none (null, an empty text); InputError for anything else. A word that is no answer of CLEVR's stays
    one, in lower case.
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool | int):
        return answer_text(value)
    if not isinstance(value, str):
        raise InputError(f"{where} is {short(value)}; expected a word, a whole number, true or false")
    word = " ".join(value.split()).lower()
    number = WHOLE.fullmatch(word)
    if number:
        return number[1].lstrip("0") or "0"
    word = word.rstrip(".!")
    return WORDS.get(word, word)


def is_same(text: str, other: str) -> bool:
    """Whether two answers are the same, however they are spelled."""
    return text == other or answer_of(text) == answer_of(other)
