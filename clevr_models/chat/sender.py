"""Sends requests to a chat-completions server: counted, bounded, retried after waits, with a hidden key."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from trex.clevr_models.adapters.http_exchange import (
    TOO_LARGE,
    WAITS_S,
    AbandonedError,
    StatusError,
    post,
    retried,
    whole,
)
from trex.clevr_models.adapters.http_model import ONE_IS_TOO_LARGE
from trex.clevr_models.chat.cost import METER, Cost, Meter
from trex.clevr_models.chat.endpoint import KEY, PATH
from trex.clevr_models.chat.reply import reply_cost
from trex.foundation.errors import ModelError

TIMEOUT_S = 120.0  # per try, from the request's first byte to the reply's last
REFUSED = f"; set {KEY} to a key that the server accepts"
ADVICE = {  # by status; for others that of any service
    401: REFUSED,
    403: REFUSED,
    404: "; check the model's name, and that the endpoint is right (it often ends with /v1)",
    TOO_LARGE: ONE_IS_TOO_LARGE,
}


class RequestLimitError(ModelError):
    """`[model] max_requests` requests were sent."""


@dataclass
class Sender:
    """Sends to one server; `sent` counts requests, repeated tries included. Threads may share it.

    `sleep` waits between tries; None waits until work is stopped, at most.
    """

    endpoint: str
    key: str = field(default="", repr=False)
    max_requests: int | None = None
    timeout_s: float = TIMEOUT_S
    waits_s: tuple[float, ...] = WAITS_S
    sleep: Callable[[float], object] | None = field(default=None, repr=False)
    meter: Meter = field(default=METER, repr=False)
    sent: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def url(self) -> str:
        return self.endpoint + PATH

    def send(self, body: bytes, stop: threading.Event | None = None) -> bytes:
        """The reply's body; StatusError for a status that no repeated try can change, ModelError if all tries fail.

        Once `stop` is set, a request in flight and a wait end at once, and nothing more is sent: AbandonedError.
        """
        ends = stop or threading.Event()

        def once() -> bytes:
            if ends.is_set():
                raise AbandonedError(f"{self.url}: given up after another request failed")
            self._count()
            try:
                reply = whole(post(self.url, body, self.key, self.timeout_s, ends))
            except StatusError as error:
                raise error.advised(ADVICE[error.status]) if error.status in ADVICE else error from None
            self.meter.add(reply_cost(reply))
            return reply

        return retried(once, self.url, self.waits_s, ends.wait if self.sleep is None else self.sleep)

    def _count(self) -> None:
        with self._lock:
            if self.max_requests is not None and self.sent >= self.max_requests:
                raise RequestLimitError(
                    f"[model] max_requests = {self.max_requests} requests were sent to {self.endpoint}; replies and "
                    "draws so far are kept: resume to send as many again, or raise max_requests in a new run"
                )
            self.sent += 1
        self.meter.add(Cost(requests=1))
