"""A VQA model behind a web service: batches, timeouts, bounded retries, and a secret that no message shows.

A request is POST application/json {"question", "program", "pictures": [PNG in base64, ...]}, the reply {"labels":
[K names], "probabilities": [[K numbers] for each picture]}. The optional secret is in the environment variable
TREX_MODEL_TOKEN and is sent as `Authorization: Bearer ...`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.callable_model import BATCH, AdaptedModel, Floats
from trex.clevr_models.adapters.http_address import check_secret, is_loopback, split_address
from trex.clevr_models.adapters.http_exchange import (
    TOO_LARGE,
    WAITS_S,
    ClosedError,
    StatusError,
    post,
    retried,
    whole,
)
from trex.clevr_models.interface.inputs import eight_bits
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError
from trex.foundation.parse import parse_json

TOKEN = "TREX_MODEL_TOKEN"
ONE_IS_TOO_LARGE = (
    ", although the request holds a single picture; let the server take larger requests (client_max_body_size of "
    "nginx), or render smaller pictures ([render] preset)"
)
TIMEOUT_S = 60.0  # per try, from the request's first byte to the reply's last


class TooManyError(Exception):
    """The service takes no request with so many pictures."""


@dataclass
class HttpAnswerer:
    """Sends requests to the service; `labels` are those of its last reply.

    `most` pictures go into a request; if the service finds one too large (status 413, or a connection that it closes),
    half as many from then on.
    """

    url: str
    token: str = field(default="", repr=False)
    timeout_s: float = TIMEOUT_S
    waits_s: tuple[float, ...] = WAITS_S
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    labels: tuple[str, ...] = ()
    most: int = BATCH

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> (B, K); ModelError if all tries fail."""
        rows: list[Floats] = []
        begin = 0
        while begin < len(pictures):
            part = pictures[begin : begin + self.most]
            try:
                rows.append(self._rows(part, question))
            except TooManyError:
                self.most = (len(part) + 1) // 2
                continue
            if len(part) < len(pictures) and rows[-1].shape != (len(part), len(self.labels)):
                raise ModelError(
                    f"{self.url} returned probabilities {rows[-1].shape} for {len(part)} pictures; it must return a "
                    f"row of {len(self.labels)} for each"
                )
            begin += len(part)
        if len(rows) == 1:
            return rows[0]
        return np.concatenate(rows) if rows else np.zeros((0, len(self.labels)))

    def _rows(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        body = json.dumps(
            {
                "question": question.text,
                "program": [step._asdict() for step in question.program],
                "pictures": [png_base64(picture) for picture in pictures],
            }
        ).encode()
        is_single = len(pictures) == 1
        reply = self._parsed(
            retried(lambda: self._posted(body, is_single=is_single), self.url, self.waits_s, self.sleep)
        )
        if self.labels and reply[0] != self.labels:
            raise ModelError(f"{self.url} returns other labels than before; it now runs another model")
        self.labels = reply[0]
        return reply[1]

    def _posted(self, body: bytes, *, is_single: bool) -> bytes:
        """The reply to one try; TooManyError if fewer pictures in a request may help."""
        try:
            return whole(post(self.url, body, self.token, self.timeout_s))
        except ClosedError:
            if is_single:
                raise
            raise TooManyError from None
        except StatusError as error:
            if error.status != TOO_LARGE:
                raise
            if is_single:
                raise error.advised(ONE_IS_TOO_LARGE) from None
            raise TooManyError from None

    def _parsed(self, data: bytes) -> tuple[tuple[str, ...], Floats]:
        reply_form = '{"labels": [names], "probabilities": [[numbers] for each picture]}'
        try:
            reply = parse_json(data, "the reply", error=ModelError)
            if not isinstance(reply, dict):
                raise TypeError
            labels, rows = reply["labels"], np.array(reply["probabilities"])
        except (ModelError, ValueError, TypeError, LookupError) as error:
            why = f": {error}" if isinstance(error, ModelError) else ""
            raise ModelError(f"{self.url} must reply with {reply_form}{why}") from None
        if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
            raise ModelError(f"{self.url} returned no labels; it must reply with {reply_form}")
        if rows.dtype.kind not in "fiu":
            raise ModelError(f"{self.url} must reply with {reply_form}: the probabilities are not numbers")
        return tuple(labels), rows.astype(np.float64)


def png_base64(picture: NDArray[np.float32]) -> str:
    """A picture (H, W, 3) in [0, 1] as PNG, 8 bits per channel: lossless for a renderer's output."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(eight_bits(picture)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def load_http(url: str) -> AdaptedModel:
    """The model behind a URL; InputError if the URL is invalid, or exposes or sends a secret unencrypted."""
    scheme = split_address(url).scheme
    token = os.environ.get(TOKEN, "")
    if token and scheme != "https" and not is_loopback(url):
        raise InputError(f"{TOKEN} would be sent to {url} unencrypted; use https, or unset {TOKEN}")
    check_secret(TOKEN, token)
    return AdaptedModel(url, HttpAnswerer(url, token), url)
