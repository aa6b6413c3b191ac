"""The request body of a chat completion about one picture.

Fields: https://platform.openai.com/docs/api-reference/chat/create (model, messages, temperature, top_p, max_tokens,
logprobs, top_logprobs, seed). The picture comes before the text, as in the prompts of `trex.clevr_models.huggingface`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from trex.clevr_models.chat.fields import GIVEN, LENGTH, LOG_PROBS, NEW_LENGTH, OPTIONAL, TOPS, Fields
from trex.foundation.errors import InputError
from trex.foundation.json_fields import Json
from trex.foundation.parse import parse_json

# What [model] extra may not set: what trex sets, and what would make another kind of reply.
RESERVED = (*GIVEN, LENGTH, NEW_LENGTH, *OPTIONAL, LOG_PROBS, TOPS, "n", "stream", "stream_options")


def request_fields(
    model: str, prompt: str, png: str, seed: int | None, fields: Fields | None = None, extra: str = ""
) -> Json:
    """The request about one picture (PNG in base64): log probabilities, or a sample if `seed` is given.

    `extra` is a JSON object of further fields, see `further`.
    """
    content: list[Json] = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
        {"type": "text", "text": prompt},
    ]
    body: Json = {"model": model, "messages": [{"role": "user", "content": content}]}
    return {**body, **(fields or Fields()).of(seed), **further(extra)}


def request_body(
    model: str, prompt: str, png: str, seed: int | None, fields: Fields | None = None, extra: str = ""
) -> bytes:
    """`request_fields` as JSON."""
    return json.dumps(request_fields(model, prompt, png, seed, fields, extra)).encode()


def further(extra: str) -> Mapping[str, object]:
    """The fields of [model] extra, a JSON object or ""; InputError if a request may not have one of them."""
    found = parse_json(extra, "[model] extra") if extra else {}
    if not isinstance(found, dict):
        raise InputError("[model] extra must be a table of fields, such as { top_k = 0 }")
    reserved = next((name for name in RESERVED if name in found), None)
    if reserved is not None:
        raise InputError(f"[model] extra has {reserved}, which trex sets itself; leave it out")
    return found
