"""Whether a server's samples differ with the seed, as they must if shares of them are to mean anything.

Some servers never sample (`transformers serve`), or from a distribution that their own settings cut to the likeliest
tokens (llama.cpp, vLLM with a model's `generation_config`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.chat.answerer import ChatAnswerer
from trex.clevr_models.chat.errors import NoLogProbsError, RequestLimitError, SameSamplesError
from trex.clevr_models.chat.spellings import spelled
from trex.clevr_models.chat.token_mass import LABELS, UNPARSED, UNSEEN
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import ModelError

CHANCE = 1e-3  # of equal samples, below which the server is taken not to sample
LEAST = 8  # samples of random words that are compared at most
FEWEST = 4  # samples for each picture, from which shares are relied on
# Any model varies here.
OPEN = "Write a few random words. They need not have anything to do with the picture."
WITHOUT_CUT = "[model] extra = { top_k = 0, min_p = 0 } for llama.cpp, { top_k = -1, min_p = 0 } for vLLM"
ELSEWHERE = "serve the model with vLLM or llama.cpp, or load it with hf:"


def check_samples(answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question) -> None:
    """SameSamplesError if all samples of each picture are equal, although the model is not that sure."""
    replies = answerer.replies(pictures, question, is_counted=False)
    n = answerer.samples
    if n < 2 or any(len({said.text for said in row}) > 1 for row in replies):
        return
    shares = _most_likely(answerer, pictures, question, [row[0].text for row in replies])
    if shares is None:
        if n >= FEWEST and not varies(answerer, pictures, question):
            raise SameSamplesError(
                f"{answerer.sender.url} gives the same reply whatever the seed, even when asked for random words: it "
                f"does not sample, so shares of samples mean nothing; {ELSEWHERE}"
            )
    elif n * math.fsum(map(math.log, shares)) < math.log(CHANCE):
        raise SameSamplesError(
            f"{answerer.sender.url} gives the same reply to all {n} seeds, although the model gives it a probability "
            f"of {min(shares):.2f} at most: it samples from a part of the distribution, or not at all. Set samples = "
            f"0, as it gives log probabilities, or let it sample from all of it: {WITHOUT_CUT}"
        )


def advised(
    error: NoLogProbsError, answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question
) -> NoLogProbsError:
    """The error with the advice to set samples, if that works: if the server's replies differ with the seed."""
    try:
        if varies(answerer, pictures, question):
            return error
    except ModelError:
        return error
    why = str(error).rpartition("; ")[0]
    return NoLogProbsError(
        f"{why}, and the same reply whatever the seed, so [model] samples cannot replace them; {ELSEWHERE}"
    )


def varies(answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question) -> bool:
    """Whether two seeds give different replies where any model varies."""
    for samples in (2, LEAST):
        replies = answerer.beside(samples, OPEN).replies(pictures, question)
        if any(len({said.text for said in row}) > 1 for row in replies):
            return True
    return False


def _most_likely(
    answerer: ChatAnswerer, pictures: NDArray[np.float32], question: Question, texts: list[str]
) -> list[float] | None:
    """The largest probability that each picture's reply can have by its log probabilities; None without those."""
    try:
        rows = answerer.beside(0)(pictures, question)
    except RequestLimitError:
        raise
    except ModelError:
        return None
    found = []
    for row, text in zip(rows, texts, strict=True):
        answer = spelled(text)
        may_be = {answer or UNPARSED, UNPARSED, UNSEEN}
        found.append(min(1.0, math.fsum(row[LABELS.index(label)] for label in may_be)))
    return found
