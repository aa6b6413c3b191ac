"""The candidates for a reply: every way of writing an answer, as tokens, and the tokens that end a reply.

A reply is a candidate's tokens and then one that ends it: the end of the text or of the model's turn, or a token
after which `spelled` reads the same answer whatever follows (a line break; after a full stop, white space). So "1" does
not count where "0" follows, and different candidates are different replies, whose probabilities add up to at most 1.

The row of probabilities adds up to 1: an answer has those of all its candidates, `<unparsed>` what is left. Nothing
is normalized by length or over the list of answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trex.clevr_models.chat.spellings import SPELLINGS, spelled
from trex.clevr_models.interface.answers import ANSWERS, BOOLEANS, UNPARSED
from trex.foundation.errors import InputError, ModelError

Tokens = tuple[int, ...]
TAILS = ("", ".", ",")  # what may follow an answer's word; a comma only after "yes" and "no"
JUNK = "q"  # a letter: what a reply may go on with at worst
LONGEST = 12  # tokens of a candidate


@dataclass(frozen=True)
class Candidate:
    """One way of writing an answer; `kind` is the index of its set of ending tokens."""

    tokens: Tokens
    answer: str
    kind: int


@dataclass(frozen=True)
class Candidates:
    """All candidates, the rows of tokens that hold them, and the sets of ending tokens.

    `rows` (R, L), filled up with 0: every candidate is a row's beginning. `places` gives, for each candidate, its row.
    `ends` are the tokens of each kind's set.
    """

    every: tuple[Candidate, ...]
    rows: Tensor  # (R, L) int64
    places: tuple[int, ...]
    ends: tuple[Tensor, ...]  # int64


def make_candidates(tokenizer: Any, ends: frozenset[int]) -> Candidates:
    """The candidates of a tokenizer, whose texts end with one of `ends`; InputError if an answer has none."""
    kinds = [
        (tail, is_boolean) for tail in TAILS for is_boolean in (False, True) if tail != "," or is_boolean
    ]
    found: dict[Tokens, Candidate] = {}
    for text, answer, tail in _texts():
        kind = kinds.index((tail, answer in BOOLEANS))
        for tokens in _tokenized(tokenizer, text):
            found.setdefault(tokens, Candidate(tokens, answer, kind))
    missing = [
        answer for answer in ANSWERS if all(candidate.answer != answer for candidate in found.values())
    ]
    if missing:
        raise InputError(f"the model's tokenizer cannot write the answers {', '.join(missing)}")
    rows, places = _rows(list(found))
    texts = _token_texts(tokenizer)
    sets = tuple(_ending(texts, kind, ends) for kind in kinds)
    return Candidates(tuple(found.values()), rows, places, sets)


def _texts() -> Iterator[tuple[str, str, str]]:
    """Texts of replies, with the answer and the tail: words in lower case and capitalized, with and without a space."""
    for word, answer in SPELLINGS.items():
        for spelling in dict.fromkeys((word, word.capitalize())):
            for tail in TAILS:
                if tail != "," or answer in BOOLEANS:
                    yield f"{spelling}{tail}", answer, tail


def _tokenized(tokenizer: Any, text: str) -> set[Tokens]:
    """The text's tokens at the beginning of a reply, with and without a space before it.

    Some tokenizers put a space before any text; after a line break they do not, so the text is also cut out of that.
    """
    found = {tuple(_encoded(tokenizer, item)) for item in (text, f" {text}")}
    before, whole = _encoded(tokenizer, "\n"), _encoded(tokenizer, f"\n{text}")
    if before and whole[: len(before)] == before:
        found.add(tuple(whole[len(before) :]))
    unknown = tokenizer.unk_token_id
    return {numbers for numbers in found if 0 < len(numbers) <= LONGEST and unknown not in numbers}


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def _rows(all_tokens: Sequence[Tokens]) -> tuple[Tensor, tuple[int, ...]]:
    """The candidates that are no other's beginning, as rows, and each candidate's row."""
    kept: list[Tokens] = []
    for tokens in sorted(all_tokens, key=len, reverse=True):
        if not any(row[: len(tokens)] == tokens for row in kept):
            kept.append(tokens)
    places = [next(i for i, row in enumerate(kept) if row[: len(token)] == token) for token in all_tokens]
    width = max(map(len, kept))
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in kept]), tuple(places)


def _ending(texts: Sequence[str], kind: tuple[str, bool], ends: frozenset[int]) -> Tensor:
    """The tokens after which a reply of this kind is read as its answer, whatever follows."""
    tail, is_boolean = kind
    word = "yes" if is_boolean else "red"
    found = {i for i in ends if spelled(word + tail) == word}
    for token, text in enumerate(texts):
        if (
            token not in ends
            and text
            and not text[0].isalnum()
            and spelled(word + tail + text + JUNK) == word
        ):
            found.add(token)
    return torch.tensor(sorted(found), dtype=torch.int64)


def _token_texts(tokenizer: Any) -> list[str]:
    """What each token adds to a text in its middle."""
    base = _encoded(tokenizer, "red")
    before = tokenizer.decode(base, clean_up_tokenization_spaces=False)
    after = tokenizer.batch_decode(
        [[*base, token] for token in range(len(tokenizer))], clean_up_tokenization_spaces=False
    )
    return [text.removeprefix(before) if text.startswith(before) else "" for text in after]


LABELS = (*ANSWERS, UNPARSED)
ROUNDING = 1e-3  # by which probabilities may add up to more than 1: sums of numbers with 32 bits


def answer_row(
    candidates: Candidates, logits: Iterable[Tensor], rounding: float = ROUNDING
) -> NDArray[np.float64]:
    """Probabilities (29,) in the order of LABELS, from logits (r, L + 1, V) of the candidates' rows in their order.

    ModelError if they are not finite, or add up to more than 1 by more than `rounding`: with 16 bits, the same token
    gets slightly different probabilities in different rows.
    """
    shares = torch.exp(candidate_log_likelihoods(candidates, logits))
    found = dict.fromkeys(LABELS, 0.0)
    for candidate, share in zip(candidates.every, shares.tolist(), strict=True):
        found[candidate.answer] += share
    total = sum(found.values())
    if not total <= 1 + rounding:  # True for NaN
        why = "the model's logits are not finite" if not np.isfinite(total) else "that is more than rounding"
        raise ModelError(f"the probabilities of all replies add up to {total:g}; {why}")
    found[UNPARSED] = max(0.0, 1.0 - total)
    row = np.array([found[label] for label in LABELS])
    normalized: NDArray[np.float64] = row / row.sum()  # only rounding
    return normalized


def candidate_log_likelihoods(candidates: Candidates, logits: Iterable[Tensor]) -> Tensor:
    """The log probability of each candidate's reply (C,), its end included: natural log, 64 bits."""
    found = torch.full((len(candidates.every),), -torch.inf, dtype=torch.float64)
    begin = 0
    for part in logits:
        normal = part.double().log_softmax(dim=-1)
        for i, (candidate, place) in enumerate(zip(candidates.every, candidates.places, strict=True)):
            if begin <= place < begin + len(part):
                found[i] = _log_likelihood(
                    normal[place - begin], candidate.tokens, candidates.ends[candidate.kind]
                )
        begin += len(part)
    return found


def _log_likelihood(log_probs: Tensor, tokens: tuple[int, ...], ends: Tensor) -> Tensor:
    """Log probabilities (L + 1, V) along a row -> that of the tokens and one of the ends after them."""
    along = sum((log_probs[i, token] for i, token in enumerate(tokens)), torch.zeros((), dtype=torch.float64))
    return (along + log_probs[len(tokens)].index_select(0, ends.to(log_probs.device)).logsumexp(dim=0)).cpu()
