"""Numbers that are none are refused, and a level set has every part of its statistic inside."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from trex.foundation.errors import RenderError
from trex.inference.scoring import images
from trex.inference.targets import k_way


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_float_picture_with_a_value_that_is_no_number_is_refused(value: float) -> None:
    """Planted bug: compared the other way round, NaN is neither below 0 nor above 1."""
    pixels = np.full((2, 3, 1), 0.5, np.float32)
    assert images([SimpleNamespace(pixels=pixels)]).shape == (1, 2, 3, 1)
    pixels[1, 2, 0] = value
    with pytest.raises(RenderError, match="must lie in"):
        images([SimpleNamespace(pixels=pixels)])


def test_the_margin_of_a_level_set_is_that_of_its_worst_part() -> None:
    """Planted bug: that of the best. Two equal probabilities that a third one exceeds are torn between nothing."""
    target = k_way(("a", "b", "c"), ("a", "b"))
    inside, outside = np.log([0.49, 0.49, 0.02]), np.log([0.3, 0.3, 0.4])
    assert target.is_hit(inside) and 0.0 < target.margin(inside) < 1.0
    assert not target.is_hit(outside) and target.margin(outside) < 0.0
