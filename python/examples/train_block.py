#!/usr/bin/env python3
"""Trains a small GPT-like model twice, once with torch.nn.Linear and once with gemm_ladder.Linear,
from the same parameters on the same data, and prints both losses.

usage: python/examples/train_block.py [STEPS]
"""

import sys

import torch
from torch import nn
from torch.nn import functional

from gemm_ladder import Linear

VOCABULARY, TEXT, WIDTH, HEADS, BLOCKS, BATCH = 64, 64, 128, 4, 2, 16


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to what it reads. `Linear` is a class: with
    gemm_ladder's the activation is part of the product."""

    def __init__(self, linear: type):
        super().__init__()
        self.before_attention, self.before_layers = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.output = linear(WIDTH, 3 * WIDTH), linear(WIDTH, WIDTH)
        self.down = linear(4 * WIDTH, WIDTH)
        if linear is Linear:
            self.up = Linear(WIDTH, 4 * WIDTH, activation="gelu")
        else:
            self.up = linear(WIDTH, 4 * WIDTH)
        self.after_up = nn.Identity() if linear is Linear else nn.GELU()

    def forward(self, x):
        batch, text, _ = x.shape
        q, k, v = self.qkv(self.before_attention(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, text, HEADS, -1).transpose(1, 2) for t in (q, k, v))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, text, WIDTH))
        return x + self.down(self.after_up(self.up(self.before_layers(x))))


class Model(nn.Module):
    def __init__(self, linear: type):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(linear) for _ in range(BLOCKS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def texts(steps: int, device: str):
    """Each token is the one before plus a constant of the text, modulo the vocabulary."""
    draw = torch.Generator().manual_seed(1)
    for _ in range(steps):
        first, step = (torch.randint(1, 8, (BATCH, 1), generator=draw) for _ in "ab")
        yield ((first + step * torch.arange(TEXT + 1)) % VOCABULARY).to(device)


def losses(model: nn.Module, steps: int, device: str) -> list[float]:
    """Of each step; products are in fp16 on a GPU and in bf16 on a CPU."""
    dtype = torch.float16 if device == "cuda" else torch.bfloat16
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16)
    found = []
    for tokens in texts(steps, device):
        with torch.autocast(device, dtype=dtype):
            logits = model(tokens[:, :-1])
            loss = functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(loss.item())
    return found


def compare(steps: int, device: str) -> tuple[list[float], list[float]]:
    """Losses with gemm_ladder, and with torch."""
    torch.manual_seed(1)
    theirs = Model(nn.Linear).to(device)
    ours = Model(Linear).to(device)
    ours.load_state_dict(theirs.state_dict())
    return losses(ours, steps, device), losses(theirs, steps, device)


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    compared = compare(int(sys.argv[1]) if len(sys.argv) > 1 else 20, device)
    for step, (ours, theirs) in enumerate(zip(*compared, strict=True)):
        print(f"{step:3}  gemm_ladder {ours:.4f}  torch {theirs:.4f}")
