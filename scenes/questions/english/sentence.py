"""A question while it is read: its words, the place that the reading has reached, and errors that quote words."""

from __future__ import annotations

import re

from trex.foundation.errors import InputError
from trex.scenes.questions.english.lexicon import EXAMPLES, PROGRAM_HINT, known_words, unknown_words
from trex.scenes.questions.english.tree import Things
from trex.scenes.questions.filters import FILTER_ORDER, Description
from trex.scenes.vocabulary import Vocabulary

_MAX_WORDS = 5  # of those at fault that an error quotes
_MAX_EXPECTED = 8
_PUNCTUATION = ";:,.!?"
_MARKS = re.compile(rf"[{_PUNCTUATION}](?:[{_PUNCTUATION}\s]*[{_PUNCTUATION}])?")  # with spaces between them


def normalize(text: str) -> str:
    """The question in lower case, with single spaces, " ; " for punctuation within, none at the end."""
    marked = _MARKS.sub(" ; ", text.lower())
    return re.sub(r"(^[; ]+|[; ]+$)", "", re.sub(r"\s+", " ", marked))


class Sentence:
    """The words of a question; `take` and `need` move on through them.

    `it` is what "There is a ...;" has introduced, until the question refers to it.
    """

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.it: Things | None = None
        self._words = vocabulary.words()
        self._longest = max(word.count(" ") for word in self._words) + 1
        self._plurals = ("things", "objects", *(card.plural for card in vocabulary.cards))
        self._text = normalize(text) + " "
        self._at = 0
        self._refuse_unknown(known_words(vocabulary))

    def take(self, *phrases: str) -> str:
        """Move on past the longest of these phrases that comes next; "" if none does."""
        longest = max((phrase for phrase in phrases if self._comes(phrase)), key=len, default="")
        self._at += len(longest) + 1 if longest else 0
        return longest

    def need(self, *phrases: str) -> str:
        """As `take`; InputError if none of them comes next."""
        taken = self.take(*phrases)
        if not taken:
            raise self.stop(*phrases)
        return taken

    def sees(self, *phrases: str) -> bool:
        """Whether one of these phrases comes next."""
        return any(map(self._comes, phrases))

    def sees_description(self) -> bool:
        """Whether a word such as "red" or "cubes" comes next."""
        return self._vocabulary_word(self._at) != ""

    def is_at_end(self) -> bool:
        """Whether all words are read."""
        return self._at == len(self._text)

    def description(self) -> Description:
        """Move on past a description, noun last: "tiny shiny balls" means small, metal, sphere."""
        named: dict[str, str] = {}
        start = self._at
        while word := self._vocabulary_word(self._at):
            self._at += len(word) + 1
            attribute, value = self._words[word]
            if attribute in named:
                two = f"two values of {attribute}, {named[attribute]!r} and {value!r}"
                raise InputError(
                    f"{self._text[start : self._at - 1]!r} in {self.text!r} names {two}; name one"
                )
            named[attribute] = value
            if attribute in ("", "shape"):
                self._refuse_second_noun(start)
                size, color, material, shape = (named.get(name) for name in FILTER_ORDER)
                return (size, color, material, shape)
        if self._at > start:
            raise self._no_noun(start)
        raise self.stop(*self._plurals)

    def stop(self, *expected: str) -> InputError:
        """The error for words that cannot be read: which, and what could stand there."""
        more = ", ..." if len(expected) > _MAX_EXPECTED else ""
        could = f"; expected {', '.join(map(repr, expected[:_MAX_EXPECTED]))}{more}" if expected else ""
        if self.is_at_end():
            last = " ".join(self._text.split()[-_MAX_WORDS:])
            return self.error(f"ends too early, after {last!r}{could}")
        if mark := self._mark_here():
            if set(mark) & set("?!"):
                more = " ".join(self._text[self._at :].split()[1 : _MAX_WORDS + 1])
                return self.error(f"is more than one: {more!r} follows; ask one at a time")
            return self.error(f"cannot be read at {mark!r}{could}")
        return self.error(f"cannot be read at {self._next_words()!r}{could}")

    def error(self, fault: str) -> InputError:
        """The error that the question has this fault."""
        return InputError(
            f"the question {self.text!r} {fault}. Questions have CLEVR's forms, such as {EXAMPLES}; {PROGRAM_HINT}"
        )

    def ambiguous(self) -> InputError:
        """The error for a second place that could belong to either of two things."""
        return self.error(
            f"has two readings: {self._next_words()!r} could belong to either thing; write 'both ... and ...'"
        )

    def _comes(self, phrase: str) -> bool:
        return self._text.startswith(phrase + " ", self._at)

    def _next_words(self) -> str:
        texts = self._text[self._at :].split(";")[0].split() or [";"]
        return " ".join(texts[:_MAX_WORDS])

    def _mark_here(self) -> str:
        """The punctuation that comes next, as it was typed; "" if a word comes next."""
        if not self._comes(";"):
            return ""
        typed: list[str] = _MARKS.findall(re.sub(rf"^[{_PUNCTUATION}\s]+", "", self.text))
        return typed[self._text[: self._at].count(";")]

    def _vocabulary_word(self, at: int) -> str:
        """The longest word of the vocabulary at a place (a noun may consist of several), "" for none."""
        texts = self._text[at:-1].split(" ")
        lengths = range(min(len(texts), self._longest), 0, -1)
        return next((word for n in lengths if (word := " ".join(texts[:n])) in self._words), "")

    def _refuse_second_noun(self, start: int) -> None:
        second = self._vocabulary_word(self._at)
        if second and self._words[second][0] in ("", "shape"):
            text = self._text[start : self._at + len(second)]
            noun = self._text[start : self._at - 1]
            raise InputError(
                f"{text!r} in {self.text!r} names two kinds of things, {noun!r} and {second!r}; name one"
            )

    def _no_noun(self, start: int) -> InputError:
        text = self._text[start : self._at - 1]
        return InputError(
            f"{text!r} in {self.text!r} names no things; end it with {', '.join(self._plurals)}"
        )

    def _refuse_unknown(self, known: set[str]) -> None:
        strange = [word for word in dict.fromkeys(self._text.split()) if word not in known]
        if strange:
            raise unknown_words(strange, self.text, known)
