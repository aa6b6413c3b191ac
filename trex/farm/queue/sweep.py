"""`--sweep key=a,b,c`: every combination of several keys' values, as overrides of a query."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from trex.foundation.errors import InputError

MAX_ENTRIES = 100_000  # of one command
FORM = "write e.g. --sweep target.width=0.05,0.1 or --sweep search.seed=0..99"
RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")


def combinations(sweeps: Sequence[str], settings: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The overrides `key=value` of every combination, the last key varying fastest; one empty tuple without sweeps."""
    swept = [_sweep(text) for text in sweeps]
    keys = [key for key, _ in swept]
    fixed = [text.partition("=")[0].strip() for text in settings]
    for key in keys:
        if keys.count(key) > 1 or key in fixed:
            raise InputError(
                f"--sweep {key}: the key is set twice; give all its values in one --sweep, and no --set for it"
            )
    count = 1
    for _, values in swept:
        count *= len(values)
    if count > MAX_ENTRIES:
        raise InputError(
            f"the sweeps make {count:,} combinations, more than the limit of {MAX_ENTRIES:,}; "
            "sweep fewer values at a time"
        )
    return [
        tuple(f"{key}={value}" for key, value in zip(keys, values, strict=True))
        for values in itertools.product(*(values for _, values in swept))
    ]


def _sweep(text: str) -> tuple[str, list[str]]:
    key, equals, listed = text.partition("=")
    values = [value.strip() for value in _split(listed)]
    if not equals or not key.strip() or not all(values):
        raise InputError(f"--sweep {text!r} is not key=a,b,c; {FORM}")
    whole = RANGE.fullmatch(listed.strip())
    if whole:
        first, last = int(whole[1]), int(whole[2])
        if not 0 <= last - first < MAX_ENTRIES:
            raise InputError(
                f"--sweep {text!r}: {first}..{last} is empty or has more than {MAX_ENTRIES:,} values; {FORM}"
            )
        values = [str(value) for value in range(first, last + 1)]
    return key.strip(), values


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes, so that TOML's lists and strings stay whole."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote or letter in "\"'":
            quote = "" if letter == quote else quote or letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
