"""A family: the pattern that failures share, how the model fails there, its members, its rate and its sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trex.families.pattern import Pattern, clause_words, description
from trex.families.symptom import (
    ANSWERED,
    DECIDES,
    MISTAKEN,
    NO_NUMBER,
    NO_WORD,
    OF_VALUES,
    OTHER,
    PHANTOM,
    REACHED,
    RESPONSIBLE,
    SOUGHT,
    THING,
    Symptom,
    is_such,
)
from trex.foundation.errors import InputError
from trex.foundation.words import capitalized, counted, percent, percent_span, whole_percent, with_article
from trex.inference.statistics.proportion import Proportion
from trex.pages.notebook_html import block_html
from trex.scenes.conditions import (
    Asked,
    Bools,
    Condition,
    Level,
    noun_words,
    object_rows,
    part_words,
    question_rows,
    scene_row,
)
from trex.scenes.graph import Facts, facts_of
from trex.scenes.misreading import ATTRIBUTE_KINDS, category_of
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.description import Noun

NAMING = (
    *ATTRIBUTE_KINDS,
    PHANTOM,
    ANSWERED.what,
    MISTAKEN.what,
    "too few",
    "too many",
)  # symptoms whose sentence may name one value
CLEAR = 0.8  # share of a family's failures from which on the most frequent value stands for all
SCENES = Noun("scene", "scenes")
WRONG = "The model is wrong"
TRIES = 200  # prior scenes for each wanted one


@dataclass(frozen=True)
class Share:
    """An estimated share with its interval, at 95% or more."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.value)} (95% CI {percent_span(self.low, self.high)})"


@dataclass(frozen=True)
class Judged:
    """A family in prior scenes that its rule was not made from.

    `inside`: of the units under its conditions, the share on which the model fails as the sentence says. `outside`:
    the same of units that could fail so, but do not meet the conditions. Confirmed: the whole interval inside lies
    above that outside.
    """

    inside: Share
    outside: Share
    scenes: int  # the failing scenes that were traced for it

    @property
    def is_confirmed(self) -> bool:
        """Whether the model fails more often under the conditions."""
        return self.inside.low > self.outside.high


