"""Structural similarity of two pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WINDOW_PX = 7


def mean_ssim(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """Mean structural similarity of two (H, W, 3) pictures, 1 if they are equal.

    Wang et al. 2004 (doi:10.1109/TIP.2003.819861) with a square 7 x 7 window, K1 = .01, K2 = .03, sample
    covariance, averaged over the channels and all pixels whose window lies within the picture, like
    skimage.metrics.structural_similarity(first, second, channel_axis=2).
    """
    assert first.shape == second.shape and first.dtype == second.dtype == np.uint8
    x, y = first.astype(np.float64), second.astype(np.float64)
    unbiased = WINDOW_PX**2 / (WINDOW_PX**2 - 1)
    mean_x, mean_y = _window_mean(x), _window_mean(y)
    var_x = unbiased * (_window_mean(x * x) - mean_x**2)
    var_y = unbiased * (_window_mean(y * y) - mean_y**2)
    cov = unbiased * (_window_mean(x * y) - mean_x * mean_y)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    luminance = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    structure = (2 * cov + c2) / (var_x + var_y + c2)
    return float((luminance * structure).mean())


def _window_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(H - 6, W - 6, C) means over the windows that lie within (H, W, C)."""
    from scipy.ndimage import uniform_filter

    edge = WINDOW_PX // 2
    filtered: NDArray[np.float64] = uniform_filter(values, size=(WINDOW_PX, WINDOW_PX, 1))
    return filtered[edge:-edge, edge:-edge]


def shrink(official: Pixels, like: Pixels) -> Pixels:
    """The official picture at the size of another; each pixel is the mean of those it covers."""
    from PIL import Image

    height, width = like.shape[:2]
    if official.shape == like.shape:
        return official
    return np.asarray(Image.fromarray(official).resize((width, height), Image.Resampling.BOX))


Pixels = NDArray[np.uint8]
