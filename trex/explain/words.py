"""Explanations in sentences and tables, identical on the terminal, in notebooks and on every page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trex.explain.compared import Compared, compared_words
from trex.explain.explanation import (
    Effect,
    Explanation,
    JointReplicates,
    ObjectReplicates,
    Replicates,
    SaliencyMap,
)
from trex.explain.saliency_agreement import scene_agreement
from trex.foundation.words import capitalized, counted, percent
from trex.inference.attribution.blame import Blame
from trex.inference.attribution.leave_one_out import NOTICEABLE, only, strongest
from trex.pages.notebook_html import block_html
from trex.pages.table import Column, Table
from trex.pages.wording import points
from trex.scenes.scene import object_words

DOES_WITHOUT: Mapping[Compared, str] = {  # what leaving out objects does
    "truth": "makes the model right",
    "answer": "changes the answer",
    "level set": "takes the scene out of the level set",
}
METHOD_NAMES = {"smoothgrad": "SmoothGrad", "integrated_gradients": "Integrated gradients"}


class Removed(NamedTuple):
    """One object in words, and the effect of leaving it out: change in confidence, the answer, and the true one."""

    name: str
    change: float
    answer: str
    truth: str


class Before(NamedTuple):
    """What removals are held against: the answer before them, and what is compared."""

    answer: str
    by: Compared


def blame_sentence(
    blame: Blame,
    removed: Sequence[Removed],
    before: Before,
    answer_without: str = "",
    misread: Collection[int] = (),
) -> str:
    """Which object is responsible and why; `answer_without` is the answer without all jointly blamed objects.

    That the model is right without an object that it misreads says little of the cause. Such objects, `misread`, are
    therefore told apart from those responsible.
    """
    itself = [i for i in blame.parts if i in misread]
    if itself and blame.how in ("alone", "either"):
        others = tuple(i for i in blame.parts if i not in misread)
        said = _without_misread(itself, removed, before, is_only=not others)
        if not others:
            return said
        first = blame_sentence(Blame("either" if len(others) > 1 else "alone", others), removed, before)
        return f"{first} {said}"
    named = [f"the {removed[i].name} (object {i})" for i in blame.parts]
    texts = [points(removed[i].change) for i in blame.parts]
    does = DOES_WITHOUT[before.by]
    match blame.how:
        case "alone":
            (only,) = blame.parts
            without = _alone(removed[only].answer, before)
            return capitalized(
                f"{named[0]} is responsible: without it {without} and the confidence changes by {texts[0]}."
            )
        case "either":
            any_of = "either" if len(named) == 2 else "any one"
            if before.by == "truth" and all(removed[i].answer == before.answer for i in blame.parts):
                return (
                    f"The answer stays {before.answer} if {any_of} of {_listed(named)} is left out, and is right then, "
                    f"as if the model had not seen that object (confidence {_listed(texts)})."
                )
            return (
                f"{capitalized(_listed(named))} are responsible: leaving out {any_of} of them {does} "
                f"(confidence {_listed(texts)})."
            )
        case "together":
            which = "both" if len(named) == 2 else f"all {len(named)}"
            return (
                f"{capitalized(_listed(named))} are responsible, {which} together: leaving out {which} "
                f"{_together(answer_without, before.by)}."
            )
        case "most":
            return capitalized(
                f"{named[0]} is responsible: without it the confidence changes by {texts[0]}, though no single removal "
                f"{does}."
            )
        case "alike":
            return (
                f"{capitalized(_listed(named))} are equally responsible: without any one of them the confidence "
                f"changes by about {texts[0]}."
            )
    if before.by == "truth":
        return f"No object explains the mistake: without any one of them the model is still wrong{_strongest(removed)}."
    return f"No object matters: no removal lowers the confidence by {percent(NOTICEABLE)} or more."


def _without_misread(
    parts: Sequence[int], removed: Sequence[Removed], before: Before, *, is_only: bool
) -> str:
    """That leaving out a misread object itself is a flip, which says little of the cause."""
    names = " or ".join(f"the misread {removed[i].name} (object {i})" for i in parts)
    does = f"{DOES_WITHOUT[before.by]}{'' if is_only else ' too'}"
    change = f"(confidence {_listed([points(removed[i].change) for i in parts])})"
    if is_only:
        return f"No other object is responsible: only leaving out {names} itself {does} {change}."
    return f"Leaving out {names} itself {does} {change}."


def _alone(answer: str, before: Before) -> str:
    """What becomes of the answer without the one object responsible."""
    if before.by == "level set":
        return f"the scene leaves the level set (the answer is {answer})"
    if before.by == "answer":
        return f"the answer is {answer}"
    if answer == before.answer:
        return f"the answer stays {answer}, which is right then, as if the model had not seen it,"
    return f"the answer is {answer}, which is right,"


def _together(answer: str, by: Compared) -> str:
    """What becomes of the answer without all objects responsible."""
    if by == "answer":
        return f"makes the answer {answer}, leaving out fewer does not change it"
    right = f" (it says {answer})" if by == "truth" else ""
    return f"{DOES_WITHOUT[by]}{right}, leaving out fewer does not"


def _strongest(removed: Sequence[Removed]) -> str:
    """The removal that lowers the confidence most, though it explains nothing; "" if none does noticeably."""
    found = only(strongest([element.change for element in removed]))
    if found is None:
        return ""
    item = removed[found]
    return (
        f" (without the {item.name}, object {found}, the confidence changes by {points(item.change)}: the answer is "
        f"{item.answer}, and {item.truth} is true)"
    )


def sentence(explanation: Explanation, misread: Collection[int] = ()) -> str:
    """The objects responsible in an explained scene, and what becomes of it without the `misread` ones."""
    removed = [
        Removed(object_words(explanation.scene, i), effect.change, effect.score.answer, effect.truth)
        for i, effect in enumerate(explanation.removals)
    ]
    joint = explanation.joint_removals
    before = Before(explanation.control.score.answer, explanation.compared)
    return blame_sentence(explanation.blame, removed, before, joint[0].score.answer if joint else "", misread)


def stability_sentences(explanation: Explanation) -> tuple[str, ...]:
    """For each object responsible, whether removing it also lowers the confidence under other cameras and lights.

    Objects that are responsible only together are removed together.
    """
    if explanation.nuisances is None:
        return ()
    names = [
        f"the {object_words(explanation.scene, index)} (object {index})" for index in explanation.blame.parts
    ]
    if explanation.blame.how == "together":
        both = "both" if len(names) == 2 else f"all {len(names)}"
        return (
            _stability(
                f"{_listed(names)}, {both} together,", explanation.nuisances.together, explanation.nuisances
            ),
        )
    found = [explanation.nuisances.of(index) for index in explanation.blame.parts]
    return tuple(
        _stability(name, replicates, explanation.nuisances)
        for name, replicates in zip(names, found, strict=True)
    )


def _stability(name: str, item: ObjectReplicates | JointReplicates | None, every: Replicates) -> str:
    draws = len(every.baseline)
    others = f"under {draws} other cameras and lights"
    if item is None:
        return f"The scene without {name} was not rendered under other cameras and lights."
    if draws == 1:
        text = f"One other camera and light cannot show whether the confidence falls without {name}"
    elif item.effect.is_negative:
        text = f"Without {name} the confidence falls {others} too (95%)"
    else:
        text = f"Without {name} it is not certain that the confidence falls {others} (95%)"
    return f"{text}{_right(item, every)}."


def _right(item: ObjectReplicates | JointReplicates, every: Replicates) -> str:
    """In how many draws the model is right, without objects and with them; "" if this is no failure."""
    if item.right is None or every.right is None:
        return ""
    n = len(every.baseline)
    return f"; the model is right there in {item.right} of {n}, and in {every.right} of {n} with everything in place"


def sentences(explanation: Explanation, misread: Collection[int] = ()) -> tuple[str, ...]:
    """The explanation in sentences; the last one is about the control."""
    texts = [sentence(explanation, misread), *stability_sentences(explanation)]
    if explanation.nuisances and explanation.nuisances.skipped:
        skipped = counted(explanation.nuisances.skipped, "draw")
        texts.append(f"{skipped} of cameras and lights hid an object and were left out.")
    if explanation.flip:
        texts.append(explanation.flip.sentence(explanation.compared, explanation.control.score.answer))
    texts.append(compared_words(explanation.compared, explanation.truth))
    if explanation.saliency and explanation.saliency.why_none:
        texts.append(f"No saliency: {explanation.saliency.why_none}.")
    return (*texts, explanation.control.sentence())


def effect_table(explanation: Explanation, effects: Sequence[Effect], label: str) -> Table[Effect]:
    """The effects of single edits; with their means under other cameras and lights, if some were measured."""
    columns: list[Column[Effect]] = [
        Column("change", lambda effect: effect.words + ("" if effect.is_valid else " (outside the prior)")),
        Column("confidence", lambda effect: percent(effect.score.confidence), is_number=True),
        Column("effect", lambda effect: points(effect.change), is_number=True),
    ]
    if any(_mean_effect(explanation, effect) for effect in effects):
        head = "mean effect under other cameras and lights (95%)"
        columns.append(Column(head, lambda effect: _mean_effect(explanation, effect), is_number=True))
    columns += [
        Column("model", lambda effect: effect.score.answer),
        Column("truth", lambda effect: effect.truth),
    ]
    return Table(label, columns, effects, lambda effect: "flip" if effect.is_flip else "")


def _mean_effect(explanation: Explanation, effect: Effect) -> str:
    """The mean effect of a removal under other cameras and lights, with its interval from two draws on.

    "" if it was not measured.
    """
    first, *others = effect.edits
    found = (
        explanation.nuisances.of(first.index)
        if explanation.nuisances and not first.attribute and not others
        else None
    )
    if found is None:
        return ""
    mean, low, high = points(found.effect.mean), found.effect.low, found.effect.high
    return mean if low is None or high is None else f"{mean} ({points(low)} to {points(high)})"


def map_words(explanation: Explanation, found: SaliencyMap) -> str:
    """What a saliency map says beside the ablation: its most salient object and its largest pixel."""
    top, rank = found.ranking[0], scene_agreement(explanation, found).rank_correlation
    verdict = "not an object responsible"
    if top in explanation.blame.parts:
        verdict = "as ablation says" if len(explanation.blame.parts) == 1 else "one of those responsible"
    if not explanation.blame.parts:
        verdict = "no object is responsible"
    peak = "the background" if found.peak_object is None else f"object {found.peak_object}"
    words = (
        f"most on object {top} ({object_words(explanation.scene, top)}), {verdict}; largest pixel on {peak}"
    )
    return words + ("" if rank is None else f"; rank correlation {rank:+.2f}")


def _listed(words: Sequence[str]) -> str:
    """The words as a list: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


@dataclass(frozen=True, repr=False)
class ShownExplanation(Explanation):
    """An explanation that says what it found."""

    def __repr__(self) -> str:
        return f"<Explanation of {self.picture[:8]}: {sentence(self)}>"

    def __str__(self) -> str:
        """All sentences, and the effect of leaving out each object."""
        return "\n".join([*sentences(self), *effect_table(self, self.removals, "").text("  ")])

    def _repr_html_(self) -> str:
        """The sentences, and the effect of leaving out each object, for notebooks."""
        first, *others = sentences(self)
        table = effect_table(self, self.removals, "").html("Each object left out")
        return block_html(first, others, [str(table)], f"hit {self.picture}")