@dataclass(frozen=True, repr=False)
class Family:
    """Failures with a common pattern; `members` are their places among the hits, most confident first.

    `became` counts, for a misread attribute, (what it was, what it was taken for), and for a kind of wrong answer (the
    truth, the answer); `may_name` is False if other scenes did not show the value that stands out among these. `rate`
    is how often a prior scene belongs to the family, None if no prior scene that the rate counts does. `clusters`: of
    how many independent starts the members are; `often`: a further condition that more than half of them meet, and
    how many. `is_clear`: the failures alone show that its conditions matter; `usual`: how many units of random scenes
    meet them, of how many that could fail so; `judged` what other scenes show.
    """

    pattern: Pattern
    symptom: Symptom
    became: tuple[tuple[str, str, int], ...] = ()
    may_name: bool = True
    number: int = 0
    members: tuple[int, ...] = ()
    rate: Proportion | None = None
    noun: Noun = SCENES
    clusters: int = 0
    often: tuple[Condition, int] | None = None
    is_clear: bool = False
    usual: tuple[int, int] | None = None
    judged: Judged | None = None
    prior: Callable[[np.random.Generator], Facts] | None = field(default=None, compare=False, repr=False)

    def sample(self, n: int, seed: int = 0) -> list[Scene]:
        """n fresh scenes of the prior in which the family's conditions hold, whatever the model says to them.

        InputError if the family does not come from `Run.families` of CLEVR's scenes, or if so few prior scenes meet the
        conditions that TRIES of them for each wanted one do not do.

        Parameters
        ----------
        n : int
            Number of scenes. Example: 20.
        seed : int, default 0
            Seed of the draws. Example: seed=1.
        """
        if self.prior is None:
            raise InputError(
                "only families of a run of CLEVR's scenes draw fresh ones; use trex.open_run(RUN).families"
            )
        rng, found = np.random.default_rng(seed), list[Scene]()
        for _ in range(TRIES * n):
            if len(found) == n:
                break
            facts = self.prior(rng)
            if self.holds(facts).any():
                found.append(facts.scene)
        if len(found) < n:
            raise InputError(
                f"only {len(found)} of {TRIES * n:,} prior scenes meet the conditions; ask for fewer"
            )
        return found

    def __repr__(self) -> str:
        return f"<Family {self.number}: {self.words} {counted(self.size, 'hit')}>"

    def _repr_html_(self) -> str:
        """The sentence, what speaks for it, and how often it occurs, for notebooks."""
        rate = [f"How often: {self.how_often} of {self.sampled}."] if self.rate else []
        return block_html(
            self.words, [each for each in (self.evidence, *rate) if each], [], counted(self.size, "hit")
        )

    @property
    def key(self) -> str:
        """Its symptom and conditions, in which no two of an audit are alike."""
        return ", ".join([self.symptom.what, *(condition.key for condition in self.pattern.conditions)])

    @property
    def words(self) -> str:
        """The failure as a sentence: "The model misses a small object where it is at the back."

        Conditions that a search's scenes suggest, but that nothing shows to matter, are left to `evidence`; of named
        values, it is said that they are not confirmed.
        """
        if self.symptom == SOUGHT:
            return f"{self.noun.many} close to each other"
        if self.is_tentative:
            (where,) = part_words(self.pattern.around, "value")
            found = counted(self.size, f"{self.noun.one} found", f"{self.noun.many} found")
            return f"In {found}, {where}; other random {self.noun.many} do not confirm that this matters."
        return _sentence(self.stated)

    def wrongly(self, answer: str) -> str:
        """`words`; of a family without traced misreadings, with the wrong answer: "The model wrongly answers 2, ...".

        Parameters
        ----------
        answer : str
            The wrong answer, "" if it is not always the same. Example: "2".
        """
        words = self.words
        if self.symptom != RESPONSIBLE or not answer:
            return words
        return f"The model wrongly answers {answer}{words.removeprefix(WRONG)}"

    @property
    def _usually(self) -> str:
        """How often its conditions hold in random scenes; an older run does not say."""
        if self.usual is None:
            return f", far more often than in random {self.noun.many}"
        usual = self.usual[0] / self.usual[1]
        share = whole_percent(usual) if usual >= 0.01 else percent(usual)
        units = f"random {self.noun.many}"
        if self.symptom.level == "object":
            named = self.anywhere.pattern.conditions
            which = "objects that could be misread so" if self.symptom.what in ATTRIBUTE_KINDS else "objects"
            if named:
                which = f"{noun_words(named).split(' ', 1)[1]}s"
            units = f"{which} in random {self.noun.many}"
        return f", as are only {share} of {units}"

    @property
    def stated(self) -> Family:
        """The family of all failures that its sentence speaks of: without conditions that nothing shows to matter."""
        return self if not self.members or self.is_established else self.anywhere

    @property
    def anywhere(self) -> Family:
        """The family of the same mistake without its conditions, but for what the misread objects are in truth."""
        kind = (each for each in self.pattern.conditions if each.key in self._kinds)
        return replace(self, pattern=Pattern.of(kind))

    @property
    def is_established(self) -> bool:
        """Whether the conditions matter: by the failures alone, or by the scenes that judged them."""
        return self.says_when and (self.is_clear or (self.judged is not None and self.judged.is_confirmed))

    @property
    def is_tentative(self) -> bool:
        """Whether it is one of named values whose conditions other random pictures do not confirm."""
        return self.symptom in OF_VALUES and not self.is_established

    @property
    def is_traced(self) -> bool:
        """Whether it says what the model does wrong, rather than which latents are near each other."""
        return self.symptom != SOUGHT

    @property
    def evidence(self) -> str:
        """What speaks for the conditions, in one sentence, or that there are none; "" of a family without members."""
        if not self.members or not (self.says_when or (self.is_traced and self.clusters)):
            return ""
        if not self.says_when:
            return (
                f"When it does so is not known: no condition stands out in the scenes of "
                f"{counted(self.clusters, 'start')}."
            )
        if self.judged and (self.symptom in OF_VALUES or self.judged.is_confirmed):
            inside, outside = self.judged.inside, self.judged.outside
            if self.symptom.level == "object":
                return (
                    f"In other random {self.noun.many}, the model makes this mistake with {inside} of such objects; "
                    f"elsewhere, with {outside}."
                )
            return (
                f"Of other random {self.noun.many} where this holds, the model does so in {inside}; "
                f"elsewhere, in {outside}."
            )
        n = self.size
        every = "it" if n == 1 else "both" if n == 2 else f"all {n}"
        extra = [each for each in self.pattern.conditions if each.key not in self._kinds]
        where = " and ".join(
            [*part_words(extra, "scene"), *([words] if (words := description(extra)) else [])]
        )
        if self.is_established:
            return f"In {every} this is {where}{self._usually}."
        why = (
            "other scenes do not confirm"
            if self.judged
            else f"{counted(self.clusters, 'start')} are too few to say"
        )
        return f"In {every} this is {where}; {why} that it matters."

    @property
    def says_when(self) -> bool:
        """Whether the pattern has conditions besides what the misread objects are in truth."""
        return any(condition.key not in self._kinds for condition in self.pattern.conditions)

    @property
    def _kinds(self) -> set[str]:
        """The conditions that say what the misread objects are in truth."""
        return {f"{self.symptom.what} {was}" for was, *_ in self.became}

    @property
    def representative(self) -> int:
        """The place of the most confident member."""
        return self.members[0]

    @property
    def size(self) -> int:
        """The number of distinct hits."""
        return len(self.members)

    @property
    def how_often(self) -> str:
        """The rate in words: "1.2% (95% CI 0.4–3.1%)"; a dash if no prior scene belongs to the family."""
        if self.rate is None:
            return "—"
        if self.rate.point is None:
            return f"{self.rate.range} (95% CI)"
        return f"{self.rate.figure} (95% CI {self.rate.range})"

    @property
    def sampled(self) -> str:
        """Of what the rate is the share: of random scenes or, if its rule was made from half of them, of the others."""
        if self.rate is None or self.symptom not in OF_VALUES:
            return f"random {self.noun.many}"
        return f"the {self.rate.of} random {self.noun.many} that judge the rule"

    @cached_property
    def value(self) -> str:
        """What the sentence says that a unit is taken for, or answered with; "" if it names no one value."""
        if not self.may_name or self.symptom.what not in NAMING:
            return ""
        return named_value(self.symptom, [value for _, value, n in self.became for _ in range(n)])

    @property
    def wider(self) -> Family:
        """The family of all failures of its kind under its conditions, whatever a unit is taken for."""
        return replace(self, may_name=False)

    def covers(self, symptom: Symptom, value: str) -> bool:
        """Whether a unit with this symptom, taken for or answered with `value`, fails as the whole sentence says.

        Parameters
        ----------
        symptom : Symptom
            What went wrong with the unit. Example: family.symptom.
        value : str
            What the unit was taken for, or the answer. Example: "cube".
        """
        return symptom == self.symptom and is_such(symptom, value, self.value)

    def holds(self, facts: Facts, questions: Sequence[Asked] = ()) -> Bools:
        """(units,): for which units of a scene that can fail so the conditions hold.

        Parameters
        ----------
        facts : Facts
            The scene, as `Run.families` draws them. Example: family.prior(rng).
        questions : sequence of Asked, default ()
            The units, if these are questions. Example: questions=asked.
        """
        table = rows(self.symptom.level, self.pattern.conditions, facts, questions)
        truths = [question.truth for question in questions]
        can_show = self.symptom.can_show(len(table), truths, facts.scene, self.value)
        found: Bools = table.all(axis=1) & can_show
        return found


