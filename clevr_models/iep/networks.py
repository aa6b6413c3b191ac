"""The networks of Johnson et al. (2017): execution engine, program generator, and baselines.

Tensors are named and shaped as in the released files: for CLEVR 204 of the engine, without batch norm (40,400,800
numbers), and 20 of the generator (2,510,008). Stacked attention is that of Yang et al. (2016).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from trex.clevr_models.iep.sizes import BaselineSizes, EngineSizes, GeneratorSizes
from trex.clevr_models.iep.vocabulary import SCENE, Call, is_binary


class ExecutionEngine(nn.Module):
    """Features of pictures and one program to the logits of all answers."""

    def __init__(self, sizes: EngineSizes, tokens: Sequence[str], n_answers: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(*_stem(sizes))
        for token in tokens:
            kind = BinaryModule if is_binary(token) else ResidualBlock
            self.add_module(token, kind(sizes.module_dim, sizes.module_batchnorm))
        self.classifier = nn.Sequential(*_classifier(sizes, n_answers))

    def forward(self, features: Tensor, calls: Sequence[Call]) -> Tensor:
        """Features (B, C, H, W) and a program that all pictures share -> logits (B, answers)."""
        return self.classify(self.run(features, calls))

    def run(self, features: Tensor, calls: Sequence[Call]) -> Tensor:
        """(B, C, H, W) -> (B, module_dim, H, W): the result of the last call."""
        stem = self.stem(features)
        results: list[Tensor] = []
        for call in calls:
            inputs = [stem] if call.token == SCENE else [results[at] for at in call.inputs]
            results.append(self.get_submodule(call.token)(*inputs))
        return results[-1]

    def classify(self, result: Tensor) -> Tensor:
        """(B, module_dim, H, W) -> logits (B, answers)."""
        logits: Tensor = self.classifier(result)
        return logits


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    def __init__(self, channels: int, has_norm: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1, self.bn2 = (nn.BatchNorm2d(channels) if has_norm else nn.Identity() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """relu(x + conv2(relu(conv1 x)))."""
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(y)))


class BinaryModule(nn.Module):
    """Two inputs, the first argument's channels first, made one by a 1x1 convolution; then a residual block."""

    def __init__(self, channels: int, has_norm: bool) -> None:
        super().__init__()
        self.proj = nn.Conv2d(2 * channels, channels, 1)
        self.res_block = ResidualBlock(channels, has_norm)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Both (B, channels, H, W)."""
        joined = torch.relu(self.proj(torch.cat([first, second], dim=1)))
        found: Tensor = self.res_block(joined)
        return found


def _stem(sizes: EngineSizes) -> list[nn.Module]:
    layers: list[nn.Module] = []
    inputs = sizes.feature_dim[0]
    for _ in range(sizes.stem_num_layers):
        layers.append(nn.Conv2d(inputs, sizes.module_dim, 3, padding=1))
        layers += [nn.BatchNorm2d(sizes.module_dim)] * sizes.stem_batchnorm
        layers.append(nn.ReLU())
        inputs = sizes.module_dim
    return layers


def _classifier(sizes: EngineSizes, n_answers: int) -> list[nn.Module]:
    channels, (_, height, width) = sizes.classifier_proj_dim, sizes.feature_dim
    layers: list[nn.Module] = [nn.Conv2d(sizes.module_dim, channels, 1)]
    layers += [nn.BatchNorm2d(channels)] * sizes.classifier_batchnorm
    layers += [nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    inputs = channels * (height // 2) * (width // 2)
    for outputs in sizes.classifier_fc_layers:
        layers.append(nn.Linear(inputs, outputs))
        layers += [nn.BatchNorm1d(outputs)] * sizes.classifier_batchnorm
        layers.append(nn.ReLU())
        inputs = outputs
    return [*layers, nn.Linear(inputs, n_answers)]


NULL, START, END = 0, 1, 2
MAX_STEPS = 30  # of greedy decoding


class ProgramGenerator(nn.Module):
    """Reads a question with one LSTM, writes a program with another."""

    def __init__(self, sizes: GeneratorSizes) -> None:
        super().__init__()
        words, hidden, layers = sizes.wordvec_dim, sizes.hidden_dim, sizes.rnn_num_layers
        self.encoder_embed = nn.Embedding(sizes.encoder_vocab_size, words)
        self.encoder_rnn = nn.LSTM(words, hidden, layers, batch_first=True)
        self.decoder_embed = nn.Embedding(sizes.decoder_vocab_size, words)
        self.decoder_rnn = nn.LSTM(hidden + words, hidden, layers, batch_first=True)
        self.decoder_linear = nn.Linear(hidden, sizes.decoder_vocab_size)

    def encode(self, question: Sequence[int]) -> Tensor:
        """Numbers of words, <END> last, without padding -> (1, hidden): the top layer's state at the last one."""
        numbers = torch.tensor([list(question)], device=self.encoder_embed.weight.device)
        states: Tensor = self.encoder_rnn(self.encoder_embed(numbers))[0]  # (1, words, hidden)
        return states[:, -1]

    def decode(self, question: Sequence[int]) -> tuple[int, ...]:
        """The likeliest token at each step, after zero states and <START>, until <END> (kept) or 30 steps."""
        encoded = self.encode(question)
        states: tuple[Tensor, Tensor] | None = None  # zeros: not the encoder's last ones
        token, written = START, []
        for _ in range(MAX_STEPS):
            embedded = self.decoder_embed(torch.tensor([token], device=encoded.device))
            step = torch.cat([encoded, embedded], dim=1)[:, None]  # (1, 1, hidden + words)
            output, states = self.decoder_rnn(step, states)
            token = int(self.decoder_linear(output[0, 0]).argmax())
            written.append(token)
            if token == END:
                break
        return tuple(written)


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
