"""A transformer that trains: embeddings, blocks as those of Llama and Mistral, and the loss. The
sizes are those of Mistral 7B, but for the number of layers, and the weights are random."""

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY = 4096, 32, 8, 128, 14336, 32000


def rotated(x: Tensor) -> Tensor:
    """By the angles of its position: x is batch x heads x positions x HEAD."""
    positions = torch.arange(x.shape[2], device=x.device, dtype=torch.float32)
    steps = torch.arange(HEAD // 2, device=x.device, dtype=torch.float32)
    angles = positions[:, None] * 10000.0 ** (steps * (-2 / HEAD))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    one, other = x.chunk(2, -1)
    return torch.cat((one * cos - other * sin, one * sin + other * cos), -1)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_inner = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * HEAD, bias=False)
        self.out = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.gate_up = nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(self.before_attention(x)).unflatten(-1, (-1, HEAD)).transpose(1, 2)
        q, k, v = heads.split((HEADS, KV_HEADS, KV_HEADS), 1)
        a = functional.scaled_dot_product_attention(
            rotated(q), rotated(k), v, is_causal=True, enable_gqa=True
        )
        x = x + self.out(a.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.before_inner(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class Transformer(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.last = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear):  # results are as large as inputs
                nn.init.normal_(module.weight, std=module.in_features**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        """The mean loss of all tokens but the first, each as the next of those before it."""
        x = self.embedding(tokens[:, :-1])
        for block in self.blocks:
            x = block(x)
        words = self.head(self.last(x)).float()
        return functional.cross_entropy(words.flatten(0, 1), tokens[:, 1:].flatten())


def step(model: nn.Module, tokens: Tensor) -> tuple[Tensor, ...]:
    """The loss, and the gradients of all parameters."""
    with torch.enable_grad():
        loss = model(tokens)
        return loss.detach(), *torch.autograd.grad(loss, tuple(model.parameters()))