def rows(level: Level, conditions: Sequence[Condition], facts: Facts, questions: Sequence[Asked]) -> Bools:
    """(units, conditions): which conditions hold for the units of a scene: its objects, itself, or questions."""
    if level == "object":
        return object_rows(facts, conditions)
    return scene_row(facts, conditions) if level == "scene" else question_rows(facts, questions, conditions)


def fresh_members(
    family: Family,
    scenes: Iterable[Scene],
    vocabulary: Vocabulary,
    questions: Callable[[Scene], Sequence[Asked]] = lambda scene: (),
    unit: int | None = None,
) -> Iterator[Facts]:
    """Those of the scenes, such as draws of the prior, in which the family's conditions hold for a unit, or for this.

    `questions` gives the questions about a scene, for families of wrong answers.
    """
    for scene in scenes:
        facts = facts_of(scene, vocabulary)
        holds = family.holds(facts, questions(scene) if family.symptom.level == "question" else ())
        if holds.any() if unit is None else holds[unit]:
            yield facts


def named_value(symptom: Symptom, values: Sequence[str]) -> str:
    """What units were taken for, if it is clear; of phantoms what most have in common: "metal cube", "red object"."""
    if symptom.what != PHANTOM or not values:
        return clear_value(values)
    shape, *others = (clear_value(part) for part in zip(*map(category_of, values), strict=True))
    common = [part for part in others if part]
    return " ".join([*common, shape or THING]) if common or shape else ""


