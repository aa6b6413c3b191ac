"""HTML of results for notebooks: small, escaped, with embedded pictures, no script and no style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from trex.foundation.words import percent
from trex.pages.thumbnails import jpeg_url

SHOWN = 3  # answers per hit
WIDE_PX = 240
CELL = "display:inline-block;vertical-align:top;margin:4px;max-width:260px"


def hit_html(
    picture: tuple[NDArray[np.uint8], str] | None,
    answers: Sequence[tuple[str, float]],
    truth: str | None,
    origin: str,
) -> str:
    """A picture (H, W, 3 or 1) and its words, with the most probable answers, the true one, and the draw's origin."""
    text = ", ".join(f"{escape(answer)} {escape(percent(p))}" for answer, p in answers[:SHOWN])
    true = "" if truth is None else f"truth <b>{escape(truth)}</b>; "
    shown = "" if picture is None else f"{_img(*picture)}<br>"
    return f'<div style="{CELL}">{shown}{true}model: {text}<br><small>{escape(origin)}</small></div>'


def block_html(title: str, sentences: Sequence[str], cards: Sequence[str], note: str) -> str:
    """A headline, sentences, cards (already HTML), and a note below."""
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return (
        f"<div><p><b>{escape(title)}</b></p>{lines}{''.join(cards)}<p><small>{escape(note)}</small></p></div>"
    )


def _img(pixels: NDArray[np.uint8], words: str) -> str:
    return f'<img alt="{escape(words)}" src="{jpeg_url(pixels)}" width="{WIDE_PX}">'
