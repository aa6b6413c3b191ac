"""The words of CLEVR's questions: relations, attributes, and every word that a question may contain."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from trex.foundation.errors import InputError
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CONE, Vocabulary

SHIPPED = (CONE,)  # shapes that a query can introduce by name
_SIMILAR = 0.8  # "cbues" is that similar to "cubes"; "weather" and "either" are .77
# clevr-dataset-gen, synonyms.json; we write the first of each.
RELATION_PHRASES = {
    "left": ("left of", "to the left of", "on the left side of"),
    "right": ("right of", "to the right of", "on the right side of"),
    "behind": ("behind",),
    "front": ("in front of",),
}
ASKED = {name: (name,) for name in ATTRIBUTES} | {"color": ("color", "colour")}
EXAMPLES = '"How many red cubes are there?", "Are there more cubes than spheres?"'
PROGRAM_HINT = "give a question of another form as a program (CLEVR's functional programs)"
# The words of the forms of questions, which no description contains.
_FORM_WORDS = """
    ; a an another any anything are as big both do does either else equal fewer greater has have how in is it
    its larger less made many material more number of or other same scene picture image smaller something than
    that the there to visible what and on side left right behind front
"""


def known_words(vocabulary: Vocabulary) -> set[str]:
    """Every single word that a question may contain."""
    phrases = (*vocabulary.words(), *(word for words in ASKED.values() for word in words), _FORM_WORDS)
    return {word for phrase in phrases for word in phrase.split()}


def unknown_words(words: Sequence[str], text: str, known: set[str]) -> InputError:
    """The error for words that are not known, with the nearest known one of each."""
    near = [
        close
        for word in words
        for close in difflib.get_close_matches(word, sorted(known), n=1, cutoff=_SIMILAR)
    ]
    names = ", ".join(map(repr, words))
    what = f"the word {names} in {text!r} is" if len(words) == 1 else f"the words {names} in {text!r} are"
    shape = next((card.name for card in SHIPPED for word in words if word in card.words), "")
    if shape:
        return InputError(
            f"{what} not known; only the question of a query that introduces the shape may name it: "
            f'[scene] introduce = ["{shape}"]'
        )
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else "no known word is similar."
    return InputError(f"{what} not known; {hint} Note: {PROGRAM_HINT}")
