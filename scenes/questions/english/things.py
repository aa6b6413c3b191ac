"""The grammar of described things: "the red cube that is left of the ball and behind the small thing"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from trex.scenes.questions.english.lexicon import ASKED, RELATION_PHRASES
from trex.scenes.questions.english.sentence import Sentence
from trex.scenes.questions.english.tree import Beside, Both, Either, Place, Sharing, Things, Where
from trex.scenes.questions.filters import ANYTHING, Description

RELATIONS = {phrase: relation for relation, phrases in RELATION_PHRASES.items() for phrase in phrases}
ATTRIBUTE_WORDS = {word: attribute for attribute, words in ASKED.items() for word in words}
_THAT = ("that is", "that are", "that has", "that have")
_VERBS = ("is", "are", "has", "have", *_THAT)
SAME = tuple(f"the same {word}" for word in ATTRIBUTE_WORDS)
OF_THE_SAME = ("made of the same material", *(f"of {same}" for same in SAME))
_PLACES = (*sorted(RELATIONS, key=len), *SAME, *OF_THE_SAME)


class And(Enum):
    """What "and" means after a place: a second place of the same thing, one that an outer "both" awaits, or unclear."""

    JOINS = "joins"
    AWAITED = "awaited"
    UNCLEAR = "unclear"

    @property
    def inside(self) -> And:
        """What it means after a place of the anchor, one level deeper."""
        return And.AWAITED if self is And.AWAITED else And.UNCLEAR


@dataclass(frozen=True, slots=True)
class Head:
    """A description, and the word such as "other" that precedes it, "" for none."""

    said: Description
    other: str


def head(sentence: Sentence) -> Head:
    """The description that comes next."""
    other = sentence.take("anything else", "something else", "another", "other")
    if "else" in other or sentence.take("anything", "something"):
        return Head(ANYTHING, other)
    return Head(sentence.description(), other)


def located(sentence: Sentence, described: Head, place: Where | None) -> Things:
    """Described things with their place; "other" needs one, since it means other than the anchor there."""
    if described.other and (place is None or isinstance(place, Either)):
        raise sentence.error(f"has {described.other!r} without the thing that it excludes")
    return Things(described.said, place)


def several(sentence: Sentence) -> Things:
    """Things without an article: "red cubes left of the ball"."""
    described = head(sentence)
    return located(sentence, described, where_after_noun(sentence))


def definite(sentence: Sentence, further: And = And.JOINS) -> Things:
    """One thing, "the red cube that is left of the ball", or "it"."""
    if sentence.take("it"):
        return antecedent(sentence)
    sentence.need("the")
    return named(sentence, further)


def named(sentence: Sentence, further: And = And.JOINS) -> Things:
    """One thing after "the".

    The same attribute needs "that is" or "that has" here: in "Is the cube made of the same material as the ball?" it
    is the question.
    """
    described = head(sentence)
    return located(sentence, described, where_after_noun(sentence, further, is_definite=True))


def antecedent(sentence: Sentence) -> Things:
    """What "it" and "its" refer to."""
    it, sentence.it = sentence.it, None
    if it is None:
        raise sentence.error("has an 'it' or 'its' that refers to nothing; begin with 'There is a ...;'")
    return it


def where_after_noun(
    sentence: Sentence, further: And = And.JOINS, *, is_definite: bool = False
) -> Where | None:
    """The place after a noun: "[that is] left of the ball", "of the same size as the ball"; None if none is given."""
    verb = sentence.take(*_THAT)
    starts = (*RELATIONS, "both") if is_definite else (*RELATIONS, "both", *OF_THE_SAME)
    if not verb and not sentence.sees(*starts):
        return None
    return where(sentence, verb, further)


def where(sentence: Sentence, verb: str, further: And = And.JOINS) -> Where:
    """The place after a verb: "[both] left of the ball and behind the cube", "either cubes or small things"."""
    is_plural = verb.endswith("are") and further is And.JOINS
    if is_plural and (sentence.take("either") or sentence.sees_description()):
        return _either(sentence)
    if sentence.take("both"):
        first = _place(sentence, verb, And.AWAITED)
        sentence.need("and")
        return Both(first, _place(sentence, sentence.take(*_VERBS), further.inside))
    first = _place(sentence, verb, further.inside)
    if further is And.AWAITED or not _sees_second_place(sentence):
        return first
    if further is And.UNCLEAR:
        raise sentence.ambiguous()
    sentence.need("and")
    return Both(first, _place(sentence, sentence.take(*_VERBS), further.inside))


def _either(sentence: Sentence) -> Either:
    first = several(sentence)
    sentence.need("or")
    return Either(first, several(sentence))


def _sees_second_place(sentence: Sentence) -> bool:
    return sentence.sees(*(f"and {start}" for start in (*RELATIONS, *_VERBS, *OF_THE_SAME)))


def _place(sentence: Sentence, verb: str, inside: And) -> Place:
    """One place: "left of the ball", "made of the same material as the ball", "the same size as the ball"."""
    text = sentence.need(*(SAME if verb.endswith(("has", "have")) else _PLACES))
    if text in RELATIONS:
        return Beside(RELATIONS[text], definite(sentence, inside))
    sentence.need("as")
    return Sharing(attribute_in(text), _other(sentence, inside))


def attribute_in(same: str) -> str:
    """The attribute in "of the same size"."""
    return ATTRIBUTE_WORDS[same.split()[-1]]


def _other(sentence: Sentence, further: And) -> Things:
    """What shares the attribute; some questions of CLOSURE leave out its "the"."""
    return named(sentence, further) if sentence.sees_description() else definite(sentence, further)
