"""The released CLEVR models written out plainly from their published layer facts; and made-up files in their layout."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trex.clevr_models.iep.vocabulary import IepVocabulary

Shapes = dict[str, tuple[int, ...]]
VOCABULARY = IepVocabulary()
BINARY = (
    "equal_color", "equal_integer", "equal_material", "equal_shape", "equal_size", "union", "intersect", "less_than",
    "greater_than",
)  # fmt: skip
GENERATOR_KWARGS: dict[str, object] = {
    "encoder_vocab_size": 93, "decoder_vocab_size": 44, "wordvec_dim": 300, "hidden_dim": 256, "rnn_num_layers": 2,
    "rnn_dropout": 0,
}  # fmt: skip
ENGINE_KWARGS: dict[str, object] = {
    "feature_dim": (1024, 14, 14), "stem_batchnorm": 0, "stem_num_layers": 2, "module_dim": 128,
    "module_residual": True, "module_batchnorm": 0, "classifier_proj_dim": 512, "classifier_downsample": "maxpool2",
    "classifier_fc_layers": (1024,), "classifier_batchnorm": 0, "classifier_dropout": 0, "verbose": True,
}  # fmt: skip
BASELINE_KWARGS: dict[str, object] = {
    "rnn_wordvec_dim": 300, "rnn_dim": 256, "rnn_num_layers": 2, "rnn_dropout": 0, "fc_dims": (1024,),
    "fc_use_batchnorm": False, "fc_dropout": 0,
}  # fmt: skip
CNN_KWARGS: dict[str, object] = BASELINE_KWARGS | {
    "cnn_feat_dim": (1024, 14, 14), "cnn_num_res_blocks": 0, "cnn_res_block_dim": 128, "cnn_proj_dim": 512,
    "cnn_pooling": "maxpool2",
}  # fmt: skip
ATTENTION_KWARGS: dict[str, object] = BASELINE_KWARGS | {
    "cnn_feat_dim": (1024, 14, 14), "stacked_attn_dim": 512, "num_stacked_attn": 2, "fc_dims": (),
}  # fmt: skip


def lstm_shapes(name: str, inputs: int, hidden: int) -> Shapes:
    found: Shapes = {}
    for layer, width in enumerate((inputs, hidden)):
        found[f"{name}.weight_ih_l{layer}"] = (4 * hidden, width)
        found[f"{name}.weight_hh_l{layer}"] = (4 * hidden, hidden)
        found[f"{name}.bias_ih_l{layer}"] = found[f"{name}.bias_hh_l{layer}"] = (4 * hidden,)
    return found


def generator_shapes(words: int = 300, hidden: int = 256) -> Shapes:
    return {
        "encoder_embed.weight": (93, words), **lstm_shapes("encoder_rnn", words, hidden),
        "decoder_embed.weight": (44, words), **lstm_shapes("decoder_rnn", hidden + words, hidden),
        "decoder_linear.weight": (44, hidden), "decoder_linear.bias": (44,),
    }  # fmt: skip


def engine_shapes(
    kwargs: Mapping[str, object] = ENGINE_KWARGS, tokens: Sequence[str] = VOCABULARY.programs
) -> Shapes:
    channels, height, width = kwargs["feature_dim"]  # type: ignore[misc]
    dim, proj = kwargs["module_dim"], kwargs["classifier_proj_dim"]
    (hidden,) = kwargs["classifier_fc_layers"]  # type: ignore[misc]
    layers = [("stem.0", dim, channels, 3), ("stem.2", dim, dim, 3), ("classifier.0", proj, dim, 1)]
    for token in tokens:
        block = f"{token}.res_block" if token in BINARY else token
        layers += [(f"{token}.proj", dim, 2 * dim, 1)] * (token in BINARY)  # type: ignore[operator]
        layers += [(f"{block}.conv1", dim, dim, 3), (f"{block}.conv2", dim, dim, 3)]
    found: Shapes = {}
    for name, outputs, inputs, side in layers:
        found |= {f"{name}.weight": (outputs, inputs, side, side), f"{name}.bias": (outputs,)}  # type: ignore[dict-item]
    flat = proj * (height // 2) * (width // 2)
    found |= {"classifier.4.weight": (hidden, flat), "classifier.4.bias": (hidden,)}
    return found | {"classifier.6.weight": (32, hidden), "classifier.6.bias": (32,)}


def baseline_shapes(kind: str) -> Shapes:
    found = {"rnn.embed.weight": (93, 300), **lstm_shapes("rnn.rnn", 300, 256)}
    if kind == "CNN+LSTM+SA":
        found |= {"image_proj.weight": (256, 1024, 1, 1), "image_proj.bias": (256,)}
        for n in (0, 1):
            name = f"stacked-attn-{n}"
            found |= {f"{name}.Wv.weight": (512, 256, 1, 1), f"{name}.Wv.bias": (512,)}
            found |= {f"{name}.Wu.weight": (512, 256), f"{name}.Wu.bias": (512,)}
            found |= {f"{name}.Wp.weight": (1, 512, 1, 1), f"{name}.Wp.bias": (1,)}
        return found | {"classifier.0.weight": (32, 256), "classifier.0.bias": (32,)}
    inputs = 256
    if kind == "CNN+LSTM":
        found |= {"cnn.0.weight": (512, 1024, 1, 1), "cnn.0.bias": (512,)}
        inputs += 512 * 7 * 7
    found |= {"classifier.0.weight": (1024, inputs), "classifier.0.bias": (1024,)}
    return found | {"classifier.2.weight": (32, 1024), "classifier.2.bias": (32,)}


def random_state(shapes: Shapes, seed: int = 0, scale: float = 1.4) -> dict[str, Tensor]:
    """Weights under which every layer matters to the answer."""
    built = torch.Generator().manual_seed(seed)
    state = {}
    for name, shape in shapes.items():
        width = int(np.prod(shape[1:])) if len(shape) > 1 else 25
        gain = 1.0 if "embed" in name else scale / width**0.5
        state[name] = torch.randn(shape, generator=built) * gain
    return state


def checkpoint(
    kind: str, kwargs: Mapping[str, object], state: Mapping[str, Tensor], **extra: object
) -> dict[str, object]:
    """A checkpoint as the released ones: every key there, unused parts None."""
    parts = ("program_generator", "execution_engine", "baseline")
    found: dict[str, object] = {f"{part}_{half}": None for part in parts for half in ("kwargs", "state")}
    found |= {
        "args": {"model_type": "PG", "learning_rate": 5e-4},
        "baseline_type": None,
        "vocab": VOCABULARY.as_json(),
    }
    found |= {"train_losses": [3.5, 2.5], "train_rewards": [], "train_losses_ts": [0, 1], "train_accs": [0.5]}
    found |= {"val_accs": [0.5], "val_accs_ts": [1], "best_val_acc": 0.95, "model_t": 20000}
    inner = dict(kwargs) if kind == "program_generator" else {"vocab": VOCABULARY.as_json(), **kwargs}
    return found | {f"{kind}_kwargs": inner, f"{kind}_state": OrderedDict(state)} | extra


class _OldStorage:
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class _OldTensor:
    """Pickles as PyTorch 0.1.12 pickled a CUDA tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.contiguous()

    def __reduce__(self) -> tuple[object, ...]:
        how = (_OldStorage(self.tensor), 0, tuple(self.tensor.shape), self.tensor.stride())
        return torch._utils._rebuild_tensor, how


