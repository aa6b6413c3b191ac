"""The words and answers of the released Relation Networks, by number (recovered; see the note in the JSON file)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trex.foundation.errors import InputError, unknown
from trex.foundation.files import read_text
from trex.foundation.json_fields import field, mapping, whole
from trex.foundation.parse import parse_json

FILE = Path(__file__).with_name("relation_vocabulary.json")
TOKEN = re.compile(r"[a-z]+|[?;]")
OUTPUTS = 28


@dataclass(frozen=True)
class RelationVocabulary:
    """Index of every word (1 to 82; 0 pads) and the answers in the order of the network's outputs."""

    words: Mapping[str, int]
    answers: tuple[str, ...]

    def encode(self, text: str) -> tuple[int, ...]:
        """Word indices of a question, in reading order.

        Ignores case, commas and full stops; a question mark is its last word. InputError names an unknown word.
        """
        plain = text.lower().strip().rstrip("?!. ").replace(",", " ").replace(".", " ")
        leftover = TOKEN.sub("", plain).strip()
        if leftover or not plain:
            raise InputError(
                f"question {text!r} contains {leftover!r}; the Relation Network reads English words, ';' and '?'"
            )
        return tuple(self._index(word) for word in [*TOKEN.findall(plain), "?"])

    def _index(self, word: str) -> int:
        if word not in self.words:
            raise unknown(
                "word", word, sorted(self.words), "Use the words that the Relation Network was trained on."
            )
        return self.words[word]


def read_vocabulary(path: Path) -> RelationVocabulary:
    """The vocabulary in a JSON file: `question_token_to_idx`, `answer_token_to_idx` (output k is index k + 1)."""
    try:
        data = mapping(parse_json(read_text(path), str(path)), "it")
        words, answers = (_numbered(data, f"{kind}_token_to_idx") for kind in ("question", "answer"))
    except InputError as error:
        raise InputError(
            f"{path} is not a vocabulary: {error}; it needs question_token_to_idx, answer_token_to_idx"
        ) from error
    if sorted(answers.values()) != list(range(1, OUTPUTS + 1)):
        raise InputError(
            f"{path}: answer indices are {sorted(answers.values())}; they must be 1 to {OUTPUTS}, each once"
        )
    return RelationVocabulary(words, tuple(sorted(answers, key=lambda answer: answers[answer])))


def _numbered(data: Mapping[str, object], key: str) -> dict[str, int]:
    return {
        word: whole(number, f"{key}, {word!r}")
        for word, number in mapping(field(data, key, "it"), key).items()
    }


@cache
def relation_vocabulary() -> RelationVocabulary:
    return read_vocabulary(FILE)


def how_found() -> dict[str, object]:
    """How the words' numbers were found, with margins and what stays uncertain: for the card of the weights."""
    data = mapping(parse_json(read_text(FILE), str(FILE)), str(FILE))
    return {"note": data["note"], **mapping(data["found"], "found")}
