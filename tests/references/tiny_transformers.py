"""Tiny models of real architectures of transformers, saved to a folder as released models are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")

import huggingface_hub as huggingface_hub
import transformers as transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEXT = "How many red things are there? Answer with exactly one of these words: sphere, cylinder, yes, no."
TEMPLATE = """{% for m in messages %}USER: {% for c in m['content'] %}
{%- if c['type'] == 'image' %}IMAGE{% else %}{{ c['text'] }}{% endif %}{% endfor %}
{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"""
SPECIAL = ["<pad>", "<s>", "</s>", "<image>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>"]
SIDE = 16  # pixels of the pictures that LLaVA sees


def byte_tokenizer(merged: int = 40, **options: object) -> Any:
    """Bytes, some pairs of them and single digits, as in GPT-2's family; "10" is two tokens."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    size = len(SPECIAL) + len(alphabet) + merged
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet)
    found.train_from_iterator([TEXT] * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=found, pad_token="<pad>", bos_token="<s>", eos_token="</s>", **options
    )


def word_tokenizer() -> Any:
    """Whole words and pieces of words in lower case, as in BERT's family; "10" is one token, "1" another."""
    words = [
        "how",
        "many",
        "red",
        "things",
        "are",
        "there",
        "answer",
        "cube",
        "yes",
        "no",
        "?",
        ".",
        ":",
        ",",
    ]
    letters = [chr(ord("a") + i) for i in range(26)] + [str(n) for n in range(10)]
    pieces = [*words, *letters, *(f"##{letter}" for letter in letters), "10", "gray"]
    vocabulary = {
        word: i
        for i, word in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]))
    }
    return transformers.BertTokenizer(vocab=vocabulary)


def save(folder: Path, model: Any, processor: Any) -> Path:
    """The folder with model and processor, as `hf:` reads it."""
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _llama(tokenizer: Any, hidden: int) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 1024,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": tokenizer.bos_token_id,
    }


def llava(hidden: int = 32, *, template: str | None = TEMPLATE) -> tuple[Any, Any]:
    """LLaVA: a CLIP tower whose patches go into a Llama, with a conversation template or without one."""
    tokenizer = byte_tokenizer()
    tokenizer.image_token = "<image>"
    vision = transformers.CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=8,
    )
    config = transformers.LlavaConfig(
        vision_config=vision,
        text_config=transformers.LlamaConfig(**_llama(tokenizer, hidden)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    side = {"height": SIDE, "width": SIDE}
    processor = transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessorPil(size=side, crop_size=side),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template and template.replace("IMAGE", "<image>"),
    )
    return spread(transformers.LlavaForConditionalGeneration(config)), processor


def spread(model: Any, seed: int = 3) -> Any:
    """The model with larger random weights, so that its answers differ from picture to picture."""
    torch.manual_seed(seed)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.3) if weights.dim() > 1 else None
    return model


def qwen(hidden: int = 32) -> tuple[Any, Any]:
    """Qwen2-VL: pictures of any size, positions in three dimensions, and a processor that also reads videos."""
    from trex.clevr_models.huggingface.folder import without_videos

    tokenizer = byte_tokenizer()
    names = ("image_pad", "video_pad", "vision_start", "vision_end")
    tokenizer.add_special_tokens({"additional_special_tokens": [f"<|{name}|>" for name in names]})
    ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in names}
    text = _llama(tokenizer, hidden) | {
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    }
    config = transformers.Qwen2VLConfig(
        text_config=text,
        vision_config={
            "depth": 2, "embed_dim": 16, "hidden_size": hidden, "num_heads": 2, "patch_size": 4, "mlp_ratio": 2
        },
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"],
        vision_end_token_id=ids["vision_end"],
    )  # fmt: skip
    pictures = transformers.Qwen2VLImageProcessorPil(
        min_pixels=16, max_pixels=1024, patch_size=4, merge_size=2, temporal_patch_size=2
    )
    template = TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
    processor = without_videos(transformers.Qwen2VLProcessor)(
        pictures, tokenizer, None, chat_template=template
    )
    return spread(transformers.Qwen2VLForConditionalGeneration(config)), processor


def git() -> tuple[Any, Any]:
    """GIT: a BERT-like decoder that sees the picture's patches first; no template, and no text for the picture."""
    tokenizer = word_tokenizer()
    config = transformers.GitConfig(
        vision_config={
            "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "image_size": SIDE, "patch_size": 8,
        },
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=256, bos_token_id=tokenizer.cls_token_id, eos_token_id=tokenizer.sep_token_id,
    )  # fmt: skip
    side = {"height": SIDE, "width": SIDE}
    processor = transformers.GitProcessor(
        transformers.CLIPImageProcessorPil(size=side, crop_size=side), tokenizer
    )
    return spread(transformers.GitForCausalLM(config)), processor


