"""A tiny LLaVA that replies with one of CLEVR's words, for transformers and, as two GGUF files, for llama.cpp.

Its weights are random but for a plan in the first four dimensions of the text model: after the ":" that ends the
prompt it says the first token of an answer, which one depends on the picture and the question, and after any other
token it ends. Its pictures have 48 pixels a side, so that one of 48x32 is padded and not resized. The vision tower's
patches do not attend to each other: llama.cpp puts CLIP's class token behind the patches, so its GGUF has none.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.references import tiny_transformers as tiny
from trex.clevr_models.interface.answers import ANSWERS

HIDDEN = 64
SIDE, PATCH = 48, 8
# Renders as that of the GGUF, where a message's content is one text; jinja drops the line breaks after tags.
TEMPLATE = (
    "{% for m in messages %}USER: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
SIGNS = 4  # dimensions that are reserved for the plan
SCRIPTS = Path(__file__).parent


def tokenizer() -> Any:
    """Bytes and whole answers; "10" is two tokens."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(tiny.SPECIAL) + len(alphabet) + 200,
        special_tokens=tiny.SPECIAL,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    found.train_from_iterator([*ANSWERS, " ".join(ANSWERS)] * 50, trainer)
    backend = transformers.PreTrainedTokenizerFast(
        tokenizer_object=found, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    backend.image_token = "<image>"
    return backend


def planted_llava(folder: Path) -> Path:
    """The folder, with the model and its processor as `hf:` reads them."""
    words = tokenizer()
    vision = transformers.CLIPVisionConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=SIDE,
        patch_size=PATCH,
    )  # fmt: skip
    text = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=HIDDEN, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, head_dim=HIDDEN // 2, max_position_embeddings=1024, eos_token_id=words.eos_token_id,
        bos_token_id=words.bos_token_id,
    )  # fmt: skip
    config = transformers.LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
    )  # fmt: skip
    side = {"height": SIDE, "width": SIDE}
    pictures = transformers.LlavaImageProcessorPil(size=side, crop_size=side, do_pad=True)
    processor = transformers.LlavaProcessor(
        image_processor=pictures, tokenizer=words, patch_size=PATCH, vision_feature_select_strategy="default",
        num_additional_image_tokens=1, chat_template=TEMPLATE,
    )  # fmt: skip
    model = tiny.spread(transformers.LlavaForConditionalGeneration(config))
    _plant(model, words)
    return tiny.save(folder, model, processor)


def _plant(model: Any, words: Any) -> None:
    language = model.model.language_model
    with torch.no_grad():
        for name, values in language.named_parameters():
            if "norm" in name:
                values.fill_(1.0)
        for layer in model.model.vision_tower.encoder.layers:
            layer.self_attn.out_proj.weight.zero_()
        for layer in language.layers:
            layer.mlp.down_proj.weight.zero_()
            layer.self_attn.o_proj.weight.mul_(0.05)
            layer.self_attn.o_proj.weight[:SIGNS].zero_()
        tokens, output = language.embed_tokens.weight, model.lm_head.weight
        tokens[:, :SIGNS] = 0
        tokens[:, SIGNS - 1] = 3.0
        colon = words.encode("x:", add_special_tokens=False)[-1]
        tokens[colon] = 0
        tokens[colon, 0] = 3.0
        output.zero_()
        random = torch.Generator().manual_seed(5)
        for first in dict.fromkeys(words.encode(answer, add_special_tokens=False)[0] for answer in ANSWERS):
            output[first, 0] = 3.0
            output[first, SIGNS:] = torch.randn(HIDDEN - SIGNS, generator=random) * 1.2
        output[words.eos_token_id, SIGNS - 1] = 12.0  # after any token but ":"


def gguf_files(python: str, folder: Path, out: Path) -> tuple[Path, Path]:
    """The model of a folder as `text.gguf` and `mmproj.gguf`, written by a Python that has the package gguf."""
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, str(SCRIPTS / "llava_to_gguf.py"), str(folder), str(out)], check=True)
    return out / "text.gguf", out / "mmproj.gguf"
