"""Named values of a world's latents: a prior from ranges and lists, drawn as N(0, I) and mapped to values.

The latent of each value is standard normal; its normal quantile u in (0, 1) gives a number low + (high - low) u, or an
entry of a list or a range, all equally likely. Every kernel for vectors so moves any such prior.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist
from typing import TypeGuard

from trex.foundation.errors import InputError
from trex.inference.types import Floats

Value = float | int | str
Values = dict[str, Value]
NORMAL = NormalDist()
EDGE = 1e-9  # least distance of a quantile from 0 and 1, so that its latent is finite


@dataclass(frozen=True)
class Spec:
    """What one value may be: a number between the two ends, or one of the entries."""

    name: str
    low: float = 0.0
    high: float = 1.0
    entries: tuple[Value, ...] = ()

    def at(self, latent: float) -> Value:
        """The value of a latent coordinate."""
        u = NORMAL.cdf(latent)
        if self.entries:
            return self.entries[min(int(u * len(self.entries)), len(self.entries) - 1)]
        return self.low + (self.high - self.low) * u

    def latent(self, value: object) -> float:
        """A latent coordinate of this value; InputError if the value is impossible."""
        if self.entries:
            if value not in self.entries:
                raise InputError(f"{self.name} = {value!r} is none of {', '.join(map(repr, self.entries))}")
            u = (self.entries.index(value) + 0.5) / len(self.entries)
        else:
            number = float(value) if isinstance(value, Real) else math.nan
            if not self.low <= number <= self.high:
                raise InputError(f"{self.name} = {value!r} is not between {self.low:g} and {self.high:g}")
            u = (number - self.low) / (self.high - self.low)
        return NORMAL.inv_cdf(min(max(u, EDGE), 1.0 - EDGE))


def specs_of(prior: Mapping[str, object]) -> tuple[Spec, ...]:
    """What each value may be; InputError for what is neither a pair of numbers nor a list."""
    if not prior:
        raise InputError("prior = {} draws nothing; name at least one value")
    return tuple(_spec(name, allowed) for name, allowed in prior.items())


def _spec(name: str, allowed: object) -> Spec:
    if isinstance(allowed, tuple) and len(allowed) == 2 and all(map(is_number, allowed)):
        low, high = map(float, allowed)
        if not low < high or not math.isfinite(high - low):
            raise InputError(f"prior: {name} = {allowed!r} is no range; give (low, high) with low < high")
        return Spec(name, low, high)
    if (
        isinstance(allowed, range | list)
        and allowed
        and all(isinstance(each, str | int | float) and each == each for each in allowed)  # no NaN
    ):
        _check_apart(name, tuple(allowed))
        return Spec(name, entries=tuple(allowed))
    raise InputError(
        f"prior: {name} = {allowed!r}; give a pair (low, high) for a number, or a list of equally likely values"
    )


def _check_apart(name: str, entries: Sequence[Value]) -> None:
    """InputError for entries that are equal but not the same, as no edit could tell them apart."""
    first: dict[Value, Value] = {}
    for entry in entries:
        known = first.setdefault(entry, entry)
        if type(known) is not type(entry):
            raise InputError(
                f"prior: {name} has both {known!r} and {entry!r}, which are equal in Python; give one of them"
            )


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def values_at(specs: Sequence[Spec], z: Floats) -> Values:
    """The values of a latent (d,)."""
    return {spec.name: spec.at(float(coordinate)) for spec, coordinate in zip(specs, z, strict=True)}


def latent_at(specs: Sequence[Spec], values: Mapping[str, object], like: Floats) -> Floats:
    """The latent (d,) with these values; coordinates of values that `like` has too stay the same."""
    before = values_at(specs, like)
    if strange := sorted(values.keys() - before.keys()):
        raise InputError(f"an edit gives the value {strange[0]!r}, which the prior does not draw")
    found = like.copy()
    for place, spec in enumerate(specs):
        value = values.get(spec.name, before[spec.name])
        if value != before[spec.name]:
            found[place] = spec.latent(value)
    return found


def own_edits(specs: Sequence[Spec], values: Values) -> dict[str, Values]:
    """The edits of a prior of named values: each number at the middle of its range, each other entry of a list."""
    edits: dict[str, Values] = {}
    for spec in specs:
        if not spec.entries:
            middle = (spec.low + spec.high) / 2.0
            changes: list[tuple[str, Value]] = [(f"{spec.name} to {middle:.3g}", middle)]
        else:
            others = [entry for entry in dict.fromkeys(spec.entries) if entry != values[spec.name]]
            changes = [(f"{spec.name} to {entry}", entry) for entry in others]
        for said, value in changes:  # 1 and "1" are said alike
            edits[f"{spec.name} to {value!r}" if said in edits else said] = {**values, spec.name: value}
    return edits
