"""HTTP connections on which a request has to be whole within seconds; one that never is holds nothing for long."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0  # from the first moment in which a request is awaited to its last byte
UNFINISHED = (h11.IDLE, h11.SEND_BODY)  # states of a client that has something left to send


class ImpatientProtocol(H11Protocol):
    """Uvicorn's own, which limits only the pause between two requests; here the request itself is limited too."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The first request is awaited."""
        super().connection_made(transport)  # type: ignore[arg-type]  # uvicorn narrows the type
        self._watch()

    def data_received(self, data: bytes) -> None:
        """More of a request, or all of it: a byte now and then does not give a request more time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in UNFINISHED:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Close; a page that waits for the rest of a request hears that nobody is there."""
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
