"""The beta-VAE of Defuse (Higgins et al. 2017, https://openreview.net/forum?id=Sy2fzU9gl), unconditional.

Convolutions 4x4 of stride 2 and padding 1 with ReLU, then three dense layers, and their mirror image (Slack et al.
2021, appendix). The paper prints no padding, and a last layer of as many channels as its others; ours has the
picture's. Inside, pictures have 32 pixels: MNIST's 28 are padded with black by two on each side, and cropped again.

The paper prints no initial weights. Ours keep the variance from layer to layer (He et al. 2015,
https://arxiv.org/abs/1502.01852, equation 10): torch's own shrink it about sixfold in each.
"""

from __future__ import annotations

from math import sqrt

from torch import Tensor, nn
from torch.nn import functional

from trex.mnist_models.data.layout import Shape
from trex.mnist_models.networks.vae import Posterior, Terms, evidence_terms

INNER_PX = 32
DENSE = 256
START = (64, 2, 2)  # of the decoder's convolutions: 256 numbers, which four doublings make 32 pixels
STRIDE = 2


def filters(picture: Shape) -> int:
    """Of every convolution, as published: 32 for one channel, 64 for color."""
    return 32 if picture[2] == 1 else 64


def margin_px(picture: Shape) -> int:
    """What is padded on each side; pictures are square, with at most 32 pixels and an even number of them."""
    height, width, _ = picture
    assert height == width <= INNER_PX and height % 2 == 0, picture
    return (INNER_PX - height) // 2


def _initialize(layers: nn.Sequential) -> None:
    """Normal weights of variance 2 / fan-in before a ReLU and 1 / fan-in in the last layer; biases 0.

    A pixel of a transposed convolution sums over only 1 / stride^2 of its kernel.
    """
    weighted = [one for one in layers if isinstance(one, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d))]
    for layer in weighted:
        is_transposed = isinstance(layer, nn.ConvTranspose2d)
        fan = layer.weight.numel() / layer.weight.shape[1 if is_transposed else 0]
        fan /= STRIDE**2 if is_transposed else 1
        nn.init.normal_(layer.weight, 0.0, sqrt((1.0 if layer is weighted[-1] else 2.0) / fan))
        assert layer.bias is not None
        nn.init.zeros_(layer.bias)


class ConvEncoder(nn.Module):
    """Pictures (B, C, H, W) in [0, 1] to the normal distribution of their d latents."""

    def __init__(self, picture: Shape, latent: int) -> None:
        super().__init__()
        self.margin, width = margin_px(picture), filters(picture)
        self.layers = nn.Sequential(
            *(nn.Conv2d(picture[2], width, 4, 2, 1), nn.ReLU()),  # 16x16
            *(nn.Conv2d(width, width, 4, 2, 1), nn.ReLU()),  # 8x8
            *(nn.Conv2d(width, width, 4, 2, 1), nn.ReLU()),  # 4x4
            nn.Flatten(),
            *(nn.Linear(16 * width, DENSE), nn.ReLU()),
            *(nn.Linear(DENSE, DENSE), nn.ReLU()),
            nn.Linear(DENSE, 2 * latent),
        )
        _initialize(self.layers)

    def forward(self, images: Tensor) -> Posterior:
        """The posterior of each picture."""
        mean, log_variance = self.layers(functional.pad(images, (self.margin,) * 4)).chunk(2, dim=1)
        return Posterior(mean, log_variance)


class ConvDecoder(nn.Module):
    """Latents (B, d) to pictures (B, C, H, W) in [0, 1], differentiable."""

    def __init__(self, picture: Shape, latent: int) -> None:
        super().__init__()
        self.margin, width = margin_px(picture), filters(picture)
        self.layers = nn.Sequential(
            *(nn.Linear(latent, DENSE), nn.ReLU()),
            *(nn.Linear(DENSE, DENSE), nn.ReLU()),
            *(nn.Linear(DENSE, DENSE), nn.ReLU()),
            nn.Unflatten(1, START),
            *(nn.ConvTranspose2d(START[0], width, 4, 2, 1), nn.ReLU()),  # 4x4
            *(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU()),  # 8x8
            *(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU()),  # 16x16
            nn.ConvTranspose2d(width, picture[2], 4, 2, 1),  # 32x32
        )
        _initialize(self.layers)

    def logits(self, z: Tensor) -> Tensor:
        """(B, C, H, W), before the sigmoid."""
        inner: Tensor = self.layers(z)
        return functional.pad(inner, (-self.margin,) * 4)

    def forward(self, z: Tensor) -> Tensor:
        """The mean picture of each latent."""
        return self.logits(z).sigmoid()


class BetaVae(nn.Module):
    """Encoder and decoder."""

    def __init__(self, picture: Shape, latent: int) -> None:
        super().__init__()
        self.encoder = ConvEncoder(picture, latent)
        self.decoder = ConvDecoder(picture, latent)

    def terms(self, images: Tensor) -> Terms:
        """Surprise and KL, summed over the batch; the padding counts in neither."""
        return evidence_terms(self.encoder, self.decoder.logits, images)
