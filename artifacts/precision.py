"""The number format in which networks are trained."""

from __future__ import annotations

import torch


def half_precision(device: str) -> torch.autocast:
    """Run networks in bfloat16 where the device computes with it, in float32 elsewhere.

    Weights and losses stay in float32. A processor without AVX-512 emulates bfloat16, and a convolution takes about ten
    times as long as in float32 (docs/PERFORMANCE.md).
    """
    has_bfloat16 = device != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return torch.autocast(device, dtype=torch.bfloat16, enabled=has_bfloat16)
