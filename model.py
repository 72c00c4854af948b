"""A small modern GPT: ids in, a row of logits a position out. It keeps documents apart if asked.

Rotary positions, RMS norm before each part, normalised queries and keys, GELU, no biases.
The parts that write into the residual stream and the head start at zero, so an untrained model
finds every token equally likely.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import Attend, attention_mask, choose_attention, positions


def rms_norm(x: Tensor) -> Tensor:
    """`x` with each vector of the last axis scaled to root mean square 1 (arXiv 1910.07467)."""
    return F.rms_norm(x, (x.shape[-1],))


def rotary(positions: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine `(…, 1, T, d/2)` of each position's angles, for heads of `size` d.

    Rotary position embedding, arXiv 2104.09864.
    """
    speed = 10_000.0 ** (-torch.arange(0, size, 2, device=positions.device) / size)  # (d/2,)
    angle = positions[..., None, :, None] * speed  # (…, 1, T, d/2)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """`x` `(…, h, T, d)` with each pair (x_i, x_{i + d/2}) turned by its position's angle."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class Block(nn.Module):
    """Attention, then a two-layer perceptron; each adds to the residual stream `x` `(B, T, d)`."""

    def __init__(self, d_model: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.up = nn.Linear(d_model, 4 * d_model, bias=False)
        self.down = nn.Linear(4 * d_model, d_model, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        """`x` `(B, T, d)` after this block; places look at each other in `attend` alone."""
        B, T, _ = x.shape
        qkv = self.qkv(rms_norm(x)).view(B, T, 3, self.n_head, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, h, T, d/h) each
        q, k = rotate(rms_norm(q), cos, sin), rotate(rms_norm(k), cos, sin)
        return self._after(x, attend(q, k, v))

    def tail(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """The last n places `(B, n, d)` of what `forward` gives, for a mask `(B, n, T)`.

        Only these places ask: keys and values are made for all T, the rest for n.
        """
        B, T, d = x.shape
        n = mask.shape[1]
        to_q, to_kv = self.qkv.weight.split((d, 2 * d))
        q = F.linear(rms_norm(x[:, -n:]), to_q).view(B, n, self.n_head, -1).transpose(1, 2)
        kv = F.linear(rms_norm(x), to_kv).view(B, T, 2, self.n_head, -1)
        k, v = kv.permute(2, 0, 3, 1, 4)  # (B, h, T, d/h) each; q is (B, h, n, d/h)
        q = rotate(rms_norm(q), cos[..., -n:, :], sin[..., -n:, :])
        k = rotate(rms_norm(k), cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1))
        return self._after(x[:, -n:], y)

    def _after(self, x: Tensor, y: Tensor) -> Tensor:
        """`x` with what attention found, `y` `(B, h, T, d/h)`, then with the perceptron's part."""
        x = x + self.mix(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(rms_norm(x))))


def count_weights(vocab_size: int, n_layer: int, d_model: int) -> int:
    """How many weights a GPT has: 12 d² in each block, and the two tables.

    >>> model = GPT(vocab_size=300, n_layer=2, n_head=4, d_model=32)
    >>> count_weights(300, 2, 32) == sum(weight.numel() for weight in model.parameters())
    True
    """
    return 12 * n_layer * d_model**2 + 2 * vocab_size * d_model


class GPT(nn.Module):
    """Ids `(B, T)` → logits `(B, T, V)`. `seed` gives the weights; no global state is touched.

    >>> model = GPT(vocab_size=512, n_layer=2, n_head=4, d_model=32)
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 512])
    """

    def __init__(
        self, vocab_size: int, n_layer: int = 4, n_head: int = 4, d_model: int = 128, seed: int = 0
    ) -> None:
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError(
                f"d_model must be a multiple of 2 * n_head, {2 * n_head}; got {d_model}"
            )
        self.head_size = d_model // n_head
        with torch.device("meta"):  # no values yet: torch's own come from the global generator
            self.embed = nn.Embedding(vocab_size, d_model)
            self.blocks = nn.ModuleList(Block(d_model, n_head) for _ in range(n_layer))
            self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.to_empty(device="cpu")
        generator = torch.Generator().manual_seed(seed)
        nn.init.normal_(self.embed.weight, generator=generator)
        nn.init.zeros_(self.head.weight)
        for block in self.blocks:
            nn.init.normal_(block.qkv.weight, std=d_model**-0.5, generator=generator)
            nn.init.normal_(block.up.weight, std=d_model**-0.5, generator=generator)
            nn.init.zeros_(block.mix.weight)
            nn.init.zeros_(block.down.weight)

    def forward(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        """The logits. Each place sees the ids up to it; with `segments`, those of its document.

        `segments` `(B, T)` number the spans, with 0 for padding, whose logits mean nothing. Then
        positions count from 0 in each document, and it gets the logits that it would get alone.
        """
        x, cos, sin = self._enter(ids, segments)
        attend = choose_attention(segments)
        for block in self.blocks:
            x = block(x, cos, sin, attend)
        return self.head(rms_norm(x))  # (B, T, d) x (d, V) -> (B, T, V)

    def tail_logits(self, ids: Tensor, n: int, segments: Tensor | None = None) -> Tensor:
        """The logits `(B, n, V)` of the last `n` places: those of `forward`, for less work.

        The last block and the head work on these places alone. No other block can leave a place
        out, because the last one looks at them all. A subclass with a `forward` of its own needs
        this of its own too.

        >>> model = GPT(vocab_size=512, n_layer=2, n_head=4, d_model=32)
        >>> model.tail_logits(torch.tensor([[3, 1, 4]]), 2).shape
        torch.Size([1, 2, 512])
        """
        T = ids.shape[1]
        if not 1 <= n <= T:
            raise ValueError(f"n must be from 1 to {T}, the places of a window; got {n}")
        x, cos, sin = self._enter(ids, segments)
        attend = choose_attention(segments)
        *blocks, last = self.blocks
        for block in blocks:
            x = block(x, cos, sin, attend)
        mask = attention_mask(torch.zeros_like(ids[:1]) if segments is None else segments, n)
        x = last.tail(x, cos, sin, mask)
        return self.head(rms_norm(x))  # (B, n, d) x (d, V) -> (B, n, V)

    def _enter(self, ids: Tensor, segments: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """What goes into the blocks: `x` `(B, T, d)`, cosine and sine of the positions."""
        if segments is None:
            places = torch.arange(ids.shape[1], device=ids.device)
        elif segments.shape == ids.shape:
            places = positions(segments)
        else:
            raise ValueError(
                f"segments must have the shape of ids, {tuple(ids.shape)}; got "
                f"{tuple(segments.shape)}; a window's T + 1 segments lose the last one here"
            )
        return rms_norm(self.embed(ids)), *rotary(places, self.head_size)

    def matrices(self) -> list[nn.Parameter]:
        """The matrices inside the blocks: what Muon trains. Embedding and head are tables."""
        return list(self.blocks.parameters())


@torch.inference_mode()
def sample(
    model: GPT, prompt: list[int], n: int, seq_len: int, *, seed: int = 0, temperature: float = 0.7
) -> list[int]:
    """`n` ids drawn one by one after `prompt`, each given the last `seq_len` ids.

    A draw is from softmax(logits / temperature): argmax(logits + Gumbel noise) is one. `seed`
    gives the noise.
    """
    generator = torch.Generator().manual_seed(seed)
    ids = list(prompt)
    for _ in range(n):
        context = torch.tensor([ids[-seq_len:]], device=model.head.weight.device)
        logits = model(context)[0, -1].float().cpu() / temperature
        noise = -torch.empty_like(logits).exponential_(generator=generator).log()
        ids.append(int((logits + noise).argmax()))
    return ids[len(prompt) :]
