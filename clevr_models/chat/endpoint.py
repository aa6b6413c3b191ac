"""The address of a chat-completions server, and the key for it, which comes from the environment only."""

from __future__ import annotations

import os

from trex.clevr_models.adapters.http_address import check_secret, is_loopback, split_address
from trex.foundation.errors import InputError

PREFIX = "openai:"
BASE_URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
PATH = "/chat/completions"


def is_served(spec: str) -> bool:
    """Whether a model's spec has the form `openai:MODEL`."""
    return spec.startswith(PREFIX)


def resolved_endpoint(endpoint: str) -> str:
    """The server's base address, such as http://localhost:8000/v1; "" takes OPENAI_BASE_URL.

    InputError if neither is set, or if no request can go there.
    """
    url = (endpoint or os.environ.get(BASE_URL, "")).rstrip("/").removesuffix(PATH)
    if not url:
        raise InputError(
            f"no server is named for the model: set {BASE_URL}, or [model] endpoint in the query (--endpoint), e.g. "
            "http://localhost:8000/v1 for vLLM on this machine or https://api.openai.com/v1 for OpenAI's own"
        )
    split_address(url, KEY)
    return url


def read_key(url: str) -> str:
    """OPENAI_API_KEY, "" if it is not set; InputError if it would be sent unencrypted, or fits in no header."""
    key = os.environ.get(KEY, "")
    check_secret(KEY, key)
    if key and split_address(url, KEY).scheme != "https" and not is_loopback(url):
        raise InputError(f"{KEY} would be sent to {url} unencrypted; use https, or unset {KEY}")
    return key
