"""Checks the settings of a released checkpoint: sizes of its network, and options with only one supported value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from trex.clevr_models.iep.baselines import BASELINES, BaselineSizes
from trex.clevr_models.iep.module_network import EngineSizes
from trex.clevr_models.iep.program_generator import GeneratorSizes
from trex.foundation.errors import InputError, unknown

LARGEST = 16_384  # of any one size; hostile files ask for networks that fill the memory
# Options with only one supported value.
FIXED_ENGINE = {"module_residual": True, "classifier_downsample": "maxpool2", "classifier_dropout": 0}
FIXED_CNN = {"cnn_num_res_blocks": 0, "cnn_pooling": "maxpool2"}
Sizes = TypeVar("Sizes")
Check = Callable[[object], object]  # gives the value, or raises ValueError with what is allowed


def generator_sizes(settings: object, where: str) -> GeneratorSizes:
    names = ("encoder_vocab_size", "decoder_vocab_size", "wordvec_dim", "hidden_dim", "rnn_num_layers")
    return _made(GeneratorSizes, _checked(settings, where, dict.fromkeys(names, _size)))


def engine_sizes(settings: object, where: str) -> EngineSizes:
    """Of `execution_engine_kwargs`; InputError where blocks, pooling or dropout are not those that are known here."""
    chosen: dict[str, Check] = {
        "feature_dim": _three_sizes, "stem_num_layers": _size, "stem_batchnorm": _flag,
        "module_dim": _size, "module_batchnorm": _flag, "classifier_proj_dim": _size,
        "classifier_fc_layers": _sizes, "classifier_batchnorm": _flag,
    }  # fmt: skip
    _checked(settings, where, {name: _only(value) for name, value in FIXED_ENGINE.items()})
    return _made(EngineSizes, _checked(settings, where, chosen))


def baseline_sizes(kind: object, settings: object, where: str) -> BaselineSizes:
    if kind not in BASELINES:
        raise unknown(f"{where}: baseline_type", str(kind), BASELINES)
    chosen: dict[str, Check] = {
        "rnn_wordvec_dim": _size, "rnn_dim": _size, "rnn_num_layers": _size, "rnn_dropout": _share,
        "fc_dims": _sizes, "fc_use_batchnorm": _flag, "fc_dropout": _share,
    }  # fmt: skip
    if kind == "CNN+LSTM":
        chosen |= {"cnn_feat_dim": _three_sizes, "cnn_proj_dim": _size}
        _checked(settings, where, {name: _only(value) for name, value in FIXED_CNN.items()})
    if kind == "CNN+LSTM+SA":
        chosen |= {"cnn_feat_dim": _three_sizes, "stacked_attn_dim": _size, "num_stacked_attn": _size}
    return _made(BaselineSizes, {"kind": kind, **_checked(settings, where, chosen)})


def _made(kind: Callable[..., Sizes], checked: Mapping[str, object]) -> Sizes:
    """The sizes of this kind; each value has been checked to be of its type."""
    return kind(**checked)


def _checked(settings: object, where: str, checks: Mapping[str, Check]) -> dict[str, object]:
    if not isinstance(settings, Mapping):
        raise InputError(f"{where} are a {type(settings).__name__}, not settings by name")
    found = {}
    for name, check in checks.items():
        if name not in settings:
            raise InputError(f"{where} lack {name!r}; the file is truncated or belongs to another model")
        try:
            found[name] = check(settings[name])
        except ValueError as error:
            raise InputError(f"{where}: {name} is {_short(settings[name])}; it must be {error}") from error
    return found


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, int | float | str | tuple | list) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."


def _size(value: object) -> int:
    if type(value) is not int or not 1 <= value <= LARGEST:
        raise ValueError(f"a whole number from 1 to {LARGEST}")
    return value


def _sizes(value: object) -> tuple[int, ...]:
    if not isinstance(value, tuple | list) or len(value) > 8:
        raise ValueError("a list of at most 8 whole numbers")
    return tuple(_size(item) for item in value)


def _three_sizes(value: object) -> tuple[int, int, int]:
    if len(found := _sizes(value)) != 3:
        raise ValueError("channels, height and width")
    channels, height, width = found
    return channels, height, width


def _flag(value: object) -> bool:
    if type(value) not in (bool, int) or value not in (0, 1):
        raise ValueError("true or false")
    return bool(value)


def _share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
        raise ValueError("a share from 0 to below 1")
    return float(value)


def _only(wanted: object) -> Check:
    def check(value: object) -> object:
        if value != wanted:
            raise ValueError(f"{wanted!r}, the only supported value")
        return value

    return check
