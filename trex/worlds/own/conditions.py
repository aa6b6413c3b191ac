"""Conditions on named values, which say when a model fails: "tilt is above 15", "ink is thin"."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trex.foundation.words import escaped
from trex.inference.types import Floats
from trex.scenes.conditions import Bools, Condition, Known, Term
from trex.worlds.own.values import Spec, Value, is_number

# Parts into which the cuts of a range divide it, at least; at most 22, as cuts are multiples of 1, 2 or 5 times 10^k.
LEAST_PARTS = 9
MANY = 5  # numbers in a list from which on a rule may cut it as it does a range


def value_conditions(specs: Sequence[Spec]) -> tuple[Condition, ...]:
    """The conditions that a rule may name: each entry of a list, and above or below about ten round numbers."""
    return tuple(condition for spec in specs for condition in _of_spec(spec))


def condition_table(specs: Sequence[Spec], conditions: Sequence[Condition], zs: Sequence[Floats]) -> Bools:
    """(n, m): which conditions hold for each of the latents, n of (d,)."""
    rows = [_facts(specs, z) for z in zs]
    table = [[all(term.holds(row) for term in each.terms) for each in conditions] for row in rows]
    return np.array(table, dtype=np.bool_).reshape(len(rows), len(conditions))


def cuts(low: float, high: float) -> list[float]:
    """Round numbers between the ends of a range, which divide it into about ten parts."""
    step = (high - low) / LEAST_PARTS
    power = 10.0 ** math.floor(math.log10(step))
    step = max(k for k in (1, 2, 5) if k * power <= step * (1 + 1e-9)) * power
    first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
    return [cut for k in range(first, last + 1) if low < (cut := float(f"{k * step:.12g}")) < high]


def _of_spec(spec: Spec) -> Iterator[Condition]:
    name = escaped(spec.name)
    for word in _said(spec.entries).values():
        yield _condition(f"{name} is {escaped(word)}", Term(f"entry {spec.name}", word))
    low, high = _ends(spec)
    for cut in cuts(low, high) if low < high else ():
        number = f"number {spec.name}"
        yield _condition(f"{name} is below {cut:.12g}", Term(number, high=cut))
        yield _condition(f"{name} is above {cut:.12g}", Term(number, low=math.nextafter(cut, math.inf)))


def _condition(words: str, term: Term) -> Condition:
    return Condition(words, "value", words, (term,))


def _ends(spec: Spec) -> tuple[float, float]:
    """The ends of a range, also of a list of at least MANY numbers; equal if the value has none."""
    if not spec.entries:
        return spec.low, spec.high
    numbers = [float(entry) for entry in set(spec.entries) if is_number(entry)]
    is_range = len(numbers) == len(set(spec.entries)) >= MANY
    return (min(numbers), max(numbers)) if is_range else (0.0, 0.0)


def _facts(specs: Sequence[Spec], z: Floats) -> Known:
    """The number of each value that is one, and the words of each entry."""
    facts: dict[str, str | float] = {}
    for spec, coordinate in zip(specs, z, strict=True):
        value = spec.at(float(coordinate))
        if spec.entries:
            facts[f"entry {spec.name}"] = _said(spec.entries)[value]
        if is_number(value):
            facts[f"number {spec.name}"] = float(value)
    return facts


def _said(entries: Sequence[Value]) -> dict[Value, str]:
    """The words of each entry; entries that are said alike, 1 and "1", as in Python."""
    different = dict.fromkeys(entries)
    words = [str(entry) for entry in different]
    return {
        entry: repr(entry) if words.count(word) > 1 else word
        for entry, word in zip(different, words, strict=True)
    }
