"""The device on which networks are trained, and the number format."""

from __future__ import annotations

import torch

from trex.foundation.errors import InputError, unknown

DEVICES = ("auto", "cpu", "cuda")


def half_precision(device: str) -> torch.autocast:
    """Run networks in bfloat16 where the device computes with it, in float32 elsewhere.

    Weights and losses stay in float32. A processor without AVX-512 emulates bfloat16, and a convolution takes about ten
    times as long as in float32 (reproduce/LOG.md).
    """
    has_bfloat16 = device != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return torch.autocast(device, dtype=torch.bfloat16, enabled=has_bfloat16)


def training_device(name: str) -> torch.device:
    """The device of this name (auto: cuda if torch finds one, else cpu); InputError if it is not there."""
    if name not in DEVICES:
        raise unknown("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device on this machine; choose device cpu or auto")
    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)
