"""The baselines of Johnson et al. (2017): LSTM, CNN+LSTM, and CNN+LSTM with stacked attention (Yang et al. 2016).

Tensors are named and shaped as in the released files.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from trex.clevr_models.iep.sizes import BaselineSizes


class BaselineNetwork(nn.Module):
    """A question and features of pictures to the logits of all answers; the LSTM alone sees no picture."""

    def __init__(self, sizes: BaselineSizes, n_words: int, n_answers: int) -> None:
        super().__init__()
        self.kind = sizes.kind
        self.rnn = QuestionReader(sizes, n_words)
        channels, height, width = sizes.cnn_feat_dim
        inputs = sizes.rnn_dim
        if sizes.kind == "CNN+LSTM":
            self.cnn = nn.Sequential(nn.Conv2d(channels, sizes.cnn_proj_dim, 1), nn.ReLU(), nn.MaxPool2d(2))
            inputs += sizes.cnn_proj_dim * (height // 2) * (width // 2)
        if sizes.kind == "CNN+LSTM+SA":
            self.image_proj = nn.Conv2d(channels, sizes.rnn_dim, 1)
            for layer in range(sizes.num_stacked_attn):
                self.add_module(f"stacked-attn-{layer}", Attention(sizes.rnn_dim, sizes.stacked_attn_dim))
        self.layers = sizes.num_stacked_attn
        self.classifier = nn.Sequential(*_mlp(sizes, inputs, n_answers))

    def forward(self, features: Tensor, question: Sequence[int]) -> Tensor:
        """Features (B, C, H, W) and a question that all pictures share -> logits (B, answers)."""
        u = self.rnn(question).expand(len(features), -1)  # (B, rnn)
        if self.kind == "CNN+LSTM":
            u = torch.cat([u, self.cnn(features).flatten(1)], dim=1)  # the question first
        if self.kind == "CNN+LSTM+SA":
            v = self.image_proj(features)
            for layer in range(self.layers):
                u = self.get_submodule(f"stacked-attn-{layer}")(v, u)
        logits: Tensor = self.classifier(u)
        return logits


class QuestionReader(nn.Module):
    """Returns the top layer's state of an LSTM at the last word."""

    def __init__(self, sizes: BaselineSizes, n_words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_words, sizes.rnn_wordvec_dim)
        self.rnn = nn.LSTM(sizes.rnn_wordvec_dim, sizes.rnn_dim, sizes.rnn_num_layers, batch_first=True)

    def forward(self, question: Sequence[int]) -> Tensor:
        """Numbers of words, <END> last, without padding -> (1, rnn)."""
        numbers = torch.tensor([list(question)], device=self.embed.weight.device)
        states: Tensor = self.rnn(self.embed(numbers))[0]
        return states[:, -1]


class Attention(nn.Module):
    """u + sum of p v, p = softmax over the cells of Wp tanh(Wv v + Wu u)."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.Wv = nn.Conv2d(channels, hidden, 1)
        self.Wu = nn.Linear(channels, hidden)
        self.Wp = nn.Conv2d(hidden, 1, 1)

    def forward(self, v: Tensor, u: Tensor) -> Tensor:
        """(B, C, H, W) and (B, C) -> (B, C)."""
        scores = self.Wp(torch.tanh(self.Wv(v) + self.Wu(u)[:, :, None, None]))  # (B, 1, H, W)
        p = scores.flatten(1).softmax(dim=1)  # (B, cells)
        return u + torch.einsum("bcn,bn->bc", v.flatten(2), p)


def _mlp(sizes: BaselineSizes, inputs: int, n_answers: int) -> list[nn.Module]:
    dropout = [nn.Dropout(sizes.fc_dropout)] * (sizes.fc_dropout > 0)
    layers: list[nn.Module] = [*dropout, *([nn.BatchNorm1d(inputs)] * sizes.fc_use_batchnorm)]
    for outputs in sizes.fc_dims:
        layers.append(nn.Linear(inputs, outputs))
        layers += [nn.BatchNorm1d(outputs)] * sizes.fc_use_batchnorm
        layers += [*dropout, nn.ReLU()]
        inputs = outputs
    return [*layers, nn.Linear(inputs, n_answers)]
