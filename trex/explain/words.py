"""Explanations in sentences and tables, identical on the terminal and on every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from trex.foundation.percent import percent
from trex.foundation.words import capitalized, counted
from trex.inference.attribution.blame import Blame
from trex.inference.attribution.leave_one_out import NOTICEABLE, only, strongest
from trex.pages.table import Column, Table
from trex.pages.wording import points
from trex.scenes.describe import object_words

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


def blame_sentence(blame: Blame, removed: Sequence[Removed], before: Before, answer_without: str = "") -> str:
    """Which object is to blame and why; `answer_without` is the answer without all jointly blamed objects."""
    named = [f"the {removed[i].name} (object {i})" for i in blame.parts]
    told = [points(removed[i].change) for i in blame.parts]
    does = DOES_WITHOUT[before.by]
    match blame.how:
        case "alone":
            (only,) = blame.parts
            without = _alone(removed[only].answer, before)
            return capitalized(
                f"{named[0]} is to blame: without it {without} and the confidence changes by {told[0]}."
            )
        case "either":
            which = "either one" if len(named) == 2 else "any one of them"
            return (
                f"{capitalized(_listed(named))} are to blame: leaving out {which} {does} "
                f"(confidence {_listed(told)})."
            )
        case "together":
            which = "both" if len(named) == 2 else f"all {len(named)}"
            return (
                f"{capitalized(_listed(named))} are to blame, {which} together: leaving out {which} "
                f"{_together(answer_without, before.by)}."
            )
        case "most":
            return capitalized(
                f"{named[0]} is to blame: without it the confidence changes by {told[0]}, though no single removal "
                f"{does}."
            )
        case "alike":
            return (
                f"{capitalized(_listed(named))} are equally to blame: without any one of them the confidence "
                f"changes by about {told[0]}."
            )
    if before.by == "truth":
        return f"No object explains the mistake: without any one of them the model is still wrong{_strongest(removed)}."
    return f"No object matters: no removal lowers the confidence by {percent(NOTICEABLE)} or more."


def _alone(answer: str, before: Before) -> str:
    """What becomes of the answer without the one object to blame."""
    if before.by == "level set":
        return f"the scene leaves the level set (the answer is {answer})"
    if before.by == "answer":
        return f"the answer is {answer}"
    if answer == before.answer:
        return f"the answer stays {answer}, which is right then, as if the model had not seen it,"
    return f"the answer is {answer}, which is right,"


def _together(answer: str, by: Compared) -> str:
    """What becomes of the answer without all objects to blame."""
    if by == "answer":
        return f"makes the answer {answer}, leaving out fewer does not change it"
    right = f" (it says {answer})" if by == "truth" else ""
    return f"{DOES_WITHOUT[by]}{right}, leaving out fewer does not"


def _strongest(removed: Sequence[Removed]) -> str:
    """The removal that lowers the confidence most, though it explains nothing; "" if none does noticeably."""
    found = only(strongest([one.change for one in removed]))
    if found is None:
        return ""
    one = removed[found]
    return (
        f" (without the {one.name}, object {found}, the confidence changes by {points(one.change)}: the answer is "
        f"{one.answer}, and {one.truth} is true)"
    )


def sentence(made: Explanation) -> str:
    """One sentence: the objects to blame in an explained scene."""
    removed = [
        Removed(object_words(made.scene, i), effect.change, effect.score.answer, effect.truth)
        for i, effect in enumerate(made.removals)
    ]
    joint = made.joint_removals
    before = Before(made.control.score.answer, made.compared)
    return blame_sentence(made.blame, removed, before, joint[0].score.answer if joint else "")


def stability_sentences(made: Explanation) -> tuple[str, ...]:
    """For each object to blame, whether removing it also lowers the confidence under other cameras and lights.

    Objects that are to blame only together are removed together.
    """
    if made.nuisances is None:
        return ()
    names = [f"the {object_words(made.scene, index)} (object {index})" for index in made.blame.parts]
    if made.blame.how == "together":
        both = "both" if len(names) == 2 else f"all {len(names)}"
        return (_stability(f"{_listed(names)}, {both} together,", made.nuisances.together, made.nuisances),)
    found = [made.nuisances.of(index) for index in made.blame.parts]
    return tuple(_stability(name, one, made.nuisances) for name, one in zip(names, found, strict=True))


def _stability(name: str, one: ObjectReplicates | JointReplicates | None, every: Replicates) -> str:
    draws = len(every.baseline)
    others = f"under {draws} other cameras and lights"
    if one is None:
        return f"The scene without {name} was not rendered under other cameras and lights."
    if draws == 1:
        said = f"One other camera and light cannot show whether the confidence falls without {name}"
    elif one.effect.is_negative:
        said = f"Without {name} the confidence falls {others} too (95%)"
    else:
        said = f"Without {name} it is not certain that the confidence falls {others} (95%)"
    return f"{said}{_right(one, every)}."


def _right(one: ObjectReplicates | JointReplicates, every: Replicates) -> str:
    """In how many draws the model is right, without objects and with them; "" if this is no failure."""
    if one.right is None or every.right is None:
        return ""
    n = len(every.baseline)
    return f"; the model is right there in {one.right} of {n}, and in {every.right} of {n} with everything in place"


def sentences(made: Explanation) -> tuple[str, ...]:
    """The explanation in sentences; the last one is about the control."""
    said = [sentence(made), *stability_sentences(made)]
    if made.nuisances and made.nuisances.skipped:
        skipped = counted(made.nuisances.skipped, "draw")
        said.append(f"{skipped} of cameras and lights hid an object and were left out.")
    if made.flip:
        said.append(made.flip.sentence(made.compared, made.control.score.answer))
    said.append(compared_words(made.compared, made.truth))
    if made.saliency and made.saliency.why_none:
        said.append(f"No saliency: {made.saliency.why_none}.")
    return (*said, made.control.sentence())


def effect_table(made: Explanation, effects: Sequence[Effect], label: str) -> Table[Effect]:
    """The effects of single edits; with their means under other cameras and lights, if some were measured."""
    columns: list[Column[Effect]] = [
        Column("change", lambda one: one.words + ("" if one.is_valid else " (outside the prior)")),
        Column("confidence", lambda one: percent(one.score.confidence), is_number=True),
        Column("effect", lambda one: points(one.change), is_number=True),
    ]
    if any(_mean_effect(made, effect) for effect in effects):
        head = "mean effect under other cameras and lights (95%)"
        columns.append(Column(head, lambda one: _mean_effect(made, one), is_number=True))
    columns += [Column("model", lambda one: one.score.answer), Column("truth", lambda one: one.truth)]
    return Table(label, columns, effects, lambda one: "flip" if one.is_flip else "")


def _mean_effect(made: Explanation, effect: Effect) -> str:
    """The mean effect of a removal under other cameras and lights, with its interval from two draws on.

    "" if it was not measured.
    """
    first, *others = effect.edits
    found = made.nuisances.of(first.index) if made.nuisances and not first.attribute and not others else None
    if found is None:
        return ""
    mean, low, high = points(found.effect.mean), found.effect.low, found.effect.high
    return mean if low is None or high is None else f"{mean} ({points(low)} to {points(high)})"


def map_words(made: Explanation, found: SaliencyMap) -> str:
    """What a saliency map says beside the ablation: its most salient object and its largest pixel."""
    top, rank = found.ranking[0], scene_agreement(made, found).rank_correlation
    verdict = "not an object to blame"
    if top in made.blame.parts:
        verdict = "as ablation says" if len(made.blame.parts) == 1 else "one of those to blame"
    if not made.blame.parts:
        verdict = "no object is to blame"
    peak = "the background" if found.peak_object is None else f"object {found.peak_object}"
    words = f"most on object {top} ({object_words(made.scene, top)}), {verdict}; largest pixel on {peak}"
    return words + ("" if rank is None else f"; rank correlation {rank:+.2f}")


def _listed(words: Sequence[str]) -> str:
    """The words as a list: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
