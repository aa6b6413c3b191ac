"""Field types of pydantic models that several files share."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints


def _log_or_minus_infinity(value: object) -> object:
    return -math.inf if value is None else value


Hash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]


Number = Annotated[float, Field(allow_inf_nan=False)]


LogProb = Annotated[
    float, Field(le=1e-6), BeforeValidator(_log_or_minus_infinity)
]  # null is -inf, as in draws.jsonl
