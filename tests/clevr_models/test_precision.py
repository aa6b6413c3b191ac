"""Networks are trained in bfloat16 exactly where the processor computes with it."""

from __future__ import annotations

import pytest
import torch

from trex.artifacts.precision import half_precision


@pytest.mark.parametrize(("has_bfloat16", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_a_processor_that_only_emulates_bfloat16_computes_in_float32(
    has_bfloat16: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: has_bfloat16)
    layer = torch.nn.Linear(2, 2)
    with half_precision("cpu"):
        assert layer(torch.zeros(1, 2)).dtype == dtype
    assert layer.weight.dtype == torch.float32
