"""Probabilities of replies: as one candidate at a time gives them, and as a planted chain of tokens has them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from tests.references import tiny_transformers as tiny
from trex.clevr_models.catalog import load_model
from trex.clevr_models.chat.spellings import spelled
from trex.clevr_models.huggingface.answerers import TextAnswerer
from trex.clevr_models.huggingface.candidates import (
    LABELS,
    Candidate,
    Candidates,
    answer_row,
    candidate_log_likelihoods,
    make_candidates,
)
from trex.clevr_models.huggingface.forward import Replies
from trex.clevr_models.huggingface.prompt import Inputs
from trex.clevr_models.interface.answers import ANSWERS, UNPARSED
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import ModelError
from trex.scenes.questions.programs import Step

REDS = Question("How many red things are there?", (Step("scene"), Step("count", (0,))))
Folders = Callable[[str], Path]
Pictures = NDArray[np.float32]
GENERATIVE = ("llava", "without template", "qwen", "git", "blip-2 with t5", "paligemma", "florence-2")
EXACT = 1e-4  # the stated error: sums of numbers with 32 bits


def text_answerer(folder: Path) -> TextAnswerer:
    model = load_model(f"hf:{folder}")
    answerer = model.bind(REDS).answerer  # type: ignore[attr-defined]
    assert isinstance(answerer, TextAnswerer)
    return answerer


def one_at_a_time(answerer: TextAnswerer, inputs: Inputs, candidate: Candidate) -> float:
    """The log probability of one reply, from one forward pass over prompt and reply: no cache, no batch, no padding."""
    tokens = torch.tensor([candidate.tokens])
    given = dict(inputs)
    if name_of(answerer) == "PaliGemmaForConditionalGeneration":
        return _summed(answerer, candidate, _step_by_step(answerer, inputs, tokens))
    if answerer.replies.start is not None:
        given["decoder_input_ids"] = torch.cat([torch.tensor([[answerer.replies.start]]), tokens], dim=1)
    else:
        given["input_ids"] = torch.cat([inputs["input_ids"], tokens], dim=1)
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        for kinds in {"mm_token_type_ids", "token_type_ids"} & given.keys():
            given[kinds] = torch.cat([given[kinds], torch.zeros_like(tokens)], dim=1)
    with torch.inference_mode():
        logits = answerer.replies.model(**given).logits[0, -(len(candidate.tokens) + 1) :].double()
    return _summed(answerer, candidate, logits)


def name_of(answerer: TextAnswerer) -> str:
    return type(answerer.replies.model).__name__


def _step_by_step(answerer: TextAnswerer, inputs: Inputs, tokens: Tensor) -> Tensor:
    """Logits (L + 1, V) as `generate` gets them: each token is written before the next is read."""
    with torch.inference_mode():
        read = answerer.replies.model(**inputs, use_cache=True)
        found = [read.logits[0, -1]]
        for token in tokens[0]:
            read = answerer.replies.model(
                input_ids=token.reshape(1, 1), past_key_values=read.past_key_values, use_cache=True
            )
            found.append(read.logits[0, -1])
    return torch.stack(found).double()


def _summed(answerer: TextAnswerer, candidate: Candidate, logits: Tensor) -> float:
    along = [float(logits[i].log_softmax(dim=0)[token]) for i, token in enumerate(candidate.tokens)]
    after = logits[-1].softmax(dim=0)
    return math.fsum(along) + math.log(
        sum(float(after[end]) for end in answerer.candidates.ends[candidate.kind])
    )


@pytest.mark.parametrize("name", GENERATIVE)
def test_every_candidate_has_the_likelihood_that_it_has_alone(
    name: str, saved: Folders, pictures: Pictures
) -> None:
    answerer = text_answerer(saved(name))
    inputs = answerer.inputs(pictures[0], REDS)
    with torch.inference_mode():
        logits = list(
            answerer.replies.logits(inputs, answerer.candidates.rows, uses_cache=bool(answerer.uses_cache))
        )
        found = candidate_log_likelihoods(answerer.candidates, logits)
    chosen = range(0, len(found), 9)
    alone = [one_at_a_time(answerer, inputs, answerer.candidates.every[i]) for i in chosen]
    np.testing.assert_allclose(found[list(chosen)], alone, atol=EXACT)
    row = answerer(pictures[:1], REDS)[0]
    assert row.sum() == pytest.approx(1.0) and row[-1] == pytest.approx(1 - float(found.exp().sum()))
    sums = dict.fromkeys(ANSWERS, 0.0)
    for candidate, share in zip(answerer.candidates.every, found.exp().tolist(), strict=True):
        sums[candidate.answer] += share
    np.testing.assert_allclose(row[:-1], list(sums.values()), rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in GENERATIVE if name != "paligemma"])
def test_the_cache_of_the_prompt_changes_nothing(name: str, saved: Folders, pictures: Pictures) -> None:
    answerer = text_answerer(saved(name))
    # GIT's cache cannot be continued with several tokens; an encoder and decoder has no prompt to keep.
    assert answerer.uses_cache is (name not in ("git", "blip-2 with t5", "florence-2"))
    found = answerer(pictures, REDS)
    answerer.uses_cache = False
    np.testing.assert_allclose(np.log(found), np.log(answerer(pictures, REDS)), atol=EXACT)


class Liar(Replies):
    """A model whose cache is wrong, as where positions are counted anew after it."""

    def _cached(self, inputs: Inputs, rows: Tensor) -> Iterator[Tensor]:
        for part in super()._cached(inputs, rows):
            yield part.roll(1, dims=-1)


class Refuser(Replies):
    def _cached(self, inputs: Inputs, rows: Tensor) -> Iterator[Tensor]:
        raise NotImplementedError("this cache cannot be repeated")


@pytest.mark.parametrize("kind", [Liar, Refuser])
def test_a_cache_that_does_not_give_the_plain_computation_is_not_used(
    kind: type[Replies], saved: Folders, pictures: Pictures
) -> None:
    right = text_answerer(saved("llava"))
    wrong = replaced(right, kind(right.replies.model, None))
    np.testing.assert_allclose(wrong(pictures[:1], REDS), right(pictures[:1], REDS), atol=EXACT)
    assert wrong.uses_cache is False
    wrong.uses_cache = True
    if kind is Liar:  # the planted bug would show
        shift = np.log(wrong(pictures[:1], REDS)) - np.log(right(pictures[:1], REDS))
        assert np.abs(shift).max() > 1


def test_a_model_that_reads_its_first_input_in_both_directions_is_scored_by_its_cache_alone(
    saved: Folders, pictures: Pictures
) -> None:
    answerer = text_answerer(saved("paligemma"))
    assert answerer.uses_cache is True
    found = answerer(pictures[:1], REDS)
    answerer.uses_cache = False  # the planted bug: tokens of a reply see later ones
    assert np.abs(np.log(found) - np.log(answerer(pictures[:1], REDS))).max() > 0.1

    class Both(Refuser):
        """No cache, either."""

    broken = replaced(answerer, Both(answerer.replies.model, None))
    with pytest.raises(ModelError, match="see later ones"):
        broken(pictures[:1], REDS)


def replaced(answerer: TextAnswerer, replies: Replies) -> TextAnswerer:
    """The answerer with another way to its model."""
    return TextAnswerer(replies, answerer.processor, answerer.candidates, answerer.template, answerer.ends)


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATIVE)
def test_answers_depend_on_the_picture_and_the_question_and_on_no_other_picture(
    name: str, saved: Folders, pictures: Pictures
) -> None:
    bound = load_model(f"hf:{saved(name)}").bind(REDS)
    rows = bound.log_probs(pictures)
    assert bound.labels == LABELS and rows.shape == (3, 29)
    np.testing.assert_array_equal(
        rows[1:2], bound.log_probs(pictures[1:2])
    )  # bit for bit, whatever the batch
    np.testing.assert_array_equal(rows, load_model(f"hf:{saved(name)}").bind(REDS).log_probs(pictures))
    assert np.abs(rows[0] - rows[1]).max() > 1e-3
    others = load_model(f"hf:{saved(name)}").bind(replace(REDS, text="Is there a cube?")).log_probs(pictures)
    assert np.abs(rows - others).max() > 1e-3


# Replies of a planted chain: some are answers in several spellings, some begin like an answer and are none.
PLANTED = {
    "1": 0.2, "10": 0.25, " 2": 0.1, "two": 0.1, "red": 0.05, " Red.": 0.1, "yes, there": 0.05, "1st": 0.05,
    "red\nand": 0.02, "?": 0.08,
}  # fmt: skip


def planted_chain(tokenizer: Any, start: int) -> dict[int, dict[int, float]]:
    """P(next token | token): the transitions in the planted replies, each as often as its reply is said."""
    counts: dict[int, Counter[int]] = {}
    for text, share in PLANTED.items():
        path = [start, *tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        for token, after in pairwise(path):
            counts.setdefault(token, Counter())[after] += share  # type: ignore[assignment]
    return {
        token: {after: n / sum(found.values()) for after, n in found.items()}
        for token, found in counts.items()
    }


def said(chain: Mapping[int, Mapping[int, float]], tokenizer: Any, start: int) -> dict[str, float]:
    """The planted truth: every reply of the chain is written out, and read by `spelled` as one from a server is."""
    found = dict.fromkeys(LABELS, 0.0)
    open_paths = [((), start, 1.0)]
    while open_paths:
        path, token, share = open_paths.pop()
        for after, chance in chain[token].items():
            if after == tokenizer.eos_token_id:
                text = tokenizer.decode(path, clean_up_tokenization_spaces=False)
                found[spelled(text) or UNPARSED] += share * chance
            elif share * chance > 1e-10:
                open_paths.append(((*path, after), after, share * chance))  # type: ignore[arg-type]
    found[UNPARSED] += 1 - sum(found.values())
    return found


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[TextAnswerer, dict[str, float]]:
    """LLaVA whose next token depends on the last one alone, in a way that is known, and its true answers."""
    size = 4 * math.ceil(len(tiny.byte_tokenizer()) / 4)
    model, processor = tiny.llava(hidden=size)
    tokenizer = processor.tokenizer
    start = tokenizer.encode("ASSISTANT:", add_special_tokens=False)[-1]
    chain = planted_chain(tokenizer, start)
    words = model.config.text_config.vocab_size
    logits = torch.full((words, size), -40.0)  # (next, last), natural log
    for token, found in chain.items():
        for after, chance in found.items():
            logits[after, token] = math.log(chance)
    language = model.model.language_model
    with torch.no_grad():
        for layer in language.layers:  # the stream of each token carries that token alone
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        language.embed_tokens.weight.copy_(1000 * torch.eye(words, size))
        language.norm.weight.fill_(1 / math.sqrt(size))  # the last norm gives one-hot vectors
        model.lm_head.weight.copy_(logits)
    folder = tiny.save(tmp_path_factory.mktemp("planted"), model, processor)
    return text_answerer(folder), said(chain, tokenizer, start)


def agree(found: Mapping[str, float], truth: Mapping[str, float]) -> bool:
    return all(abs(found[answer] - truth[answer]) < EXACT for answer in LABELS)


def named(row: NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(LABELS, row.tolist(), strict=True))


def test_a_planted_answerer_is_recovered(
    planted: tuple[TextAnswerer, dict[str, float]], pictures: Pictures
) -> None:
    answerer, truth = planted
    assert truth["10"] > 0.1 and truth["1"] > 0.1 and truth["2"] > 0.05 and truth[UNPARSED] > 0.05
    assert agree(named(answerer(pictures[:1], REDS)[0]), truth)


def scored(planted: tuple[TextAnswerer, dict[str, float]], pictures: Pictures) -> tuple[Candidates, Tensor]:
    """The candidates and their logits."""
    answerer = planted[0]
    inputs = answerer.inputs(pictures[0], REDS)
    with torch.inference_mode():
        found = list(answerer.replies.logits(inputs, answerer.candidates.rows, uses_cache=True))
    return answerer.candidates, torch.cat(found)


def test_planted_bugs_are_caught(planted: tuple[TextAnswerer, dict[str, float]], pictures: Pictures) -> None:
    truth = planted[1]
    candidates, logits = scored(planted, pictures)
    assert agree(named(answer_row(candidates, [logits])), truth)
    likelihoods = candidate_log_likelihoods(candidates, [logits])
    tokenizer = planted[0].processor.tokenizer

    def summed(weights: Tensor) -> dict[str, float]:
        found = dict.fromkeys(LABELS, 0.0)
        for candidate, weight in zip(candidates.every, weights.tolist(), strict=True):
            found[candidate.answer] += weight
        return found

    def with_rest(found: dict[str, float]) -> dict[str, float]:
        return found | {UNPARSED: 1 - sum(found.values())}

    assert agree(with_rest(summed(likelihoods.exp())), truth)
    # Only answers whose tokens carry a leading space count.
    spaced = [tokenizer.decode(candidate.tokens).startswith(" ") for candidate in candidates.every]
    assert not agree(with_rest(summed(likelihoods.exp() * torch.tensor(spaced))), truth)
    # Normalized over the list of answers: what is no answer is shared out.
    assert not agree(summed(likelihoods.softmax(dim=0)), truth)
    # Normalized by length.
    lengths = torch.tensor([len(candidate.tokens) + 1 for candidate in candidates.every])
    assert not agree(summed((likelihoods / lengths).softmax(dim=0)), truth)
    # A prefix counts without an end: "1" gets what "10" is owed.
    everything = torch.arange(logits.shape[-1])
    endless = replace(candidates, ends=(everything,) * len(candidates.ends))
    loose = candidate_log_likelihoods(endless, [logits]).exp()
    assert (
        loose[[candidate.tokens for candidate in candidates.every].index(tuple(tokenizer.encode("1")))]
        > truth["1"] + 0.2
    )
    assert not agree(with_rest(summed(loose)), truth)


def test_a_model_with_broken_weights_is_an_error(
    planted: tuple[TextAnswerer, dict[str, float]], pictures: Pictures
) -> None:
    candidates, logits = scored(planted, pictures)
    with pytest.raises(ModelError, match="not finite"):
        answer_row(candidates, [logits * math.nan])


def sentence_tokenizer() -> Any:
    """As Llama's: a space before every text, "▁red" and "red" are two tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for answer in ANSWERS for word in (answer, f"▁{answer}")})
    letters = sorted(set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,\n▁"))
    pieces = [("<unk>", 0.0), ("</s>", 0.0), *((word, -2.0) for word in words)]
    pieces += [(letter, -9.0) for letter in letters if letter not in words]
    found = Tokenizer(models.Unigram(pieces, unk_id=0))
    found.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    found.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
    return PreTrainedTokenizerFast(tokenizer_object=found, eos_token="</s>", unk_token="<unk>")


@pytest.mark.parametrize(
    "make", [tiny.byte_tokenizer, tiny.word_tokenizer, sentence_tokenizer], ids=["bytes", "words", "sentence"]
)
def test_candidates_are_different_replies_and_write_every_answer(make: Callable[[], Any]) -> None:
    tokenizer = make()
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    candidates = make_candidates(tokenizer, frozenset({end}))
    kinds = {item.tokens: item.kind for item in candidates.every}
    ends = [set(tokens.tolist()) for tokens in candidates.ends]
    assert len(kinds) == len(candidates.every) and {item.answer for item in candidates.every} == set(ANSWERS)
    for tokens in kinds:  # none ends where another goes on: their probabilities add up to at most 1
        for cut in range(1, len(tokens)):
            assert tokens[:cut] not in kinds or tokens[cut] not in ends[kinds[tokens[:cut]]]
    for candidate, place in zip(candidates.every, candidates.places, strict=True):
        assert tuple(candidates.rows[place, : len(candidate.tokens)].tolist()) == candidate.tokens
        text = (
            tokenizer.decode(candidate.tokens, clean_up_tokenization_spaces=False)
            .replace(" .", ".")
            .replace(" ,", ", ")
        )
        assert spelled(text if not text.endswith(",") else f"{text} ") == candidate.answer
    assert all(end in ends[item.kind] for item in candidates.every if item.answer == "red")


def test_tokenizers_that_put_a_space_before_any_text_still_begin_replies_without_one() -> None:
    tokenizer = sentence_tokenizer()
    bare, spaced = (tokenizer.convert_tokens_to_ids(word) for word in ("red", "▁red"))
    assert tokenizer.encode("red") == [spaced]  # so the bare token is in no text by itself
    found = {
        candidate.tokens
        for candidate in make_candidates(tokenizer, frozenset({1})).every
        if candidate.answer == "red"
    }
    assert {(bare,), (spaced,)} <= found


def test_a_space_after_an_answer_does_not_end_it_but_one_after_a_full_stop_does() -> None:
    tokenizer = tiny.byte_tokenizer()
    candidates = make_candidates(tokenizer, frozenset({tokenizer.eos_token_id}))
    ends = {
        text: {tokenizer.decode([t]) for t in candidates.ends[candidate.kind].tolist()}
        for candidate in candidates.every
        if (text := tokenizer.decode(candidate.tokens)) in ("red", "red.", "yes,", "1")
    }
    assert ends["red"] == ends["1"] == {"</s>", "\n"}
    assert {"</s>", " ", "\n", " th"} <= ends["red."] and "5" not in ends["red."]
    assert " " in ends["yes,"] and "</s>" not in ends["yes,"]
