"""`hf:NAME` as a CLEVR model: the folder, the class that fits, and what identifies it all."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch

from trex.clevr_models.chat.prompted_model import QUESTION, PromptedModel, checked_prompt
from trex.clevr_models.huggingface.answerers import LabelAnswerer, TextAnswerer, label_answers
from trex.clevr_models.huggingface.candidates import make_candidates
from trex.clevr_models.huggingface.folder import (
    ModelFolder,
    import_library,
    load_processor,
    loading,
    open_folder,
)
from trex.clevr_models.huggingface.forward import Replies
from trex.clevr_models.huggingface.prompt import has_chat_template
from trex.clevr_models.interface.options import HF, ModelOptions
from trex.foundation.errors import InputError

METHOD = 1  # changes whenever the way from a model to probabilities does
TEXT, LABELS = "AutoModelForImageTextToText", "AutoModelForVisualQuestionAnswering"
LABELED = ("vilt",)  # the other VQA classes write their answers, and are no classifiers
FONTS, FONT = "ybelkada/fonts", "Arial.TTF"  # of transformers' Pix2Struct
REMOTE = (TEXT, LABELS, "AutoModelForCausalLM")  # the classes that code of a model's own may stand for


def load_hf(spec: str, options: ModelOptions | None = None) -> PromptedModel:
    """The model of `hf:NAME`; InputError if it is missing, unsafe, or of no kind that answers about pictures.

    It runs on CUDA if that is available, with the numbers that its weights are stored in; otherwise on the processor
    with 32 bits.
    """
    given = options or ModelOptions()
    import_library()
    folder = open_folder(spec.removeprefix(HF), trusts_code=given.trust_remote_code)
    auto = _auto_class(folder)
    with loading(f"model {spec!r}"):
        model = _load_model(folder, auto, given.trust_remote_code)
        processor = load_processor(folder, trusts_code=given.trust_remote_code)
        answerer = _answerer(model, processor, auto, given.prompt)
    return PromptedModel(spec, answerer, _identity(folder, model, processor, answerer), is_hashed=True)


def _auto_class(folder: ModelFolder) -> str:
    """The class of transformers that loads the model, or InputError if none of ours does."""
    code = folder.config.get("auto_map")
    if isinstance(code, dict):  # open_folder has refused it unless it is trusted
        found = next((name for name in REMOTE if name in code), None)
        if found is None:
            raise InputError(f"the code of {folder.path} gives none of {', '.join(REMOTE)}")
        return found
    lists = import_library("transformers.models.auto.modeling_auto")
    if (
        folder.model_type in LABELED
        and folder.model_type in lists.MODEL_FOR_VISUAL_QUESTION_ANSWERING_MAPPING_NAMES
    ):
        return LABELS
    if folder.model_type in lists.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        named = folder.config.get("architectures")
        if isinstance(named, list) and any("QuestionAnswering" in str(name) for name in named):
            raise InputError(f"{', '.join(map(str, named))} is not supported; {_supported()}")
        return TEXT
    raise InputError(
        f"config.json of {folder.path} has model_type {folder.model_type!r}, which is not supported; {_supported()}"
    )


def _supported() -> str:
    return "a model must be one of transformers' image-text-to-text models, or ViltForQuestionAnswering"


def _load_model(folder: ModelFolder, auto: str, trusts_code: bool) -> Any:
    has_cuda = torch.cuda.is_available()
    model, read = getattr(import_library(), auto).from_pretrained(
        str(folder.path),
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=trusts_code,
        dtype="auto" if has_cuda else torch.float32,
        output_loading_info=True,
    )
    missing = sorted(read["missing_keys"])
    if missing:  # they would be random
        raise InputError(
            f"the weights in {folder.path} lack {len(missing)} of the model's tensors, such as {missing[0]}; is this "
            "another kind of model, or one that was never trained on questions?"
        )
    return model.eval().requires_grad_(False).to("cuda" if has_cuda else "cpu")


def _answerer(model: Any, processor: Any, auto: str, prompt: str) -> LabelAnswerer | TextAnswerer:
    if auto == LABELS:
        names = {int(number): str(name) for number, name in model.config.id2label.items()}
        return LabelAnswerer(model, processor, checked_prompt(prompt or QUESTION), label_answers(names))
    _check_reads_questions(processor)
    ends = _ends(model, processor.tokenizer)
    candidates = make_candidates(processor.tokenizer, ends)
    return TextAnswerer(Replies(model, _start(model)), processor, candidates, checked_prompt(prompt), ends)


def _check_reads_questions(processor: Any) -> None:
    """InputError if Pix2Struct's processor cannot draw the question into the picture, as it does for questions."""
    draws = getattr(getattr(processor, "image_processor", None), "is_vqa", None)
    if draws is None:
        return
    if not draws:
        raise InputError(
            "the model describes pictures (is_vqa is false in its preprocessor_config.json): a question would begin "
            "its reply; use one that was trained on questions"
        )
    hub = import_library("huggingface_hub")
    try:
        hub.hf_hub_download(FONTS, FONT, local_files_only=True)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the model draws the question into the picture, with the font {FONT}, which is not in the cache of "
            f"Hugging Face; run hf download {FONTS} {FONT}"
        ) from error


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end a text or a turn; InputError if there are none."""
    named = (
        getattr(model.generation_config, "eos_token_id", None),
        getattr(model.config.get_text_config(), "eos_token_id", None),
        tokenizer.eos_token_id,
    )
    found = frozenset(
        i for item in named if item is not None for i in (item if isinstance(item, list) else [item])
    )
    if not found:
        raise InputError("the model names no token that ends a reply (eos_token_id); it cannot be scored")
    return found


def _start(model: Any) -> int | None:
    """The decoder's first token for an encoder and decoder, None for a model that continues its prompt."""
    if not model.config.is_encoder_decoder:
        return None
    named = (
        getattr(model.generation_config, "decoder_start_token_id", None),
        getattr(model.config.get_text_config(), "decoder_start_token_id", None),
        getattr(model.config, "decoder_start_token_id", None),
    )
    found = next((number for number in named if isinstance(number, int)), None)
    if found is None:
        raise InputError("the model names no decoder_start_token_id; it cannot be scored")
    return found


def _identity(folder: ModelFolder, model: Any, processor: Any, answerer: LabelAnswerer | TextAnswerer) -> str:
    """Kind, sha256 of the folder, hash of the prompt, number type, and version of transformers.

    The kind of processor (cuda, cpu) is left out: probabilities differ by rounding, which the probes bound.
    """
    kind = "labels" if isinstance(answerer, LabelAnswerer) else "replies"
    style = "chat template" if kind == "replies" and has_chat_template(processor) else "plain prompt"
    text = hashlib.sha256(json.dumps([METHOD, kind, style, answerer.template]).encode()).hexdigest()[:16]
    number = str(model.dtype).removeprefix("torch.")
    version = import_library().__version__
    return f"{folder.sha256()} {kind}, {style} {text} {number} transformers {version}"
