"""Programs executed on many variants of a scene at once, which differ in what objects there are.

As `programs.execute_on` for each variant, in some microseconds a step for a thousand of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trex.scenes.questions.functions import BOOL, FUNCTIONS, INTEGER, SET, Function
from trex.scenes.questions.programs import YES_NO, Program, Step, check_program
from trex.scenes.scene import ATTRIBUTES

MAX_SLOTS = 64  # objects of a variant, one bit each
HALF = 16  # bits whose numbers of ones are kept in a table
Ints = NDArray[np.int64]
Sets = NDArray[np.uint64]  # of objects: bit i is set if object i is in the set
Bools = NDArray[np.bool_]
Values = NDArray[Any]  # (V,): what a step gives, in each variant
ONE, LOW = np.uint64(1), np.uint64((1 << HALF) - 1)
NO_YES = YES_NO[::-1]
LONGEST = 3  # digits of a number that a model says
_NUMBERS = np.arange(1 << HALF)
_ONES = np.unpackbits(_NUMBERS.astype(">u2").view(np.uint8)).reshape(-1, HALF).sum(axis=1, dtype=np.int64)
_FIRST = _ONES[np.maximum((_NUMBERS & -_NUMBERS) - 1, 0)]  # the place of the lowest bit; of 0 it is 0


@dataclass(frozen=True)
class Variants:
    """V variants of a scene with up to S objects.

    `present` (V,) is the set of objects; `codes[attribute]` (S, V) the place of each object's value in
    `values[attribute]`; `beyond[relation]` (S, V) the objects that are e.g. left of object s, present or not. Of a
    variant whose relations are partly unknown, `twins` (V,) gives the other one with which it makes a pair, itself for
    others: one has all of the unknown relations, the other none.
    """

    present: Sets
    codes: Mapping[str, Ints]
    beyond: Mapping[str, Sets]
    values: Mapping[str, tuple[str, ...]]
    twins: Ints

    def having(self, attribute: str) -> Sets:
        """(values, V): the objects with each value of an attribute."""
        codes = self.codes[attribute]
        bits = (ONE << np.arange(len(codes), dtype=np.uint64))[:, None]
        rows = [
            np.bitwise_or.reduce(np.where(codes == k, bits, np.uint64(0)), axis=0)
            for k in range(len(self.values[attribute]))
        ]
        found: Sets = np.stack(rows) & self.present
        return found


@dataclass(frozen=True)
class Joined:
    """Q programs as one list of steps without repetitions; `ends` are the places of their last steps."""

    steps: tuple[Step, ...]
    ends: tuple[int, ...]

    def answers(self, variants: Variants) -> tuple[Ints, Bools]:
        """Answers (Q, V) as numbers, and whether there is one: a count, 0 or 1 for no or yes, the place of a value.

        There is none if it depends on unknown relations. More of them never make a set smaller, so that a count, or an
        object that is unique, is known if it is the same with all of them and with none.
        """
        execute = _Execution(variants)
        has_unknown = bool((variants.twins != execute.all).any())
        results: list[Values] = []
        failed: list[Bools | None] = []  # None: nowhere
        for step in self.steps:
            inputs = [results[i] for i in step.inputs]
            wrong = [before for i in step.inputs if (before := failed[i]) is not None]
            if step.function == "unique":
                wrong.append(_count(inputs[0]) != 1)
            results.append(execute.step(step, inputs))
            if has_unknown and FUNCTIONS[step.function].gives != SET:
                wrong.append(results[-1] != results[-1][variants.twins])
                wrong += [each[variants.twins] for each in wrong]
            failed.append(np.logical_or.reduce(wrong) if wrong else None)
        nowhere = np.zeros(len(variants.present), np.bool_)
        ends = [failed[end] for end in self.ends]
        return (
            np.stack([results[end].astype(np.int64) for end in self.ends]),
            ~np.stack([nowhere if bad is None else bad for bad in ends]),
        )

    def numbers(self, answers: Sequence[str], values: Mapping[str, tuple[str, ...]]) -> Ints:
        """(Q,): answers in words as numbers; -1 for one that no variant can have."""
        rows = zip(self.ends, answers, strict=True)
        return np.array([_number(self._gives(end), word, values) for end, word in rows], np.int64)

    def text(self, question: int, number: int, values: Mapping[str, tuple[str, ...]]) -> str:
        """The answer to a question that a number stands for."""
        gives = self._gives(self.ends[question])
        if gives == INTEGER:
            return str(number)
        return NO_YES[number] if gives == BOOL else values[gives][number]

    def _gives(self, at: int) -> str:
        return FUNCTIONS[self.steps[at].function].gives


def joined(programs: Sequence[Program]) -> Joined:
    """The programs with each different step once; InputError if one is malformed."""
    places: dict[Step, int] = {}
    ends = []
    for program in programs:
        check_program(program)
        mine: list[int] = []
        for step in program:
            moved = step._replace(inputs=tuple(mine[i] for i in step.inputs))
            mine.append(places.setdefault(moved, len(places)))
        ends.append(mine[-1])
    return Joined(tuple(places), tuple(ends))


def _number(gives: str, word: str, values: Mapping[str, tuple[str, ...]]) -> int:
    if gives == INTEGER:
        return int(word) if word.isdecimal() and len(word) <= LONGEST else -1
    possible = NO_YES if gives == BOOL else values[gives]
    return possible.index(word) if word in possible else -1


class _Execution:
    """The steps of programs on variants."""

    def __init__(self, variants: Variants) -> None:
        self.variants = variants
        self.having = {name: variants.having(name) for name in ATTRIBUTES}
        self.all = np.arange(len(variants.present))

    def step(self, step: Step, inputs: Sequence[Values]) -> Values:
        """What a step gives (V,): sets, places of objects, counts, places of values, or yes and no."""
        function = FUNCTIONS[step.function]
        if len(inputs) == 2:
            return _COMBINED[function.kind](*inputs)
        if not inputs:
            return self.variants.present
        one: Values = self._of_one(function, step.value_inputs, inputs[0])
        return one

    def _of_one(self, function: Function, words: Sequence[str], given: Values) -> Any:
        name = function.attribute
        match function.kind:
            case "filter":
                known = self.variants.values[name]
                return given & self.having[name][known.index(words[0])] if words[0] in known else 0 * given
            case "unique":
                return _place(given)
            case "relate":
                return self.variants.beyond[words[0]][given, self.all] & self.variants.present
            case "same":
                alike = self.having[name][self.variants.codes[name][given, self.all], self.all]
                return alike & ~(ONE << given.astype(np.uint64))
            case "query":
                return self.variants.codes[name][given, self.all]
            case "count":
                return _count(given)
            case "exist":
                return given != 0
        raise AssertionError(f"{function.name} passed the check")


_COMBINED: Mapping[str, Callable[[Values, Values], Values]] = {
    "union": np.bitwise_or,
    "intersect": np.bitwise_and,
    "equal": np.equal,
    "less_than": np.less,
    "greater_than": np.greater,
}


def _parts(bits: Sets) -> list[Ints]:
    """The bits in pieces of 16; the first piece alone if the others are empty."""
    shifts = range(0, MAX_SLOTS if bits.max(initial=0) >= 1 << HALF else HALF, HALF)
    return [(bits >> np.uint64(shift) & LOW).astype(np.int64) for shift in shifts]


def _count(bits: Sets) -> Ints:
    counts = np.zeros(bits.shape, np.int64)
    for part in _parts(bits):
        counts += _ONES[part]
    return counts


def _place(bits: Sets) -> Ints:
    """The place of the only bit; anything if there is another number of them."""
    place = np.zeros(bits.shape, np.int64)
    for k, part in enumerate(_parts(bits)):
        place = np.where(part != 0, _FIRST[part] + HALF * k, place)
    return place
