"""HTML of runs and hits for notebooks: small, escaped, with embedded pictures, no script and no style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from trex.foundation.percent import percent
from trex.pages.thumbnails import jpeg_url
from trex.search.hit import Hit

SHOWN = 3  # answers per hit
WIDE_PX = 240
CELL = "display:inline-block;vertical-align:top;margin:4px;max-width:260px"


def hit_html(found: Hit, words: str, origin: str, pixels: NDArray[np.uint8] | None) -> str:
    """A picture (H, W, 3 or 1) with the most probable answers, the true one, and the draw's origin."""
    answers = ", ".join(f"{escape(answer)} {escape(percent(p))}" for answer, p in found.answers[:SHOWN])
    truth = "" if found.truth is None else f"truth <b>{escape(found.truth)}</b>; "
    picture = "" if pixels is None else f"{_img(pixels, words)}<br>"
    return f'<div style="{CELL}">{picture}{truth}model: {answers}<br><small>{escape(origin)}</small></div>'


def run_html(title: str, sentences: Sequence[str], cards: Sequence[str], note: str) -> str:
    """A headline, sentences, hits (already HTML), and a note on what is not shown."""
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return (
        f"<div><p><b>{escape(title)}</b></p>{lines}{''.join(cards)}<p><small>{escape(note)}</small></p></div>"
    )


def _img(pixels: NDArray[np.uint8], words: str) -> str:
    return f'<img alt="{escape(words)}" src="{jpeg_url(pixels)}" width="{WIDE_PX}">'
