"""Writes a tiny LLaVA of transformers as GGUF for llama.cpp: `python llava_to_gguf.py FOLDER OUT`.

Runs in a Python of its own, which has numpy and gguf and need not have this project. Names and keys are those of
llama.cpp's own converters (https://github.com/ggml-org/llama.cpp, convert_hf_to_gguf.py and tools/mtmd).
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import gguf  # type: ignore[import-not-found]
import numpy as np

MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
TEMPLATE = (
    "{% for m in messages %}USER: {{ m['content'] }}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
TEXT_PARTS = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
VISION_PARTS = {
    "ln1": "layer_norm1", "ln2": "layer_norm2", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_out": "self_attn.out_proj", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2",
}  # fmt: skip


class Tensors(dict[str, "np.ndarray[Any, np.dtype[np.float32]]"]):
    """The tensors of a safetensors file."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8 : 8 + length]).items():
            if name != "__metadata__":
                begin, end = (8 + length + offset for offset in entry["data_offsets"])
                self[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])

    def named(self, ending: str) -> Any:
        (name,) = (text for text in self if text.endswith(ending))
        return self[name]

    def before(self, ending: str) -> str:
        (name,) = (text for text in self if text.endswith(ending))
        return name.removesuffix(ending)


def rotated(weights: Any, heads: int) -> Any:
    """Rows of queries and keys in the order of llama.cpp's rotary embedding."""
    half = weights.shape[0] // heads // 2
    return weights.reshape(heads, 2, half, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def write(writer: Any) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_text(path: Path, tensors: Tensors, config: dict[str, Any], tokenizer: dict[str, Any]) -> None:
    words, hidden = tensors.named("embed_tokens.weight").shape
    heads = config["num_attention_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("planted")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(hidden // heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(words)
    writer.add_file_type(0)
    special = {item["content"]: item["id"] for item in tokenizer["added_tokens"]}
    numbers = {**tokenizer["model"]["vocab"], **special}
    names = sorted(numbers, key=numbers.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(names)
    writer.add_token_types([3 if name in special else 1 for name in names])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(numbers["<s>"])
    writer.add_eos_token_id(numbers["</s>"])
    writer.add_pad_token_id(numbers["<pad>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", tensors.named("embed_tokens.weight"))
    writer.add_tensor("output.weight", tensors.named("lm_head.weight"))
    layers = tensors.before("layers.0.mlp.down_proj.weight")
    writer.add_tensor("output_norm.weight", tensors[f"{layers}norm.weight"])
    for i in range(config["num_hidden_layers"]):
        for ours, theirs in TEXT_PARTS.items():
            values = tensors[f"{layers}layers.{i}.{theirs}.weight"]
            turned = rotated(values, heads) if ours in ("attn_q", "attn_k") else values
            writer.add_tensor(f"blk.{i}.{ours}.weight", turned)
    write(writer)


def write_vision(path: Path, tensors: Tensors, config: dict[str, Any]) -> None:
    """The tower and the projector; without the last norm, which LLaVA does not apply."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_file_type(0)
    writer.add_vision_image_size(config["image_size"])
    writer.add_vision_patch_size(config["patch_size"])
    writer.add_vision_embedding_length(config["hidden_size"])
    writer.add_vision_feed_forward_length(config["intermediate_size"])
    writer.add_vision_projection_dim(config.get("projection_dim", 512))
    writer.add_vision_block_count(config["num_hidden_layers"])
    writer.add_vision_head_count(config["num_attention_heads"])
    writer.add_vision_attention_layernorm_eps(1e-5)
    writer.add_vision_image_mean(list(MEAN))
    writer.add_vision_image_std(list(DEVIATION))
    writer.add_bool("clip.use_gelu", False)  # the quick one
    tower = tensors.before("embeddings.class_embedding")
    writer.add_tensor("v.patch_embd.weight", tensors[f"{tower}embeddings.patch_embedding.weight"])
    # Without the class token and its place: it stands elsewhere in llama.cpp, and no patch of this model reads it.
    places = tensors[f"{tower}embeddings.position_embedding.weight"]
    writer.add_tensor("v.position_embd.weight", np.ascontiguousarray(places[1:]))
    for kind in ("weight", "bias"):
        writer.add_tensor(f"v.pre_ln.{kind}", tensors[f"{tower}pre_layrnorm.{kind}"])
        for i in range(config["num_hidden_layers"]):
            for ours, theirs in VISION_PARTS.items():
                writer.add_tensor(
                    f"v.blk.{i}.{ours}.{kind}", tensors[f"{tower}encoder.layers.{i}.{theirs}.{kind}"]
                )
        writer.add_tensor(f"mm.0.{kind}", tensors.named(f"multi_modal_projector.linear_1.{kind}"))
        writer.add_tensor(f"mm.2.{kind}", tensors.named(f"multi_modal_projector.linear_2.{kind}"))
    write(writer)


def main(folder: Path, out: Path) -> None:
    tensors = Tensors(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    write_text(out / "text.gguf", tensors, config["text_config"], tokenizer)
    write_vision(out / "mmproj.gguf", tensors, config["vision_config"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
