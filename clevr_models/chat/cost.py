"""What asking chat servers costs: requests, tokens as the servers count them, and replies that were at hand.

Imports nothing heavy: every command does.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Cost:
    """Counts; all add up."""

    requests: int = 0  # sent, repeated tries included
    replies: int = 0  # received
    uncounted: int = 0  # of these, without the server's count of tokens
    input_tokens: int = 0
    output_tokens: int = 0
    stored: int = 0  # replies read from the cache instead
    cut: int = 0  # of those received, cut by their bound on tokens before they gave an answer

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def said(self) -> str:
        """One line for a person; "" if no server was asked and no reply was at hand."""
        if not self.requests and not self.stored:
            return ""
        texts = [f"{self.requests:,} request{'s' * (self.requests != 1)} sent"]
        if self.replies > self.uncounted:
            texts.append(f"{self.input_tokens:,} input and {self.output_tokens:,} output tokens")
        if self.uncounted:
            texts.append(f"tokens of {self.uncounted:,} of {self.replies:,} replies not stated by the server")
        if self.cut:
            texts.append(f"{self.cut:,} of {self.replies:,} replies cut before any answer")
        if self.stored:
            texts.append(f"{self.stored:,} replies from the cache")
        return f"chat server: {', '.join(texts)}"


class Meter:
    """Adds up costs; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Cost()

    def add(self, cost: Cost) -> None:
        with self._lock:
            self._total += cost

    def take(self) -> Cost:
        """All since the last call."""
        with self._lock:
            taken, self._total = self._total, Cost()
        return taken


METER = Meter()  # of this process; a command prints it as it ends
