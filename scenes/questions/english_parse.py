"""English questions read as programs: CLEVR's zero-hop and one-hop families, in all of CLEVR's phrasings."""

from __future__ import annotations

import re
from functools import lru_cache

from trex.foundation.errors import InputError
from trex.scenes.questions.filters import ANYTHING, FILTER_ORDER, Description
from trex.scenes.questions.lexicon import (
    ASKED,
    PROGRAM_HINT,
    RELATION_PHRASES,
    RESERVED,
    known_words,
    read_description,
    unknown_word,
)
from trex.scenes.questions.programs import Program, Step
from trex.scenes.vocabulary import CLEVR, Vocabulary

MAX_LENGTH = 1000
# CLEVR's phrasings (clevr-dataset-gen, zero_hop.json, one_hop.json), folded. <a>: the described objects, <b>: the
# anchor, <r>: the relation, <q>: the requested attribute; ";" is any punctuation within.
_COUNT, _ANY, _ONE, _IN = (
    "(how many|what number of)",
    "are there any <a>",
    "is there an? <a>",
    "( in the <place>)?",
)
_TARGET = "<a>( (that is )?<r> the <b>)?"
_FORMS: tuple[tuple[str, str], ...] = (
    ("count", f"{_COUNT} <a>( are there| are visible)?{_IN}"),
    ("count", f"{_COUNT} <a> (are |are there |that are |are there that are )?<r> the <b>"),
    ("count", f"there is an? <b> ; {_COUNT} <a> are <r> it"),
    ("exist", f"({_ANY}( visible)?|are any <a> visible|{_ONE}( visible)?){_IN}"),
    ("exist", f"({_ANY} (that are )?|{_ONE} (that is )?)<r> the <b>"),
    ("exist", f"there is an? <b> ; ({_ANY} (that are )?|{_ONE} (that is )?)<r> it"),
    ("", f"what <q> is the {_TARGET}"),
    ("", f"what is the <q> of the {_TARGET}"),
    ("", f"the {_TARGET} (is|has) what <q>"),
    ("", f"there is an? {_TARGET} ; (what <q> is it|what is its <q>)"),
    ("size", f"(how big is the {_TARGET}|there is an? {_TARGET} ; how big is it)"),
    ("material", f"(what (material )?is the {_TARGET} made of|the {_TARGET} is made of what material)"),
    ("material", f"there is an? {_TARGET} ; what is it made of"),
)
EXAMPLES = '"How many red cubes are there?", "What color is the ball left of the small cube?"'


def parse(text: str, vocabulary: Vocabulary = CLEVR) -> Program:
    """The program of an English question; InputError names an unknown word or form."""
    if len(text) > MAX_LENGTH:
        raise InputError(f"the question is longer than {MAX_LENGTH} characters: it has {len(text)}")
    said = normalize(text)
    if not said:
        raise InputError(f"the question is empty; write e.g. {EXAMPLES}")
    for ending, pattern in _patterns():
        match = pattern.fullmatch(said)
        if match is not None:
            return _program(
                ending, {slot[0]: words for slot, words in match.groupdict().items() if words}, vocabulary
            )
    known = known_words(vocabulary)
    for word in said.split():
        if word not in known:
            raise unknown_word(word, text, known)
    raise InputError(f"the question {text!r} has no supported form, such as {EXAMPLES}; {PROGRAM_HINT}")


def normalize(text: str) -> str:
    """The question in lower case, with single spaces, " ; " for punctuation within, none at the end."""
    marked = re.sub(r"[;:,.!?]+", " ; ", text.lower())
    return re.sub(r"(^[; ]+|[; ]+$)", "", re.sub(r"\s+", " ", marked).replace("; ;", ";"))


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((ending, _compiled(form)) for ending, form in _FORMS)


def _compiled(form: str) -> re.Pattern[str]:
    """A form as a regular expression; repeated slots get groups a1, a2, ..."""
    word = rf"(?!(?:{'|'.join(map(re.escape, sorted(RESERVED)))})(?: |$))\S+"
    relations = sorted((p for phrases in RELATION_PHRASES.values() for p in phrases), key=len, reverse=True)
    slots = {
        "a": rf"{word}(?: {word})*",
        "b": rf"{word}(?: {word})*",
        "r": "|".join(relations),
        "q": "|".join(word for words in ASKED.values() for word in words),
        "place": "scene|picture|image",
    }
    pieces = re.split(r"<(\w+)>", form)
    pieces[1::2] = [f"(?P<{slot}{at}>{slots[slot]})" for at, slot in enumerate(pieces[1::2])]
    return re.compile("".join(pieces))


def _program(ending: str, slots: dict[str, str], vocabulary: Vocabulary) -> Program:
    target = read_description(slots["a"], vocabulary)
    asked = ending or next(name for name, words in ASKED.items() if slots["q"] in words)
    if "r" not in slots:
        return question_program(asked, target)
    relation = next(name for name, phrases in RELATION_PHRASES.items() if slots["r"] in phrases)
    return question_program(asked, target, relation, read_description(slots["b"], vocabulary))


def question_program(
    asked: str, target: Description, relation: str = "", anchor: Description = ANYTHING
) -> Program:
    """The program that asks for count, existence or an attribute of the described objects, related to an anchor."""
    steps = [Step("scene")]
    if relation:
        _filter(steps, anchor)
        steps.append(Step("unique", (len(steps) - 1,)))
        steps.append(Step("relate", (len(steps) - 1,), (relation,)))
    _filter(steps, target)
    if asked not in ("count", "exist"):
        steps.append(Step("unique", (len(steps) - 1,)))
        asked = f"query_{asked}"
    return (*steps, Step(asked, (len(steps) - 1,)))


def _filter(steps: list[Step], said: Description) -> None:
    for attribute, word in zip(FILTER_ORDER, said, strict=True):
        if word is not None:
            steps.append(Step(f"filter_{attribute}", (len(steps) - 1,), (word,)))
