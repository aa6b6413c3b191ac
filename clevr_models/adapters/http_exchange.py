"""One POST and its reply within a total time and size, by httpx; and its repetition, by tenacity.

Proxies are those of the environment, never for this machine; no redirect is followed, as it would carry a secret to
another address. A stop ends an exchange at once, whatever it waits for.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from trex.clevr_models.adapters.http_address import is_loopback
from trex.clevr_models.adapters.http_reason import LARGEST, Reason, reason_in
from trex.foundation.errors import InputError, ModelError

log = logging.getLogger(__name__)

LARGEST_REPLY = 16 * 2**20
LONGEST_WAIT_S = 120.0  # that a server may ask for with Retry-After
REASON_S = 5.0  # to wait for the rest of a reply that refuses a request
SLOW_S = 15.0  # without a reply, after which it is said what is waited for, once for each address
STOP_S = 0.1  # between two looks at whether to stop
WAITS_S = (1.0, 4.0, 16.0)  # between tries; the last try follows the last wait
TOO_LARGE = 413  # the status of a request whose body the server does not take
PASSING = (408, 425, 429, 500, 502, 503, 504)  # temporary statuses, worth another try
_slow: set[str] = set()  # addresses that were said to be slow
PLAIN = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}


class PassingError(Exception):
    """A temporary failure, worth another try, after the seconds that the server asks for (Retry-After) if it does."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class ClosedError(PassingError):
    """The server has closed the connection before a reply, as some do that find a request too large."""


class StatusError(ModelError):
    """A status that no other try can change, with the reason that the server gives."""

    def __init__(self, url: str, status: int, reason: Reason, advice: str = "") -> None:
        text = f": {reason.text}" if reason.text else ""
        super().__init__(f"{url} replied with status {status}{text}{advice}")
        self.url, self.status, self.reason = url, status, reason

    def advised(self, advice: str) -> StatusError:
        """The same error with other advice ("; do this")."""
        return StatusError(self.url, self.status, self.reason, advice)


class AbandonedError(ModelError):
    """The request was given up because the work was stopped or another request failed; never the error to report."""


def retried(
    once: Callable[[], bytes],
    url: str,
    waits_s: Sequence[float],
    sleep: Callable[[float], object] = time.sleep,
) -> bytes:
    """The first reply of `once`, called again after each of the waits as long as it raises PassingError.

    Raises ModelError with the last failure if all tries fail, and whatever else `once` raises, at once.
    """

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        value = error.after_s if isinstance(error, PassingError) else 0.0
        return max(
            (*waits_s, 0.0)[state.attempt_number - 1], min(value, LONGEST_WAIT_S)
        )  # asked after the last, too

    def pause(seconds: float) -> None:
        sleep(seconds)

    retrying = Retrying(
        retry=retry_if_exception_type(PassingError),
        stop=stop_after_attempt(1 + len(waits_s)),
        wait=wait,
        sleep=pause,
        reraise=True,
    )
    try:
        return retrying(once)
    except PassingError as error:
        raise ModelError(
            f"{url} did not answer in {1 + len(waits_s)} attempts; the last error: {error}"
        ) from None


def post(url: str, body: bytes, token: str, timeout_s: float, stop: threading.Event | None = None) -> bytes:
    """The body of the reply to JSON; PassingError if another try may help, ModelError otherwise.

    InputError if the address of a proxy in the environment is none. AbandonedError once `stop` is set.

    `token`, if there is one, goes into the header Authorization; `timeout_s` covers everything from connecting to the
    last byte, however slowly bytes arrive.
    """
    headers = PLAIN | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        return _run(url, body, headers, timeout_s, stop or threading.Event())
    except TimeoutError:
        raise PassingError(f"no complete reply within {timeout_s:g} s") from None
    except (httpx.TransportError, OSError) as error:
        raise _mapped(url, error) from None
    except httpx.InvalidURL:  # names parts of the address, which may have a password
        raise InputError(
            "the address of the proxy in https_proxy, http_proxy or all_proxy is not valid; correct it, such as "
            "http://HOST:8080, or unset it"
        ) from None
    except (ImportError, ValueError) as error:  # what httpx says of a proxy's address, such as socks
        raise ModelError(f"{url} cannot be reached through the proxy that is set: {error}") from None


def whole(reply: bytes) -> bytes:
    """A reply without the white space around it; PassingError if it is empty, or a JSON object that is cut off."""
    data = reply.strip()
    if not data:
        raise PassingError("the reply was empty")
    if data.startswith(b"{") and not data.endswith(b"}"):
        raise PassingError(f"the reply was truncated after {len(data)} bytes")
    return data