class _OldPickler(pickle.Pickler):
    def persistent_id(self, item: object) -> object:
        if not isinstance(item, _OldStorage):
            return None
        key = str(id(item))
        self.storages: dict[str, _OldStorage]
        self.storages[key] = item
        return ("storage", torch.cuda.FloatStorage, key, "cuda:0", item.tensor.numel(), None)


def save_as_2017(found: Mapping[str, object], path: Path) -> None:
    """The container of PyTorch 0.1.12: magic, version, sizes, one pickle, then the storages of CUDA tensors."""
    with path.open("wb") as stream:
        pickle.dump(0x1950A86A20F9469CFC6C, stream, 2)
        pickle.dump(1001, stream, 2)
        sizes = {"short": 2, "int": 4, "long": 4}
        pickle.dump({"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}, stream, 2)
        pickler = _OldPickler(stream, 2)
        pickler.storages = {}
        pickler.dump(_old(found))
        keys = sorted(pickler.storages)
        pickle.dump(keys, stream, 2)
        for key in keys:
            numbers = pickler.storages[key].tensor.numpy()
            stream.write(np.int64(numbers.size).tobytes() + numbers.astype("<f4").tobytes())


def _old(value: object) -> object:
    if isinstance(value, Tensor):
        return _OldTensor(value)
    if isinstance(value, dict):
        return type(value)((key, _old(item)) for key, item in value.items())
    return value


def as_bytes(found: object, is_legacy: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(found, buffer, _use_new_zipfile_serialization=not is_legacy)
    return buffer.getvalue()


@dataclass(frozen=True)
class Reading:
    """How the facts are read; every other choice than these is a bug that the tests plant."""

    first_argument_first: bool = True
    encoded_first: bool = True  # in the decoder's input
    zero_states: bool = True  # the decoder begins with zeros, not with the encoder's last states
    relu_after_shortcut: bool = True
    question_first: bool = True  # in CNN+LSTM
    adds_attended: bool = True  # u + attended, not attended alone


Layer = Callable[[str, Tensor], Tensor]


def engine_logits(
    state: Mapping[str, Tensor], features: Tensor, program: str, how: Reading | None = None
) -> Tensor:
    """The execution engine by recursion over prefix tokens."""
    how = how or Reading()

    def conv(name: str, x: Tensor) -> Tensor:
        weight = state[f"{name}.weight"]
        return functional.conv2d(x, weight, state[f"{name}.bias"], padding=weight.shape[2] // 2)

    def block(name: str, x: Tensor) -> Tensor:
        y = conv(f"{name}.conv2", conv(f"{name}.conv1", x).relu())
        return (x + y).relu() if how.relu_after_shortcut else x + y.relu()

    stem = conv("stem.2", conv("stem.0", features).relu()).relu()
    tokens = iter(program.split())

    def value() -> Tensor:
        token = next(tokens)
        if token == "scene":
            return block("scene", stem)
        first = value()
        if token not in BINARY:
            return block(token, first)
        pair = [first, value()] if how.first_argument_first else [first, value()][::-1]
        return block(f"{token}.res_block", conv(f"{token}.proj", torch.cat(pair, 1)).relu())

    x = functional.max_pool2d(conv("classifier.0", value()).relu(), 2).flatten(1)
    x = functional.linear(x, state["classifier.4.weight"], state["classifier.4.bias"]).relu()
    return functional.linear(x, state["classifier.6.weight"], state["classifier.6.bias"])


def lstm_states(
    state: Mapping[str, Tensor], name: str, inputs: Sequence[Tensor], start: Sequence[Tensor]
) -> list[Tensor]:
    """Two layers, written out; [h0, c0, h1, c1] after the last input, beginning with `start`."""
    states = list(start)
    for x in inputs:
        for layer in (0, 1):
            h, c = states[2 * layer], states[2 * layer + 1]
            gates = state[f"{name}.weight_ih_l{layer}"] @ x + state[f"{name}.bias_ih_l{layer}"]
            gates = gates + state[f"{name}.weight_hh_l{layer}"] @ h + state[f"{name}.bias_hh_l{layer}"]
            i, f, g, o = gates.chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            x = o.sigmoid() * c.tanh()
            states[2 * layer], states[2 * layer + 1] = x, c
    return states


def generated(
    state: Mapping[str, Tensor], question: Sequence[int], how: Reading | None = None
) -> tuple[int, ...]:
    """The program generator's greedy decoding, one gate at a time."""
    how = how or Reading()
    zeros = [torch.zeros(state["encoder_rnn.weight_hh_l0"].shape[1])] * 4
    words = [state["encoder_embed.weight"][number] for number in question]
    last = lstm_states(state, "encoder_rnn", words, zeros)
    encoded, states = last[2], zeros if how.zero_states else last
    token, written = 1, []
    while len(written) < 30 and token != 2:
        pair = [encoded, state["decoder_embed.weight"][token]]
        states = lstm_states(
            state, "decoder_rnn", [torch.cat(pair if how.encoded_first else pair[::-1])], states
        )
        token = int((state["decoder_linear.weight"] @ states[2] + state["decoder_linear.bias"]).argmax())
        written.append(token)
    return tuple(written)


def baseline_logits(
    kind: str,
    state: Mapping[str, Tensor],
    features: Tensor,
    question: Sequence[int],
    how: Reading | None = None,
) -> Tensor:
    """One picture's features (1, C, H, W) to logits (32,)."""
    how = how or Reading()
    zeros = [torch.zeros(state["rnn.rnn.weight_hh_l0"].shape[1])] * 4
    u = lstm_states(state, "rnn.rnn", [state["rnn.embed.weight"][n] for n in question], zeros)[2]
    if kind == "CNN+LSTM":
        picture = functional.conv2d(features, state["cnn.0.weight"], state["cnn.0.bias"]).relu()
        pair = [u, functional.max_pool2d(picture, 2).flatten()]
        u = torch.cat(pair if how.question_first else pair[::-1])
    if kind == "CNN+LSTM+SA":
        v = functional.conv2d(features, state["image_proj.weight"], state["image_proj.bias"])[0].flatten(
            1
        )  # (C, N)
        for n in (0, 1):
            wv, wu, wp = (state[f"stacked-attn-{n}.{part}.weight"].flatten(1) for part in ("Wv", "Wu", "Wp"))
            bv, bu, bp = (state[f"stacked-attn-{n}.{part}.bias"] for part in ("Wv", "Wu", "Wp"))
            scores = wp @ ((wv @ v + bv[:, None]) + (wu @ u + bu)[:, None]).tanh() + bp[:, None]
            attended = v @ scores[0].softmax(dim=0)
            u = u + attended if how.adds_attended else attended
    if "classifier.2.weight" in state:
        u = functional.linear(u, state["classifier.0.weight"], state["classifier.0.bias"]).relu()
        return functional.linear(u, state["classifier.2.weight"], state["classifier.2.bias"])
    return functional.linear(u, state["classifier.0.weight"], state["classifier.0.bias"])
