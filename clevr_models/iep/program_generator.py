"""From a question's words to its program's tokens: two LSTMs, as Johnson et al. (2017) released them.

Tensors are named and shaped as in the released files: 20 of them, 2,510,008 numbers for CLEVR.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from trex.clevr_models.iep.sizes import GeneratorSizes

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
