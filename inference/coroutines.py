"""Blocking programs that take turns: each runs in its own thread, but never two at once.

A library's sampler calls back for one gradient at a time and cannot be suspended. In a thread it can: it runs from
`resume` to its next `ask` and then waits, so that its driver can answer the requests of several programs in one
batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Ask = Callable[[Request], Answer]


class Abandoned(BaseException):
    """Raised by `ask` inside a program that has been closed; not an Exception, so that no handler swallows it."""


class Coroutines(Generic[Request, Answer]):
    """One program. It owns a thread, so close it after use, like a file."""

    def __init__(self, program: Callable[[Ask[Request, Answer]], None]) -> None:
        self._program = program
        self._requests: SimpleQueue[Request | BaseException | None] = SimpleQueue()
        self._answers: SimpleQueue[Answer | Abandoned] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._is_over = False

    def start(self) -> Request | None:
        """Run to its first request; None if it ends without any."""
        self._thread.start()
        return self._next()

    def resume(self, answer: Answer) -> Request | None:
        """Answer its last request and run to the next; returns None at its end, raises its own error if it failed."""
        self._answers.put(answer)
        return self._next()

    def close(self) -> None:
        """End the program where it waits, and join its thread."""
        if self._thread.is_alive():
            self._answers.put(Abandoned())
            self._thread.join()

    def _next(self) -> Request | None:
        request = self._requests.get()
        if isinstance(request, BaseException):
            raise request
        return request

    def _run(self) -> None:
        try:
            self._program(self._ask)
        except Abandoned:
            pass
        except BaseException as error:
            self._requests.put(error)
        else:
            self._requests.put(None)

    def _ask(self, request: Request) -> Answer:
        self._requests.put(request)
        answer = self._answers.get()
        if isinstance(answer, Abandoned):
            raise answer
        return answer
