"""The request body of a chat completion about one picture.

Fields: https://platform.openai.com/docs/api-reference/chat/create (model, messages, temperature, max_tokens, logprobs,
top_logprobs, seed).
"""

from __future__ import annotations

import json

from trex.foundation.json_fields import Json

TOP = 20  # the most alternatives that the protocol gives for a token
MAX_TOKENS = 8


def request_body(model: str, prompt: str, png: str, seed: int | None) -> bytes:
    """JSON for one picture (PNG in base64): log probabilities at temperature 0, or a sample if `seed` is given."""
    content: list[Json] = [
        {"type": "text", "text": prompt},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
    ]
    body: Json = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": MAX_TOKENS,
    }
    if seed is None:
        body |= {"temperature": 0, "logprobs": True, "top_logprobs": TOP}
    else:
        body |= {"temperature": 1, "seed": seed}
    return json.dumps(body).encode()