def clear_value(values: Iterable[str]) -> str:
    """The value of at least CLEAR of all, "" if there is none."""
    counts = Counter(values)
    best = max(sorted(counts), key=lambda value: counts[value], default="")
    return best if counts and counts[best] >= CLEAR * counts.total() else ""


def _sentence(family: Family) -> str:
    """A sentence that can be checked: "The model reads a metal cylinder as a cube where it is at the back."."""
    symptom, around = family.symptom, part_words(family.pattern.around, "scene")
    around += [f"where {words}" for words in part_words(family.pattern.around, "value")]
    if symptom.level == "question":
        subject = _wrong_answer(family)
    elif symptom.level == "scene":
        subject = _of_scene(symptom, family.value)
    else:
        (conditions,) = family.pattern.objects or ((),)
        where = clause_words(conditions)
        subject = " ".join(
            [*_misread(symptom, noun_words(conditions), family.value), *([where] if where else [])]
        )
    return f"{capitalized(' '.join([subject, *around])).removesuffix(',')}."


def _of_scene(symptom: Symptom, value: str) -> str:
    if symptom.what == PHANTOM:
        return f"the model sees {with_article(value) if value else 'an object'} that is not there"
    if symptom in OF_VALUES:
        answers = f"says “{value}”" if value else "gives an answer that was searched for"
        wrong = f"wrongly says “{value}”" if value else "is wrong"
        does = {MISTAKEN: wrong, ANSWERED: answers, REACHED: "meets the target"}
        return f"the model {does[symptom]}"
    return f"the model confuses {symptom.what}"


def _misread(symptom: Symptom, noun: str, value: str) -> tuple[str, ...]:
    """What the model does with an object."""
    if symptom == RESPONSIBLE:
        return (f"the model is wrong, and becomes right without {_one(noun)}",)
    if symptom == DECIDES:
        return (f"the answer depends on {_one(noun)}",)
    if symptom.what == "missed":
        return (f"the model misses {noun}",)
    if symptom.what == "doubled":
        return (f"the model counts {noun} twice",)
    if symptom.what == "shape":
        return (f"the model reads {noun} as {with_article(value) if value else 'another shape'}",)
    return (
        f"the model sees {noun} as {value}" if value else f"the model sees {noun} in another {symptom.what}",
    )


def _one(noun: str) -> str:
    return "one of the objects" if noun == noun_words(()) else noun


def _wrong_answer(family: Family) -> str:
    symptom = family.symptom
    if symptom.what in ("too few", "too many"):
        kind = (
            f"says “{family.value}”, which is {symptom.what}," if family.value else f"counts {symptom.what}"
        )
    elif symptom.what == OTHER:
        kind = "gives a wrong answer"
    elif symptom.what in (NO_WORD, NO_NUMBER):
        kind = "says neither “yes” nor “no”" if symptom.what == NO_WORD else "gives no number"
    else:
        answer, _, truth = symptom.what.partition(" for ")
        kind = f"says “{answer}” for “{truth}”"
    questions = _questions([each.words for each in family.pattern.around if each.part == "question"])
    return f"the model {kind}" + (f" in questions {questions}" if questions else "")


def _questions(words: Sequence[str]) -> str:
    """What conditions say of questions: "that ask for the color and mention “red” and “gray”, with three relations"."""
    that = [each.removeprefix("that ") for each in words if each.startswith("that ")]
    mentioned = [each.removeprefix("mention ") for each in that if each.startswith("mention ")]
    verbs = [each for each in that if not each.startswith("mention ")]
    verbs += [f"mention {' and '.join(mentioned)}"] if mentioned else []
    others = [each for each in words if not each.startswith("that ")]
    return ", ".join([*([f"that {' and '.join(verbs)}"] if verbs else []), *others])