def _run(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, stop: threading.Event) -> bytes:
    """The exchange in an event loop of its own; in another thread if this one runs a loop, as a notebook does."""

    def run() -> bytes:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            return runner.run(_until(url, _exchange(url, body, headers), timeout_s, stop))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(run).result()
        except KeyboardInterrupt:
            stop.set()
            raise


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that does not wait for the look-up of a name, which takes minutes if no server of names answers."""

    async def getaddrinfo(self, *address: Any, **options: Any) -> Any:
        """As `socket.getaddrinfo`, in a thread that ends when it likes."""
        found: asyncio.Future[Any] = self.create_future()

        def finish(result: object) -> None:
            if not found.done():
                found.set_exception(result) if isinstance(result, OSError) else found.set_result(result)

        def look() -> None:
            result: object
            try:
                result = socket.getaddrinfo(*address, **options)
            except OSError as error:
                result = error
            except UnicodeError as error:
                result = OSError(str(error))
            with suppress(RuntimeError):  # the loop has ended
                self.call_soon_threadsafe(finish, result)

        threading.Thread(target=look, daemon=True).start()
        return await found


async def _until(
    url: str, work: Coroutine[Any, Any, bytes], timeout_s: float, stop: threading.Event
) -> bytes:
    """The result of `work`; TimeoutError after that time, AbandonedError once `stop` is set."""
    task = asyncio.ensure_future(work)
    end = time.monotonic() + timeout_s
    try:
        while not task.done():
            left = end - time.monotonic()
            if stop.is_set():
                raise AbandonedError("the request was given up")
            if left <= 0:
                raise TimeoutError
            if timeout_s - left > SLOW_S and url not in _slow:
                _slow.add(url)
                log.warning(
                    "%s has not replied in %g s; waiting up to %g s for each reply", url, SLOW_S, timeout_s
                )
            await asyncio.wait({task}, timeout=min(left, STOP_S))
        return task.result()
    finally:
        task.cancel()


async def _exchange(url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    is_here = is_loopback(url)  # a proxy would receive the request, and its secret, unencrypted
    verify = _trusted() if url.startswith("https:") else False
    async with (
        httpx.AsyncClient(verify=verify, trust_env=not is_here, timeout=None) as client,
        client.stream("POST", url, content=body, headers=dict(headers)) as response,
    ):
        if response.status_code != 200:
            secret = headers.get("Authorization", "").removeprefix("Bearer ")
            raise _refusal(url, response, reason_in(await _beginning(response), secret))
        return await _read(url, response)


async def _beginning(response: httpx.Response) -> bytes:
    """What a reply that refuses a request says; b"" if that does not come, or is long."""
    data = b""

    async def read() -> None:
        nonlocal data
        async for piece in response.aiter_raw():
            data += piece
            if len(data) > LARGEST:
                return

    with suppress(TimeoutError, httpx.TransportError):
        await asyncio.wait_for(read(), REASON_S)
    return data if len(data) <= LARGEST else b""


async def _read(url: str, response: httpx.Response) -> bytes:
    stated = response.headers.get("Content-Length", "")
    data = b""
    try:
        async for piece in response.aiter_raw():
            data += piece
            if len(data) > LARGEST_REPLY:
                raise ModelError(
                    f"{url} replied with more than {LARGEST_REPLY} bytes, too many for an answer"
                )
    except httpx.RemoteProtocolError:
        of = f" of {stated}" if stated else ""
        raise PassingError(f"the reply was truncated after {len(data)}{of} bytes") from None
    return data


def _refusal(url: str, response: httpx.Response, reason: Reason) -> Exception:
    status = response.status_code
    if status in PASSING:
        text = f": {reason.text}" if reason.text else ""
        return PassingError(f"status {status}{text}", _retry_after_s(response))
    return StatusError(url, status, reason, _advice(status))


def _mapped(url: str, error: Exception) -> Exception:
    invalid = next(
        (cause for cause in _causes(error) if isinstance(cause, ssl.SSLCertVerificationError)), None
    )
    if invalid is not None:
        return ModelError(
            f"{url} has a certificate that is not valid here ({invalid.verify_message}); fix it, or name the "
            "authority's file in SSL_CERT_FILE"
        )
    if isinstance(error, httpx.ProxyError) and str(error).startswith("407"):
        return StatusError(url, 407, Reason(), _advice(407))
    found = [
        error,
        *(cause for cause in _causes(error) if isinstance(cause, OSError)),
    ]  # such as ConnectionRefusedError
    last = found[-1]
    if isinstance(last, BrokenPipeError | ConnectionResetError):
        return ClosedError("the server closed the connection; the request may be too large for it")
    words: dict[type[Exception], str] = {
        ConnectionRefusedError: "nothing listens there; start the server, or correct the port",
        httpx.RemoteProtocolError: "the server closed the connection without an HTTP reply; see its log",
        socket.gaierror: "the host name was not found; correct the address, or check the network",
    }
    return PassingError(words.get(type(last)) or f"{type(last).__name__} {last}".rstrip())


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """The authorities that this system trusts, or those of SSL_CERT_FILE."""
    return ssl.create_default_context()


def _retry_after_s(response: httpx.Response) -> float:
    """Seconds in Retry-After, 0 for a date or none (RFC 9110, section 10.2.3)."""
    text = response.headers.get("Retry-After", "").strip()
    return float(text) if re.fullmatch("[0-9]{1,6}", text) else 0.0


def _advice(status: int) -> str:
    if status in (401, 403):
        return "; set TREX_MODEL_TOKEN to a secret that the server accepts"
    if status == 407:
        return "; the proxy needs a password: put it into https_proxy"
    return "; redirects are not followed: give the final address" if 300 <= status < 400 else ""
