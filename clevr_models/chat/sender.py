"""Sends requests to a chat-completions server: counted, bounded, retried after waits, with a hidden key."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from trex.clevr_models.adapters.http_exchange import StatusError, post, retried, whole
from trex.clevr_models.chat.cost import METER, Cost, Meter
from trex.clevr_models.chat.endpoint import KEY, PATH
from trex.clevr_models.chat.errors import AbandonedError, RequestLimitError
from trex.clevr_models.chat.reply import reply_cost
from trex.foundation.errors import ModelError

TIMEOUT_S = 120.0  # per try, from the request's first byte to the reply's last
WAITS_S = (1.0, 4.0, 16.0)  # between tries; the last try follows the last wait


@dataclass
class Sender:
    """Sends to one server; `sent` counts requests, repeated tries included. Threads may share it."""

    endpoint: str
    key: str = field(default="", repr=False)
    max_requests: int | None = None
    timeout_s: float = TIMEOUT_S
    waits_s: tuple[float, ...] = WAITS_S
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    meter: Meter = field(default=METER, repr=False)
    sent: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def url(self) -> str:
        """The address that requests go to."""
        return self.endpoint + PATH

    def send(self, body: bytes, stop: threading.Event | None = None) -> bytes:
        """The reply's body; ModelError if all tries fail, or a status that no repeated try can change.

        Once `stop` is set, nothing more is sent: AbandonedError.
        """

        def once() -> bytes:
            if stop is not None and stop.is_set():
                raise AbandonedError(f"{self.url}: given up after another request failed")
            self._count()
            try:
                return self._counted(whole(post(self.url, body, self.key, self.timeout_s)))
            except StatusError as error:
                raise ModelError(
                    f"{self.url} replied with status {error.status}{_advice(error.status)}"
                ) from None

        return retried(once, self.url, self.waits_s, self.sleep)

    def _counted(self, data: bytes) -> bytes:
        self.meter.add(reply_cost(data))
        return data

    def _count(self) -> None:
        with self._lock:
            if self.max_requests is not None and self.sent >= self.max_requests:
                raise RequestLimitError(
                    f"[model] max_requests = {self.max_requests} requests were sent to {self.endpoint}; replies and "
                    "draws so far are kept: resume to send as many again, or raise max_requests in a new run"
                )
            self.sent += 1
        self.meter.add(Cost(requests=1))


def _advice(status: int) -> str:
    if status in (401, 403):
        return f"; set {KEY} to a key that the server accepts"
    if status == 404:
        return "; check the model's name, and that the endpoint is right (it often ends with /v1)"
    if status in (400, 422):
        return "; the model may not take pictures, or give no log probabilities: then set [model] samples, e.g. 20"
    return "; redirects are not followed: give the final address" if 300 <= status < 400 else ""
