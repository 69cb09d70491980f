"""A step of decoding of a transformer with random weights: one token for each of a batch of texts
that are already long. The sizes are those of Llama 3 8B; layers are the same weights in memory of
their own, for what is in a weight changes no time."""

import torch
from torch import Tensor
from torch.nn import functional

WIDTH, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY = 4096, 32, 8, 128, 14336, 128256
KV_WIDTH = KV_HEADS * HEAD


def weights(dtype: torch.dtype) -> dict[str, Tensor]:
    """Of a layer: out_features x in_features, such that results are as large as inputs."""
    sizes = {
        "qkv": (WIDTH + 2 * KV_WIDTH, WIDTH),
        "out": (WIDTH, WIDTH),
        "gate_up": (2 * INNER, WIDTH),
        "down": (WIDTH, INNER),
    }
    return {
        name: (torch.randn(size, device="cuda") / size[1] ** 0.5).to(dtype)
        for name, size in sizes.items()
    }


class Decoder:
    """`linears`: of each layer, a function for each name in weights(). `head`: VOCABULARY x
    WIDTH."""

    def __init__(self, linears: list[dict], head: Tensor, batch: int, length: int):
        self.linears, self.head = linears, head
        self.norm = torch.ones(WIDTH, device="cuda", dtype=head.dtype)
        size = (len(linears), 2, batch, KV_HEADS, length, HEAD)
        self.cache = torch.randn(size, device="cuda", dtype=head.dtype)

    def step(self, tokens: Tensor) -> Tensor:
        """The next token of each text, which takes the last place of the cache."""
        x = functional.embedding(tokens, self.head)
        for linears, cache in zip(self.linears, self.cache, strict=True):
            h = functional.rms_norm(x, (WIDTH,), self.norm)
            q, k, v = linears["qkv"](h).split((WIDTH, KV_WIDTH, KV_WIDTH), -1)
            cache[0, :, :, -1] = k.unflatten(-1, (KV_HEADS, HEAD))
            cache[1, :, :, -1] = v.unflatten(-1, (KV_HEADS, HEAD))
            # Heads that share keys are as many queries of one head.
            q = q.unflatten(-1, (KV_HEADS, HEADS // KV_HEADS, HEAD))
            a = functional.scaled_dot_product_attention(q, *cache)
            x = x + linears["out"](a.flatten(1))
            h = functional.rms_norm(x, (WIDTH,), self.norm)
            gate, up = linears["gate_up"](h).chunk(2, -1)
            x = x + linears["down"](functional.silu(gate) * up)
        return functional.linear(x, self.head).argmax(-1)
