"""The words and answers of the released Relation Networks, by number (recovered; see the note in the JSON file)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trex.foundation.errors import InputError, unknown

FILE = Path(__file__).with_name("relation_vocabulary.json")
TOKEN = re.compile(r"[a-z]+|[?;]")


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
    data = json.loads(path.read_text(encoding="utf-8"))
    answers: dict[str, int] = data["answer_token_to_idx"]
    return RelationVocabulary(data["question_token_to_idx"], tuple(sorted(answers, key=answers.__getitem__)))


@cache
def relation_vocabulary() -> RelationVocabulary:
    return read_vocabulary(FILE)


def how_found() -> dict[str, object]:
    """How the words' numbers were found, with margins and what stays uncertain: for the card of the weights."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    return {"note": data["note"], **data["found"]}
