"""The grammar of questions: how each form begins, and how it goes on (clevr-dataset-gen, CLEVR_1.0_templates)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import accumulate

from trex.scenes.questions.english.sentence import Sentence
from trex.scenes.questions.english.things import (
    ATTRIBUTE_WORDS,
    OF_THE_SAME,
    SAME,
    antecedent,
    attribute_in,
    definite,
    head,
    located,
    named,
    several,
    where,
    where_after_noun,
)
from trex.scenes.questions.english.tree import Ask, Compare, Question, Things

Form = Callable[[Sentence], Question]
_MORE = {
    "equal_integer": ("the same as", "equal to"),
    "greater_than": ("greater than", "more than", "larger than"),
}
_MORE |= {"less_than": ("less than", "fewer than", "smaller than")}
_COMPARISONS = {phrase: function for function, phrases in _MORE.items() for phrase in phrases}
_IN_THE_PICTURE = ("in the picture", "in the scene", "in the image")


def question(sentence: Sentence) -> Question:
    """The whole question, which "There is a ...;" may introduce."""
    if sentence.take("there is"):
        sentence.it = _indefinite(sentence)
        sentence.need(";")
    forms = _forms()
    beginning = sentence.take(*forms)
    if not beginning:
        sentence.take(*(part for form in forms for part in accumulate(form.split(), "{} {}".format)))
        raise sentence.stop()
    request = forms[beginning](sentence)
    sentence.take(*_IN_THE_PICTURE)
    if not sentence.is_at_end():
        raise sentence.stop()
    if sentence.it is not None:
        raise sentence.error("begins with 'there is', and 'it' or 'its' is missing after that")
    return request


@lru_cache(maxsize=1)
def _forms() -> dict[str, Form]:
    """Each beginning of a question, and what reads the rest; of several that fit the longest counts."""
    forms: dict[str, Form] = {
        "how many": _count,
        "what number of": _count,
        "are there": _exist_several,
        "are any": _exist_visible,
        "is there": _exist_one,
        "are there more": partial(_than, "greater_than"),
        "are there fewer": partial(_than, "less_than"),
        "are there less": partial(_than, "less_than"),
        "are there an equal number of": _equal_number,
        "are there the same number of": _equal_number,
        "is the number of": _numbers,
        "how big is": partial(_query, "size"),
        "what is": _made_of,
        "the": _statement,
        "do": _do,
        "does": _does,
        "are": _are,
        "is": _is,
    }
    for word, attribute in ATTRIBUTE_WORDS.items():
        forms |= {
            f"what {word} is": partial(_query, attribute),
            f"what is the {word} of": partial(_query, attribute),
            f"what is its {word}": partial(_query_its, attribute),
            f"is the {word} of": partial(_is_value, attribute),
            f"is its {word}": partial(_is_its_value, attribute),
        }
    return forms


def _indefinite(sentence: Sentence) -> Things:
    """One thing after "a" or "any": "a red cube", "another cube", "anything else"."""
    if not sentence.sees("another", "anything", "something"):
        sentence.need("a", "an", "any")
    return several(sentence)


def _count(sentence: Sentence) -> Question:
    """... red cubes are there, ... red cubes are left of the ball, ... things are either cubes or spheres."""
    counted = head(sentence)
    if sentence.take("are visible"):
        place = None
    elif sentence.take("are there"):
        place = where_after_noun(sentence)
    elif verb := sentence.take("are", "have"):
        place = None if sentence.sees(*_IN_THE_PICTURE) else where(sentence, verb)
    else:
        place = where_after_noun(sentence)
    return Ask("count", located(sentence, counted, place))


def _exist_several(sentence: Sentence) -> Question:
    """... [any] red cubes left of the ball."""
    sentence.take("any")
    things = several(sentence)
    sentence.take("visible")
    return Ask("exist", things)


def _exist_visible(sentence: Sentence) -> Question:
    """... red cubes visible, ... red cubes left of the ball."""
    things = several(sentence)
    if things.where is None:
        sentence.need("visible")
    sentence.take("visible")
    return Ask("exist", things)


def _exist_one(sentence: Sentence) -> Question:
    """... a red cube left of the ball."""
    thing = _indefinite(sentence)
    sentence.take("visible")
    return Ask("exist", thing)


def _query(attribute: str, sentence: Sentence) -> Question:
    """... the red cube."""
    ask = Ask(attribute, definite(sentence))
    if attribute == "material":
        sentence.take("made of")
    return ask


def _query_its(attribute: str, sentence: Sentence) -> Question:
    return Ask(attribute, antecedent(sentence))


def _made_of(sentence: Sentence) -> Question:
    """... the red cube made of."""
    ask = Ask("material", definite(sentence))
    sentence.need("made of")
    return ask


def _statement(sentence: Sentence) -> Question:
    """... red cube is what size, ... red cube is made of what material."""
    thing = named(sentence)
    endings = {f"{verb} what {word}": word for verb in ("is", "has") for word in ATTRIBUTE_WORDS}
    endings["is made of what material"] = "material"
    return Ask(ATTRIBUTE_WORDS[endings[sentence.need(*endings)]], thing)


def _than(function: str, sentence: Sentence) -> Question:
    """... cubes than spheres."""
    first = several(sentence)
    sentence.need("than")
    return Compare(function, first, several(sentence))


def _equal_number(sentence: Sentence) -> Question:
    """... cubes and spheres."""
    first = several(sentence)
    sentence.need("and")
    return Compare("equal_integer", first, several(sentence))


def _numbers(sentence: Sentence) -> Question:
    """... cubes greater than the number of spheres."""
    first = several(sentence)
    function = _COMPARISONS[sentence.need(*_COMPARISONS)]
    sentence.need("the number of")
    return Compare(function, first, several(sentence))


def _do(sentence: Sentence) -> Question:
    """... the cube and the sphere have the same size."""
    first = definite(sentence)
    sentence.need("and")
    second = definite(sentence)
    sentence.need("have")
    return Compare(f"equal_{attribute_in(sentence.need(*SAME))}", first, second)


def _are(sentence: Sentence) -> Question:
    """... the cube and the sphere made of the same material, ... the same size."""
    first = definite(sentence)
    sentence.need("and")
    second = definite(sentence)
    return Compare(f"equal_{attribute_in(sentence.need(*SAME, *OF_THE_SAME))}", first, second)


def _does(sentence: Sentence) -> Question:
    """... the cube have the same size as the sphere."""
    first = definite(sentence)
    sentence.need("have")
    return _equal(attribute_in(sentence.need(*SAME)), first, sentence)


def _is(sentence: Sentence) -> Question:
    """... the cube the same size as the sphere, ... the cube made of the same material as the sphere."""
    first = definite(sentence)
    return _equal(attribute_in(sentence.need(*SAME, *OF_THE_SAME)), first, sentence)


def _equal(attribute: str, first: Things, sentence: Sentence) -> Question:
    sentence.need("as")
    return Compare(f"equal_{attribute}", first, definite(sentence))


def _is_value(attribute: str, sentence: Sentence) -> Question:
    """... the cube the same as the sphere."""
    return _equal_value(attribute, definite(sentence), sentence)


def _is_its_value(attribute: str, sentence: Sentence) -> Question:
    return _equal_value(attribute, antecedent(sentence), sentence)


def _equal_value(attribute: str, first: Things, sentence: Sentence) -> Question:
    """Also "... the same as the size of the sphere", "... the same as that of the sphere"."""
    sentence.need("the same as")
    words = (word for word, name in ATTRIBUTE_WORDS.items() if name == attribute)
    sentence.take("that of", *(f"the {word} of" for word in words))
    return Compare(f"equal_{attribute}", first, definite(sentence))
