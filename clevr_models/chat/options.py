"""What a query may choose about a served model, and the bounds that hold for it."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "openai:"
CONCURRENCY = 4  # requests at a time


@dataclass(frozen=True)
class ServerOptions:
    """`[model]` of a query without the name; "" takes the default.

    `samples`: 0 reads log probabilities, n counts n samples at temperature 1. `max_requests` bounds what one opened
    model sends, repeated tries included; None for no bound.
    """

    endpoint: str = ""
    prompt: str = ""
    samples: int = 0
    max_requests: int | None = None
    concurrency: int = CONCURRENCY


def is_served(spec: str) -> bool:
    """Whether a model's spec has the form `openai:MODEL`."""
    return spec.startswith(PREFIX)
