"""The spellings that count as an answer (CLEVR's words and synonyms, plural shapes, numbers), and of tokens.

Some servers list the vocabulary's own writing of a token: byte-level vocabularies have "Ġ" for a space, those of
SentencePiece "▁", and "<0x0A>" for a byte. The token that ends a reply has a name of its own in every model ("</s>",
"<turn|>", "[EOS]"), so it is found by what it is not: part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

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


# Tokens that end a reply, as far as their names say so; "" is how llama.cpp lists one.
END = r"<[|｜][^<>\s]*[|｜]>|</s>|<(?:eos|eot|end|endoftext|end_of_[a-z]+|turn\|)>|\[(?:EOS|EOT|END|SEP)\]"
ENDS = re.compile(f"|{END}", re.IGNORECASE)
TRAILING = re.compile(rf"(?:\s*(?:{END}))+\s*\Z", re.IGNORECASE)
# Thoughts, mostly empty, that a server without a reader for them leaves before the answer.
THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
TOKEN_MARKS = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": "\n"})
BYTE = re.compile(r"<0x([0-7][0-9A-Fa-f])>")


class Span(NamedTuple):
    """Which tokens spell a reply's text: from the place `begin` to `end`, where its end stands if any token is left.

    The tokens before are those of what the server keeps apart, such as thoughts.
    """

    begin: int
    end: int


def written(token: str) -> str:
    byte = BYTE.fullmatch(token)
    if byte:
        return chr(int(byte[1], 16))
    return token if ENDS.fullmatch(token) else token.translate(TOKEN_MARKS)


def without_end(text: str) -> str:
    """A text without the names of tokens that end it, which some servers leave there."""
    return TRAILING.sub("", text)


def without_thoughts(text: str) -> str:
    """A text without a block of thoughts that it begins with; one that does not end there stays."""
    found = THOUGHTS.match(text)
    return text[found.end() :] if found else text


def span_of(texts: Sequence[str], text: str, *, is_cut: bool, has_thoughts: bool = False) -> Span | None:
    """Which tokens spell the text, up to white space around it; None if none do.

    A token after those that spell it, and is no white space, ends the reply, whatever its name. With thoughts, the
    text comes last.
    """
    begins = [0] if not text.strip() else [*([] if has_thoughts else [0]), *reversed(range(len(texts)))]
    for begin in begins:
        end = _end(texts, begin, text.strip(), is_cut=is_cut)
        if end is not None:
            return Span(begin, end)
    return None


def _end(texts: Sequence[str], begin: int, text: str, *, is_cut: bool) -> int | None:
    output = ""
    for place in range(begin, len(texts)):
        is_end = bool(ENDS.fullmatch(texts[place]))
        if output.strip() == text and (is_end or (text and texts[place].strip() and not is_cut)):
            return place
        if is_end:
            return None
        output += texts[place]
    return len(texts) if output.strip() == text else None
