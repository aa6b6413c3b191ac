"""HTTP connections that close unless a request is complete within seconds, so that slow clients hold nothing."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0  # from the moment a request is awaited to its last byte
UNFINISHED = (h11.IDLE, h11.SEND_BODY)  # the client still has something to send


class ImpatientProtocol(H11Protocol):
    """Uvicorn's protocol limits only the pause between two requests; this one also limits the request itself."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]  # uvicorn narrows the type
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request; a byte now and then does not extend the time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in UNFINISHED:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self._time_out)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _time_out(self) -> None:
        """Close the connection; a page that waits for the rest of a request sees a disconnect."""
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
