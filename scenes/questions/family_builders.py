"""Builds questions of each kind of family from random descriptions and relations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from trex.scenes.graph import RELATIONS
from trex.scenes.questions.bitsets import Bits, is_single
from trex.scenes.questions.filters import Option, attribute_bits, pick
from trex.scenes.questions.program_builder import DeadEndError, Draft, Objects, Single
from trex.scenes.scene import ATTRIBUTES

COUNT_EMPTY = 0.25  # share of descriptions that match nothing, in questions for a count
EXIST_EMPTY = 0.5  # the same, in questions for existence


def _finish(draft: Draft, wanted: str, among: Objects | Single) -> None:
    """End with count, exist, or the query of an attribute."""
    draft.add(wanted if wanted in ("count", "exist") else f"query_{wanted}", among.step)


def _silent(wanted: str) -> int:
    return attribute_bits(wanted) if wanted in ATTRIBUTES else 0


def zero_hop(wanted: str, draft: Draft) -> None:
    """Asks for count, existence or an attribute of objects that a description alone selects."""
    everything = draft.everything()
    if wanted == "count":
        wordless = pick(draft.rng, 20) == 0
        found = everything if wordless else draft.some(everything, COUNT_EMPTY)
        return _finish(draft, wanted, found)
    if wanted == "exist":
        return _finish(draft, wanted, draft.some(everything, EXIST_EMPTY))
    return _finish(draft, wanted, draft.the(everything, _silent(wanted)))


def hops(hops: int, wanted: str, draft: Draft) -> None:
    """The same for objects related to one that may be related to another (one to three relations)."""
    anchor = draft.the(draft.everything())
    for _ in range(hops - 1):
        anchor = draft.the_related(anchor)
    if wanted in ATTRIBUTES:
        return _finish(draft, wanted, draft.the_related(anchor, _silent(wanted)))
    share = EXIST_EMPTY if wanted == "exist" else COUNT_EMPTY
    return _finish(draft, wanted, draft.some_related(anchor, share))


def single_and(wanted: str, draft: Draft) -> None:
    """The same for objects that are related to two others at once."""
    anchors = [draft.draw(draft.fitting_one(draft.world.sets.everything)) for _ in range(2)]
    pairs = list(product(RELATIONS, repeat=2))
    is_empty_wanted = wanted == "count" and draft.rng.random() < COUNT_EMPTY
    for at in draft.rng.permutation(len(pairs)):
        near, other = (
            draft.world.sets.beyond[relation][anchor.fits.bit_length() - 1]
            for relation, anchor in zip(pairs[at], anchors, strict=True)
        )
        options = draft.world.suited(_needs_both, wanted, near, other, is_empty_wanted)
        if options:
            return _intersection(
                wanted, draft, tuple(zip(anchors, pairs[at], strict=True)), draft.draw(options)
            )
    raise DeadEndError


def _needs_both(option: Option, wanted: str, near: Bits, other: Bits, is_empty_wanted: bool) -> bool:
    """Whether there is an answer, and a different one or none without either of the two relations."""
    left = option.fits & near & other
    if is_empty_wanted != (left == 0) or left in (option.fits & near, option.fits & other):
        return False
    return wanted == "count" or (is_single(left) and not option.names & _silent(wanted))


def _intersection(wanted: str, draft: Draft, sides: Sequence[tuple[Option, str]], target: Option) -> None:
    related = []
    for anchor, relation in sides:
        single = draft.unique(draft.describe(draft.everything(), anchor.said))
        related.append(draft.relate(single, relation))
    objects, other = related
    both = Objects(draft.add("intersect", objects.step, other.step), objects.bits & other.bits)
    found = draft.describe(both, target.said)
    _finish(draft, wanted, found if wanted == "count" else draft.unique(found))


def same(attribute: str, wanted: str, is_described: bool, draft: Draft) -> None:
    """The same for the other objects that share an attribute with one."""
    silent = attribute_bits(attribute)
    others = draft.same(draft.the(draft.everything(), silent), attribute)
    if wanted in ATTRIBUTES:
        return _finish(draft, wanted, draft.the(others, silent | _silent(wanted)))
    share = EXIST_EMPTY if wanted == "exist" else COUNT_EMPTY
    return _finish(draft, wanted, draft.some(others, share, silent) if is_described else others)


def single_or(filtered: str, first_related: bool, second_related: bool, draft: Draft) -> None:
    """The number of objects that match one of two descriptions; `filtered` is an attribute stated before both."""
    silent = _silent(filtered)
    wholes = [draft.everything(), draft.everything()] if filtered == "shape" else []  # CLEVR's order of steps
    sides = [
        _side(draft, wholes.pop(0) if wholes else draft.everything(), is_related, silent)
        for is_related in (first_related, second_related)
    ]
    _refuse_equal(draft, sides[0], sides[1])
    either = draft.add("union", sides[0].step, sides[1].step)
    if filtered:
        values = draft.world.vocabulary.values(filtered)
        either = draft.add(f"filter_{filtered}", either, word=values[pick(draft.rng, len(values))])
    draft.add("count", either)


def _side(draft: Draft, among: Objects, is_related: bool, silent: int) -> Objects:
    return draft.some_related(draft.the(among), 0.0) if is_related else draft.some(among, COUNT_EMPTY, silent)


def _refuse_equal(draft: Draft, objects: Objects, other: Objects) -> None:
    """Raise DeadEndError if both sides are the same objects; both may be empty if their words differ."""
    if objects.bits == other.bits and (
        objects.bits or _described(draft, objects.step) == _described(draft, other.step)
    ):
        raise DeadEndError


def _described(draft: Draft, at: int) -> list[tuple[str, tuple[str, ...]]]:
    """The calls that lead to a step, in reverse order."""
    step = draft.steps[at]
    before = _described(draft, step.inputs[0]) if step.inputs else []
    return [(step.function, step.value_inputs), *before]


def compare(attribute: str, first_related: bool, second_related: bool, draft: Draft) -> None:
    """Whether two objects agree; without relations CLEVR queries size and color after finding both."""
    silent = attribute_bits(attribute)
    is_late = attribute in ("size", "color") and not (first_related or second_related)
    singles: list[Single] = []
    queries: list[int] = []
    for is_related in (first_related, second_related):
        anchor = draft.the(draft.everything(), 0 if is_related else silent)
        singles.append(draft.the_related(anchor, silent) if is_related else anchor)
        if not is_late:
            queries.append(draft.add(f"query_{attribute}", singles[-1].step))
    if singles[0].which == singles[1].which:
        raise DeadEndError
    if is_late:
        queries = [draft.add(f"query_{attribute}", single.step) for single in singles]
    draft.add(f"equal_{attribute}", *queries)


def compare_integer(function: str, first_related: bool, second_related: bool, draft: Draft) -> None:
    """Whether one count equals, exceeds or falls short of another."""
    sides: list[Objects] = []
    counts: list[int] = []
    for is_related in (first_related, second_related):
        everything = draft.everything()
        if is_related:
            sides.append(draft.some_related(draft.the(everything), COUNT_EMPTY))
        else:
            sides.append(draft.some(everything, COUNT_EMPTY))
        counts.append(draft.add("count", sides[-1].step))
    _refuse_equal(draft, *sides)
    draft.add(function, *counts)
