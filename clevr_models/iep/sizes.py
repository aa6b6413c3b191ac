"""The settings of a released checkpoint: sizes of its network, and options with only one supported value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from trex.foundation.errors import InputError, unknown
from trex.foundation.fields import first_problem
from trex.foundation.json_fields import short

LARGEST = 16_384  # of any one size; hostile files ask for networks that fill the memory
Baseline = Literal["LSTM", "CNN+LSTM", "CNN+LSTM+SA"]
BASELINES: tuple[Baseline, ...] = ("LSTM", "CNN+LSTM", "CNN+LSTM+SA")
Size = Annotated[int, Field(strict=True, ge=1, le=LARGEST)]
Widths = Annotated[tuple[Size, ...], Field(max_length=8)]
Grid = tuple[Size, Size, Size]  # channels, height and width
Share = Annotated[float, Field(strict=True, ge=0, lt=1)]


def _only(wanted: object) -> AfterValidator:
    def check(value: object) -> object:
        if value != wanted:
            raise ValueError(f"it must be {wanted!r}, the only supported value")
        return value

    return AfterValidator(check)


class Sizes(BaseModel):
    """Settings of a part; other settings of the file do not change what it computes, and are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class GeneratorSizes(Sizes):
    """`program_generator_kwargs` of a checkpoint; the defaults are the released ones."""

    encoder_vocab_size: Size = 93
    decoder_vocab_size: Size = 44
    wordvec_dim: Size = 300
    hidden_dim: Size = 256
    rnn_num_layers: Size = 2


class EngineSizes(Sizes):
    """`execution_engine_kwargs` of a checkpoint; the defaults are the released ones."""

    feature_dim: Grid = (1024, 14, 14)
    stem_num_layers: Size = 2
    stem_batchnorm: bool = False
    module_dim: Size = 128
    module_residual: Annotated[object, _only(True)] = True
    module_batchnorm: bool = False
    classifier_proj_dim: Size = 512
    classifier_downsample: Annotated[object, _only("maxpool2")] = "maxpool2"
    classifier_fc_layers: Widths = (1024,)
    classifier_batchnorm: bool = False
    classifier_dropout: Annotated[object, _only(0)] = 0


class BaselineSizes(Sizes):
    """`baseline_type` and `baseline_kwargs` of a checkpoint."""

    kind: Baseline
    rnn_wordvec_dim: Size = 300
    rnn_dim: Size = 256
    rnn_num_layers: Size = 2
    rnn_dropout: Share = 0.0  # while training
    fc_dims: Widths = (1024,)
    fc_use_batchnorm: bool = False
    fc_dropout: Share = 0.0  # while training; layers of dropout shift the numbers of those after them
    cnn_feat_dim: Grid = (1024, 14, 14)
    cnn_num_res_blocks: Annotated[object, _only(0)] = 0
    cnn_proj_dim: Size = 512
    cnn_pooling: Annotated[object, _only("maxpool2")] = "maxpool2"
    stacked_attn_dim: Size = 512
    num_stacked_attn: Size = 2


CNN = ("cnn_feat_dim", "cnn_num_res_blocks", "cnn_proj_dim", "cnn_pooling")
ATTENTION = ("cnn_feat_dim", "stacked_attn_dim", "num_stacked_attn")
OWN: Mapping[Baseline, tuple[str, ...]] = {"LSTM": (), "CNN+LSTM": CNN, "CNN+LSTM+SA": ATTENTION}
S = TypeVar("S", bound=Sizes)


def read_sizes(of: type[S], settings: object, where: str, kind: Baseline | None = None) -> S:
    """The sizes in a file's settings; InputError names one that is missing or not supported.

    `kind` is that of a baseline: settings of other kinds are ignored.
    """
    if not isinstance(settings, Mapping):
        raise InputError(f"{where} are a {type(settings).__name__}, not settings by name")
    given = {**settings, "kind": kind}
    others = {*CNN, *ATTENTION} - {*OWN[kind]} if kind else set()
    names = [name for name in of.model_fields if name not in others]
    missing = next((name for name in names if name not in given), None)
    if missing is not None:
        raise InputError(f"{where} lack {missing!r}; the file is truncated or belongs to another model")
    try:
        return of.model_validate({name: given[name] for name in names})
    except ValidationError as error:
        key, message = first_problem(error)
        name = key.partition(".")[0]
        raise InputError(f"{where}: {name} is {short(given[name])}; {message}") from error


def baseline_named(kind: object, where: str) -> Baseline:
    found = next((known for known in BASELINES if known == kind), None)
    if found is None:
        raise unknown(f"{where}: baseline_type", str(kind), BASELINES)
    return found
