"""A model to test: the redder the picture, the more red things it counts. Replace it with your own."""

import torch


class CountReds(torch.nn.Module):
    """A torch module: pictures to logits."""

    labels = ("0", "1", "2", "3")  # its answers, in the order of the logits

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Pictures (B, 3, H, W), float32 in [0, 1], to logits (B, 4)."""
        red = (pictures[:, 0] - pictures[:, 1:].amax(dim=1)).clamp(min=0)
        amount = 100 * red.mean(dim=(1, 2))  # (B,)
        return -10 * (amount[:, None] - torch.arange(4.0)) ** 2


def factory(question: object) -> torch.nn.Module:
    """The model for `trex find query.toml --model mymodel:factory`; question.text is the English."""
    return CountReds()
