"""The words of CLEVR's questions: relations, and descriptions such as "large red metal cubes"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from trex.foundation.errors import InputError
from trex.scenes.questions.filters import FILTER_ORDER, Description
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import Vocabulary

# clevr-dataset-gen, synonyms.json; we write the first of each.
RELATION_PHRASES = {
    "left": ("left of", "to the left of", "on the left side of"),
    "right": ("right of", "to the right of", "on the right side of"),
    "behind": ("behind",),
    "front": ("in front of",),
}
ASKED = {name: (name,) for name in ATTRIBUTES} | {"color": ("color", "colour")}
# Words that belong to the form of a question, never to a description.
_FORM = "how many what number of are is there any a an the that visible has it its made ; scene picture image"
_PLACE = "left right behind front to on in side"
RESERVED = frozenset(f"{_FORM} {_PLACE}".split())
PROGRAM_HINT = "give other questions as a program (CLEVR's functional programs)"


def known_words(vocabulary: Vocabulary) -> set[str]:
    """Every single word that a question may contain."""
    phrases = (*vocabulary.words(), *(word for words in ASKED.values() for word in words))
    return {word for phrase in phrases for word in phrase.split()} | RESERVED


def unknown_word(word: str, text: str, known: Iterable[str]) -> InputError:
    """The error for an unknown word, with the nearest known one."""
    near = difflib.get_close_matches(word, sorted(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "no known word is similar."
    return InputError(f"the word {word!r} in {text!r} is not known; {hint} Note that {PROGRAM_HINT}")


def read_description(said: str, vocabulary: Vocabulary) -> Description:
    """The description in some words, noun last: "tiny shiny balls" means small, metal, sphere."""
    words = vocabulary.words()
    noun, adjectives = _split_noun(said, vocabulary)
    named = dict([words[noun]])
    for word in adjectives:
        if word not in words:
            raise unknown_word(word, said, known_words(vocabulary) - RESERVED)
        attribute, value = words[word]
        if attribute in ("", "shape"):
            raise InputError(
                f"{said!r} names two kinds of things, {word!r} and {noun!r}; name one, at the end"
            )
        if attribute in named:
            raise InputError(
                f"{said!r} names two values of {attribute}, {named[attribute]!r} and {value!r}; name one"
            )
        named[attribute] = value
    size, color, material, shape = (named.get(attribute) for attribute in FILTER_ORDER)
    return (size, color, material, shape)


def _split_noun(said: str, vocabulary: Vocabulary) -> tuple[str, list[str]]:
    """The noun at the end (it may have several words) and the adjectives before it."""
    parts = said.split()
    words = vocabulary.words()
    for start in range(len(parts)):
        noun = " ".join(parts[start:])
        if noun in words and words[noun][0] in ("", "shape"):
            return noun, parts[:start]
    last = parts[-1]
    if last not in words:
        raise unknown_word(last, said, known_words(vocabulary) - RESERVED)
    nouns = ", ".join(card.plural for card in vocabulary.cards)
    raise InputError(f"{said!r} names no things; end it with things, objects, {nouns}")
