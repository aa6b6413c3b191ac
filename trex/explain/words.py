"""Explanations in sentences and tables, identical on the terminal and on every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trex.explain.explanation import Effect, Explanation, Replicates, SaliencyMap
from trex.explain.saliency_agreement import scene_agreement
from trex.foundation.percent import percent
from trex.foundation.words import capitalized, counted
from trex.inference.attribution.blame import Blame
from trex.inference.attribution.leave_one_out import NOTICEABLE, MeanEffect
from trex.pages.table import Column, Table
from trex.pages.wording import points
from trex.scenes.describe import object_words

METHOD_NAMES = {"smoothgrad": "SmoothGrad", "integrated_gradients": "Integrated gradients"}


class Removed(NamedTuple):
    """One object in words, and the effect of leaving it out: the change in confidence, and the answer."""

    name: str
    change: float
    answer: str


def blame_sentence(
    blame: Blame, removed: Sequence[Removed], answer_without: str = "", is_torn: bool = False
) -> str:
    """Which object is to blame and why; `answer_without` is the answer without all jointly blamed objects.

    With `is_torn` the target wants no sure answer: what counts is whether the scene leaves the level set.
    """
    leaves = "takes the scene out of the level set"
    named = [f"the {removed[i].name} (object {i})" for i in blame.parts]
    told = [points(removed[i].change) for i in blame.parts]
    match blame.how:
        case "alone":
            (only,) = blame.parts
            without = f"the answer is {removed[only].answer}"
            if is_torn:
                without = f"the scene leaves the level set (the answer is {removed[only].answer})"
            return capitalized(
                f"{named[0]} is to blame: without it {without} and the confidence changes by {told[0]}."
            )
        case "either":
            which = "either one" if len(named) == 2 else "any one of them"
            return (
                f"{capitalized(_listed(named))} are to blame: leaving out {which} "
                f"{leaves if is_torn else 'changes the answer'} (confidence {_listed(told)})."
            )
        case "together":
            which = "both" if len(named) == 2 else f"all {len(named)}"
            does = f"{leaves}, leaving out fewer does not"
            if not is_torn:
                does = f"makes the answer {answer_without}, leaving out fewer does not change it"
            return (
                f"{capitalized(_listed(named))} are to blame, {which} together: leaving out {which} {does}."
            )
        case "most":
            return capitalized(
                f"{named[0]} is to blame: without it the confidence changes by {told[0]}, though no single removal "
                f"{leaves if is_torn else 'changes the answer'}."
            )
        case "alike":
            return (
                f"{capitalized(_listed(named))} are equally to blame: without any one of them the confidence "
                f"changes by about {told[0]}."
            )
    return f"No object matters: no removal lowers the confidence by {percent(NOTICEABLE)} or more."


def sentence(made: Explanation) -> str:
    """One sentence: the objects to blame in an explained scene."""
    removed = [
        Removed(object_words(made.scene, i), effect.change, effect.score.answer)
        for i, effect in enumerate(made.removals)
    ]
    joint = made.joint_removals
    return blame_sentence(made.blame, removed, joint[0].score.answer if joint else "", made.is_torn)


def stability_sentences(made: Explanation) -> tuple[str, ...]:
    """For each object to blame, whether removing it also lowers the confidence under other cameras and lights.

    Objects that are to blame only together are removed together.
    """
    if made.nuisances is None:
        return ()
    names = [f"the {object_words(made.scene, index)} (object {index})" for index in made.blame.parts]
    if made.blame.how == "together":
        both = "both" if len(names) == 2 else f"all {len(names)}"
        together = made.nuisances.together
        return (
            _stability(
                f"{_listed(names)}, {both} together,", together.effect if together else None, made.nuisances
            ),
        )
    found = [made.nuisances.of(index) for index in made.blame.parts]
    return tuple(
        _stability(name, one.effect if one else None, made.nuisances)
        for name, one in zip(names, found, strict=True)
    )


def _stability(name: str, effect: MeanEffect | None, nuisances: Replicates) -> str:
    draws = len(nuisances.baseline)
    if draws == 1 and effect is not None:
        return f"One other camera and light cannot show whether the confidence falls without {name}."
    others = f"under {draws} other cameras and lights"
    if effect is None:
        return f"The scene without {name} was not rendered under other cameras and lights."
    if effect.is_negative:
        return f"Without {name} the confidence falls {others} too (95 %)."
    return f"Without {name} it is not certain that the confidence falls {others} (95 %)."


def sentences(made: Explanation) -> tuple[str, ...]:
    """The explanation in sentences; the last one is about the control."""
    said = [sentence(made), *stability_sentences(made)]
    if made.nuisances and made.nuisances.skipped:
        skipped = counted(made.nuisances.skipped, "draw")
        said.append(f"{skipped} of cameras and lights hid an object and were left out.")
    if made.flip:
        said.append(made.flip.sentence(made.is_torn))
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
        head = "mean effect under other cameras and lights (95 %)"
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
