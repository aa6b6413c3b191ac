"""A VQA model behind a web service: batches, timeouts, bounded retries, and a secret that no message shows.

A request is POST application/json {"question", "program", "pictures": [PNG in base64, ...]}, the reply
{"labels": [K names], "probabilities": [[K numbers] for each picture]}. The secret, where there is one, is in the
environment variable TREX_MODEL_TOKEN and goes out as `Authorization: Bearer ...`.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from clevr_models.adapter import AdaptedModel, Floats
from clevr_models.question import Question
from foundation.errors import InputError, ModelError

TOKEN = "TREX_MODEL_TOKEN"
SCHEMES = ("http://", "https://")
HERE = ("localhost", "127.0.0.1", "::1")
TIMEOUT_S = 60.0
WAITS_S = (1.0, 4.0, 16.0)  # between tries; no further try after the last
PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses that another try may find gone
LARGEST_REPLY = 16 * 2**20


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the secret to another address."""

    def redirect_request(self, *args: object) -> None:
        return None


class _PassingError(Exception):
    """What another try may find gone."""


@dataclass
class HttpAnswerer:
    """Asks the service; `labels` are those of its last reply."""

    url: str
    token: str = field(default="", repr=False)
    timeout_s: float = TIMEOUT_S
    waits_s: tuple[float, ...] = WAITS_S
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    labels: tuple[str, ...] = ()

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> (B, K); ModelError where the service gives no answer after all tries."""
        body = json.dumps(
            {
                "question": question.text,
                "program": [step._asdict() for step in question.program],
                "pictures": [png_base64(picture) for picture in pictures],
            }
        ).encode()
        reply = self._parsed(self._asked(body))
        if self.labels and reply[0] != self.labels:
            raise ModelError(f"{self.url} names other answers than before; another model runs there now")
        self.labels = reply[0]
        return reply[1]

    def _asked(self, body: bytes) -> bytes:
        problem = ""
        for wait in (0.0, *self.waits_s):
            if wait:
                self.sleep(wait)
            try:
                return self._once(body)
            except _PassingError as error:
                problem = str(error)
        raise ModelError(
            f"{self.url} gave no answer in {1 + len(self.waits_s)} tries; the last time: {problem}"
        )

    def _once(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url, body, headers)
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=self.timeout_s) as response:
                data: bytes = response.read(LARGEST_REPLY + 1)
        except urllib.error.HTTPError as error:  # its body is not shown: it may repeat what was sent
            if error.code in PASSING:
                raise _PassingError(f"status {error.code}") from None
            raise ModelError(f"{self.url} refuses with status {error.code}{_advice(error.code)}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise _PassingError(
                type(reason).__name__ if isinstance(reason, Exception) else "no connection"
            ) from None
        if len(data) > LARGEST_REPLY:
            raise ModelError(f"{self.url} replies with more than {LARGEST_REPLY} bytes; that is no answer")
        return data

    def _parsed(self, data: bytes) -> tuple[tuple[str, ...], Floats]:
        wanted = '{"labels": [names], "probabilities": [[numbers] for each picture]}'
        try:
            reply = json.loads(data)
            labels, rows = reply["labels"], np.array(reply["probabilities"], dtype=np.float64)
        except (ValueError, TypeError, LookupError, RecursionError):
            raise ModelError(f"{self.url} replies with something else than {wanted}") from None
        if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
            raise ModelError(f"{self.url} names no answers; it must reply with {wanted}")
        return tuple(labels), rows


def _advice(status: int) -> str:
    if status in (401, 403):
        return f"; set {TOKEN} to a secret that it accepts"
    return "; redirects are not followed, name the address itself" if 300 <= status < 400 else ""


def png_base64(picture: NDArray[np.float32]) -> str:
    """A picture (H, W, 3) in [0, 1] as PNG, 8 bits a channel: what a renderer gave comes out unchanged."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.rint(picture * 255).astype(np.uint8)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def load_http(url: str) -> AdaptedModel:
    """The model behind a URL; InputError where the URL would show a secret or send one in the clear."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError(f"the address of the model is none ({error})") from error
    if parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
        raise InputError(  # the URL itself is not shown: this is where a secret may stand
            "the address of a model is http(s)://HOST/PATH alone, without user, password or ?query: it is kept with "
            f"every run. Put a secret into the environment variable {TOKEN}"
        )
    token = os.environ.get(TOKEN, "")
    if token and parts.scheme != "https" and parts.hostname not in HERE:
        raise InputError(f"{url} would be sent the secret in {TOKEN} in the clear; use https, or unset it")
    if not token.isprintable() or not token.isascii():
        raise InputError(f"{TOKEN} holds signs that no header can carry; put it right")
    return AdaptedModel(url, HttpAnswerer(url, token), url)
