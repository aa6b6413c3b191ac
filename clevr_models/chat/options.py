"""Which models are behind a chat server."""

from __future__ import annotations

PREFIX = "openai:"


def is_served(spec: str) -> bool:
    """Whether a model's spec has the form `openai:MODEL`."""
    return spec.startswith(PREFIX)
