"""The objects to blame in sentences, identical on the terminal and on every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trex.explain.explanation import Explanation
from trex.inference.attribution.blame import Blame
from trex.inference.attribution.leave_one_out import NOTICEABLE
from trex.pages.wording import percent, points
from trex.scenes.describe import object_words


class Removed(NamedTuple):
    """One object in words, and the effect of leaving it out: the change in confidence, and the answer."""

    name: str
    change: float
    answer: str


def blame_sentence(blame: Blame, removed: Sequence[Removed], answer_without: str = "") -> str:
    """Which object is to blame and why; `answer_without` is the answer without all jointly blamed objects."""
    named = [f"the {removed[i].name} (object {i})" for i in blame.parts]
    told = [points(removed[i].change) for i in blame.parts]
    match blame.how:
        case "alone":
            (only,) = blame.parts
            return _capital(
                f"{named[0]} is to blame: without it the answer is {removed[only].answer} and the confidence changes "
                f"by {told[0]}."
            )
        case "either":
            which = "either one" if len(named) == 2 else "any one of them"
            return (
                f"{_capital(_listed(named))} are to blame: leaving out {which} changes the answer (confidence "
                f"{_listed(told)})."
            )
        case "together":
            which = "both" if len(named) == 2 else f"all {len(named)}"
            return (
                f"{_capital(_listed(named))} are to blame, {which} together: leaving out {which} makes the answer "
                f"{answer_without}, leaving out fewer does not change it."
            )
        case "most":
            return _capital(
                f"{named[0]} is to blame: without it the confidence changes by {told[0]}, though no single removal "
                "changes the answer."
            )
        case "alike":
            return (
                f"{_capital(_listed(named))} are equally to blame: without any one of them the confidence "
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
    return blame_sentence(made.blame, removed, joint[0].score.answer if joint else "")


def stability_sentences(made: Explanation) -> tuple[str, ...]:
    """For each object to blame, whether removing it also lowers the confidence under other cameras and lights."""
    if made.nuisances is None:
        return ()
    n = len(made.nuisances.baseline)
    said = []
    for index in made.blame.parts:
        found = made.nuisances.of(index)
        name = f"the {object_words(made.scene, index)} (object {index})"
        if found is None:
            said.append(f"Without {name} it was not rendered under other cameras and lights.")
        elif found.is_stable:
            said.append(f"Without {name} the confidence falls under {n} other cameras and lights too (95 %).")
        else:
            said.append(
                f"Without {name} the confidence does not surely fall under {n} other cameras and lights (95 %)."
            )
    return tuple(said)


def _listed(words: Sequence[str]) -> str:
    """The words as a list: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
