"""Programs in English: every question of CLEVR's 90 families, and others, in one of CLEVR's own phrasings."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.scenes.questions.english.lexicon import RELATION_PHRASES
from trex.scenes.questions.filters import FILTER_ORDER
from trex.scenes.questions.programs import Program, check_program
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR, Vocabulary

_COMPARED = {
    "equal_integer": "Is the number of {} the same as the number of {}?",
    "less_than": "Is the number of {} less than the number of {}?",
    "greater_than": "Is the number of {} greater than the number of {}?",
}
_COMPARED |= {f"equal_{name}": f"Is the {name} of {{}} the same as {{}}?" for name in ATTRIBUTES}


def phrase(program: Program, vocabulary: Vocabulary = CLEVR) -> str:
    """The program as an English question; InputError if CLEVR's phrasings cannot express it.

    `parse` reads the question back as the same program, if its steps stand in CLEVR's order.
    """
    check_program(program)
    return _Phraser(program, vocabulary).question()


class _Phraser:
    """Walks back from the last step: one object becomes "the ...", a set "... things"."""

    def __init__(self, program: Program, vocabulary: Vocabulary) -> None:
        self._program = program
        self._vocabulary = vocabulary

    def question(self) -> str:
        """The whole question."""
        last = self._program[-1]
        kind, _, attribute = last.function.partition("_")
        if kind in ("count", "exist"):
            return self._asking(kind, last.inputs[0])
        if kind == "query":
            return f"What is the {attribute} of {self._the(last.inputs[0])}?"
        if last.function not in _COMPARED:
            raise self._no_english()
        counts_or_queries = (self._program[at].inputs[0] for at in last.inputs)
        name = self._the if attribute in ATTRIBUTES else self._those
        return _COMPARED[last.function].format(*map(name, counts_or_queries))

    def _asking(self, kind: str, at: int) -> str:
        """The question for a set's count or existence."""
        base, words = self._described(at, is_plural=True)
        function = self._program[base].function
        if kind == "exist":
            return f"Are there any {self._noun(at, 'that are ' if function != 'relate' else '', True)}?"
        if function == "scene":
            return f"How many {words} are there?"
        return f"How many {self._other(base, at)}{words} are {self._relation(base)}?"

    def _the(self, at: int) -> str:
        """A step that yields one object: "the red cube that is left of the ball"."""
        if self._program[at].function != "unique":
            raise self._no_english()
        return f"the {self._noun(self._program[at].inputs[0], 'that is ', is_plural=False)}"

    def _those(self, at: int) -> str:
        """A step that yields a set: "red cubes that are left of the ball"."""
        return self._noun(at, "that are ", is_plural=True)

    def _noun(self, at: int, link: str, is_plural: bool) -> str:
        base, words = self._described(at, is_plural)
        if self._program[base].function == "scene":
            return words
        if self._program[base].function == "union" and not is_plural:
            raise self._no_english()
        return f"{self._other(base, at)}{words} {link}{self._relation(base)}"

    def _relation(self, base: int) -> str:
        """The relation that produced a set: "left of the ball", "the same size as the ball"."""
        step = self._program[base]
        kind, _, attribute = step.function.partition("_")
        if kind == "relate":
            return f"{RELATION_PHRASES[step.value_inputs[0]][0]} {self._the(step.inputs[0])}"
        if kind == "same":
            text = "made of " if attribute == "material" else ""
            return f"{text}the same {attribute} as {self._the(step.inputs[0])}"
        number, other = step.inputs
        if kind == "union":
            return f"either {self._those(number)} or {self._those(other)}"
        if any(not self._program[side].function.startswith(("relate", "same_")) for side in (number, other)):
            raise self._no_english()
        return f"both {self._relation(other)} and {self._relation(number)}"

    def _described(self, at: int, is_plural: bool) -> tuple[int, str]:
        """The step before a chain of filters, and the words of the filters."""
        base, texts = self._filters(at)
        words = [texts[name] for name in FILTER_ORDER if name in texts and name != "shape"]
        if "shape" not in texts:
            return base, " ".join([*words, "things" if is_plural else "thing"])
        card = self._vocabulary.card(texts["shape"])
        return base, " ".join([*words, card.plural if is_plural else card.name])

    def _filters(self, at: int) -> tuple[int, dict[str, str]]:
        texts: dict[str, str] = {}
        while self._program[at].function.startswith("filter_"):
            step = self._program[at]
            name = step.function.removeprefix("filter_")
            if name in texts:
                raise self._no_english()
            texts[name] = step.value_inputs[0]
            at = step.inputs[0]
        return at, texts

    def _other(self, base: int, at: int) -> str:
        """The word "other", if the things that share an attribute could include the thing they share it with."""
        step = self._program[base]
        if not step.function.startswith("same_") or self._program[step.inputs[0]].function != "unique":
            return ""
        _, texts = self._filters(at)
        _, anchor = self._filters(self._program[step.inputs[0]].inputs[0])
        return "other " if all(anchor.get(name, value) == value for name, value in texts.items()) else ""

    def _no_english(self) -> InputError:
        calls = " ".join(step.function for step in self._program)
        return InputError(f"cannot phrase a program of this form in English ({calls}); give its question too")