def blip2_t5() -> tuple[Any, Any]:
    """BLIP-2 with a T5: an encoder that reads picture and prompt, and a decoder that replies."""
    tokenizer = byte_tokenizer()
    side = {"height": SIDE, "width": SIDE}
    text = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, is_encoder_decoder=True,
        decoder_start_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=0,
    )  # fmt: skip
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.Blip2Config(
        vision_config=small | {"image_size": SIDE, "patch_size": 8},
        qformer_config=small | {"encoder_hidden_size": 16, "vocab_size": 10},
        text_config=text.to_dict(),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = transformers.Blip2Processor(
        transformers.BlipImageProcessorPil(size=side), tokenizer, num_query_tokens=4
    )
    return spread(transformers.Blip2ForConditionalGeneration(config)), processor


def paligemma() -> tuple[Any, Any]:
    """PaliGemma: reads picture and prompt in both directions, and replies token by token."""
    tokenizer = byte_tokenizer()
    tokenizer.image_token = "<image>"
    tokenizer.image_token_id = tokenizer.convert_tokens_to_ids("<image>")
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.PaliGemmaConfig(
        text_config=_llama(tokenizer, 32) | {"model_type": "gemma", "head_dim": 16},
        vision_config=small | {"model_type": "siglip_vision_model", "image_size": SIDE, "patch_size": 8},
        image_token_index=tokenizer.image_token_id,
        projection_dim=32,
    )
    pictures = transformers.SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    pictures.image_seq_length = 4
    model = spread(transformers.PaliGemmaForConditionalGeneration(config))
    return model, transformers.PaliGemmaProcessor(pictures, tokenizer)


def florence2() -> tuple[Any, Any]:
    """Florence-2: an encoder and decoder whose processor writes the picture's mark into the text by itself."""
    tokenizer = byte_tokenizer(extra_special_tokens={"image_token": "<image>"})
    stages = {
        "patch_size": [7, 3],
        "patch_stride": [4, 2],
        "patch_padding": [3, 1],
        "patch_prenorm": [False, True],
    }
    vision = stages | {
        "depths": [1, 1], "embed_dim": [16, 32], "num_heads": [2, 2], "num_groups": [2, 2], "window_size": 2,
        "projection_dim": 32,
    }  # fmt: skip
    text = {
        "model_type": "bart", "vocab_size": len(tokenizer), "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "max_position_embeddings": 256, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id, "decoder_start_token_id": tokenizer.eos_token_id,
    }  # fmt: skip
    config = transformers.Florence2Config(
        text_config=text, vision_config=vision, image_token_id=tokenizer.image_token_id
    )
    side = {"height": 32, "width": 32}
    pictures = transformers.CLIPImageProcessorPil(size=side, crop_size=side)
    pictures.image_seq_length = 17  # 4 x 4 patches and their mean
    model = spread(transformers.Florence2ForConditionalGeneration(config))
    return model, transformers.Florence2Processor(pictures, tokenizer)


def pix2struct(*, is_vqa: bool) -> tuple[Any, Any]:
    """Pix2Struct: the question is drawn into the picture, or begins the reply."""
    tokenizer = byte_tokenizer()
    small = {"hidden_size": 16, "d_kv": 8, "d_ff": 16}
    config = transformers.Pix2StructConfig(
        text_config=small
        | {
            "vocab_size": len(tokenizer), "num_layers": 1, "num_heads": 2, "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": 0, "decoder_start_token_id": 0,
        },
        vision_config=small | {"patch_embed_hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
        is_vqa=is_vqa,
    )  # fmt: skip
    pictures = transformers.Pix2StructImageProcessorPil(is_vqa=is_vqa, max_patches=16)
    model = spread(transformers.Pix2StructForConditionalGeneration(config))
    return model, transformers.Pix2StructProcessor(pictures, tokenizer)


def vilt(labels: tuple[str, ...], **options: object) -> tuple[Any, Any]:
    """ViLT: one transformer over words and patches, and a score for each label."""
    config = transformers.ViltConfig(
        vocab_size=len(word_tokenizer()), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, image_size=64, patch_size=16, max_position_embeddings=40,
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)}, **options,
    )  # fmt: skip
    pictures = transformers.ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=16)
    return spread(transformers.ViltForQuestionAnswering(config)), transformers.ViltProcessor(
        pictures, word_tokenizer()
    )
