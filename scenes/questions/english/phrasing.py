"""Programs in English: every question of CLEVR's 90 families, and others, in one or several of CLEVR's phrasings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.words import with_article
from trex.scenes.questions.english.lexicon import RELATION_PHRASES
from trex.scenes.questions.filters import FILTER_ORDER
from trex.scenes.questions.programs import Program, check_program
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR, SYNONYMS, Vocabulary

Choose = Callable[[Sequence[str]], str]
_TRIES = 10  # draws of each kind for a wording that is wanted, as a short question has few
# clevr-dataset-gen, CLEVR_1.0_templates; we write the first of each. {} are objects with their article, sets without.
_COMPARED = {
    "equal_integer": (
        "Is the number of {} the same as the number of {}?",
        "Are there an equal number of {} and {}?",
        "Are there the same number of {} and {}?",
    ),
    "less_than": ("Is the number of {} less than the number of {}?", "Are there fewer {} than {}?"),
    "greater_than": ("Is the number of {} greater than the number of {}?", "Are there more {} than {}?"),
}
_COMPARED |= {
    f"equal_{name}": (
        f"Is the {name} of {{}} the same as {{}}?",
        f"Do {{}} and {{}} have the same {name}?",
        f"Does {{}} have the same {name} as {{}}?",
        f"Is {{}} {'made of ' if name == 'material' else ''}the same {name} as {{}}?",
    )
    for name in ATTRIBUTES
}
# {the} and {a} are one object with that article.
_QUERIES: dict[str, tuple[str, ...]] = {
    name: (
        f"What is the {name} of {{the}}?",
        f"What {name} is {{the}}?",
        f"{{The}} is what {name}?",
        f"{{The}} has what {name}?",
        f"There is {{a}}; what {name} is it?",
        f"There is {{a}}; what is its {name}?",
    )
    for name in ATTRIBUTES
}
_QUERIES["size"] += ("How big is {the}?", "There is {a}; how big is it?")
_QUERIES["material"] += (
    "What is {the} made of?",
    "{The} is made of what material?",
    "There is {a}; what is it made of?",
)
_COUNTS = ("How many {}?", "What number of {}?")
_ALL = ("are there", "are visible")


def phrase(program: Program, vocabulary: Vocabulary = CLEVR) -> str:
    """The program as an English question; InputError if CLEVR's phrasings cannot express it.

    `parse` reads the question back as the same program, if its steps stand in CLEVR's order.
    """
    check_program(program)
    return _Phraser(program, vocabulary, lambda options: options[0]).question()


def wordings(
    rng: np.random.Generator, program: Program, n: int, vocabulary: Vocabulary = CLEVR
) -> tuple[str, ...]:
    """Up to n different English questions that all ask for the program: that of `phrase`, then random ones.

    They differ from it by synonyms and templates, all of them CLEVR's, at every place that allows it, as long as there
    are such questions; then at some. A shape has the words of its card. A larger n adds wordings at the end. Errors as
    from `phrase`.
    """

    def any_of(options: Sequence[str]) -> str:
        return options[int(rng.integers(len(options)))]

    def other_of(options: Sequence[str]) -> str:
        return any_of(options[1:] or options)

    found = {phrase(program, vocabulary): None}
    for _ in range(n - 1):
        for choose in (other_of,) * _TRIES + (any_of,) * _TRIES:
            text = _Phraser(program, vocabulary, choose).question()
            if text not in found:
                found[text] = None
                break
    return tuple(found)


class _Phraser:
    """Walks back from the last step: one object becomes "the ...", a set "... things".

    `choose` takes one of the wordings of a part; the first of them is the plain one.
    """

    def __init__(self, program: Program, vocabulary: Vocabulary, choose: Choose) -> None:
        self._program = program
        self._vocabulary = vocabulary
        self._choose = choose

    def question(self) -> str:
        """The whole question."""
        last = self._program[-1]
        kind, _, attribute = last.function.partition("_")
        if kind == "count":
            return self._choose(_COUNTS).format(self._counted(last.inputs[0]))
        if kind == "exist":
            return self._existing(last.inputs[0])
        if kind == "query":
            return self._query(attribute, last.inputs[0])
        if last.function not in _COMPARED:
            raise self._no_english()
        counts_or_queries = (self._program[at].inputs[0] for at in last.inputs)
        name = self._the if attribute in ATTRIBUTES else self._those
        return self._choose(_COMPARED[last.function]).format(*map(name, counts_or_queries))

    def _counted(self, at: int) -> str:
        """A set as it is counted: "cubes are there", "other cubes are the same size as the ball"."""
        base, words = self._described(at, is_plural=True)
        if self._program[base].function == "scene":
            return f"{words} {self._choose(_ALL)}"
        return f"{self._other(base, at)}{words} {self._place(base, ('are ',), 'have ')}"

    def _existing(self, at: int) -> str:
        """The question for a set's existence, of several things or of one."""
        base, _ = self._filters(at)
        function = self._program[base].function
        several, one = "Are there any {}?", "Is there {}?"
        ways = {"scene": (several, "Are any {} visible?", one), "union": (several,)}
        way = self._choose(ways.get(function, (several, one)))
        link = "that is " if way == one else "that are "
        words = self._noun(at, ("", link) if function == "relate" else (link,), is_plural=way != one)
        return way.format(_with_article(words) if way == one else words)

    def _query(self, attribute: str, at: int) -> str:
        """The question for an attribute of an object."""
        the = self._the(at)
        a = _with_article(the.removeprefix("the "))
        return self._choose(_QUERIES[attribute]).format(the=the, The=f"T{the[1:]}", a=a)

    def _the(self, at: int) -> str:
        """A step that yields one object: "the red cube that is left of the ball"."""
        if self._program[at].function != "unique":
            raise self._no_english()
        return f"the {self._noun(self._program[at].inputs[0], ('that is ', ''), is_plural=False)}"

    def _those(self, at: int) -> str:
        """A step that yields a set: "red cubes that are left of the ball"."""
        return self._noun(at, ("that are ", ""), is_plural=True)

    def _noun(self, at: int, links: Sequence[str], is_plural: bool) -> str:
        base, words = self._described(at, is_plural)
        if self._program[base].function == "scene":
            return words
        if self._program[base].function == "union" and not is_plural:
            raise self._no_english()
        have = "that have " if is_plural else "that has "
        return f"{self._other(base, at)}{words} {self._place(base, links, have)}"

    def _place(self, base: int, links: Sequence[str], have: str) -> str:
        """A relation that produced a set, after a verb: "that are left of the ball", "that have the same size as it".

        Only "left of" and its like may stand without one.
        """
        kind, _, attribute = self._program[base].function.partition("_")
        be = next(link for link in links if link)
        if kind == "relate":
            return f"{self._choose(links)}{self._relation(base)}"
        if kind == "same" and self._choose((be, have)) == have:
            return f"{have}the same {attribute} as {self._the(self._program[base].inputs[0])}"
        return f"{be}{self._relation(base)}"

    def _relation(self, base: int) -> str:
        """The relation that produced a set: "left of the ball", "the same size as the ball"."""
        step = self._program[base]
        kind, _, attribute = step.function.partition("_")
        if kind == "relate":
            return f"{self._choose(RELATION_PHRASES[step.value_inputs[0]])} {self._the(step.inputs[0])}"
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
        named = (texts[name] for name in FILTER_ORDER if name in texts and name != "shape")
        words = [self._choose(SYNONYMS.get(value, (value,))) for value in named]
        return base, " ".join([*words, self._choose(self._nouns(texts.get("shape"), is_plural))])

    def _nouns(self, shape: str | None, is_plural: bool) -> Sequence[str]:
        """The words for things of a shape, or of any."""
        if shape is None:
            return [noun + "s" for noun in SYNONYMS["thing"]] if is_plural else SYNONYMS["thing"]
        card = self._vocabulary.card(shape)
        plain = card.plural if is_plural else card.name
        return list(dict.fromkeys([plain, *(noun + "s" * is_plural for noun in card.nouns)]))

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


def _with_article(words: str) -> str:
    """The words of one thing, indefinite: "a red cube", "another cube that is ..."."""
    return f"an{words}" if words.startswith("other ") else with_article(words)
