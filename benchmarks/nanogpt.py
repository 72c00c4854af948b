"""The baseline: a model of nanoGPT's CPU recipe for Shakespeare's characters, written anew.

GPT-2 blocks (LayerNorm, GELU, learned positions, tied head, no biases), 4 layers, 4 heads, width
128; AdamW, 100 steps of warm-up, a cosine down to a tenth, betas 0.9 and 0.99, weight decay 0.1 on
matrices, gradients clipped at 1.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        B, T, d = x.shape
        q, k, v = self.qkv(self.norm_1(x)).split(d, dim=-1)
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(y.transpose(1, 2).reshape(B, T, d))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class NanoGPT(nn.Module):
    def __init__(self, vocab: int, layers: int = 4, heads: int = 4, width: int = 128, T: int = 64):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Embedding(T, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, vocab, bias=False)
        self.tokens.weight = self.head.weight
        for name, p in self.named_parameters():
            if p.dim() == 2:
                into_stream = name.endswith(("mix.weight", "down.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if into_stream else 0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class NanoTrainer:
    """What `training.Trainer` is for our model: `train_on` a batch, `step`, `total_steps`."""

    def __init__(self, model: NanoGPT, total_steps: int, lr: float, warmup: int = 100) -> None:
        self.model, self.total_steps, self.step = model, total_steps, 0
        self.lr, self.warmup = lr, warmup
        decayed = [p for p in model.parameters() if p.dim() == 2]
        others = [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.99), fused=True)

    def train_on(self, xb, yb) -> float:
        done = (self.step - self.warmup) / max(1, self.total_steps - self.warmup)
        low = 0.1 * self.lr
        rate = low + 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, done)))) * (self.lr - low)
        if self.step < self.warmup:
            rate = self.lr * (self.step + 1) / (self.warmup + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        logits = self.model(torch.from_numpy(xb))
        loss = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(yb).flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss.item()
