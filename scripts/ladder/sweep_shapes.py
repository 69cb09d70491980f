"""The shapes of the sweep: random ones, and the projections of five public language models."""

import math
import random
import re
from dataclasses import dataclass

from ladder.files import is_a, read_text
from ladder.project import ROOT, BadInput

SEED = 21
RANDOM, LARGEST = 180, 16384
# Of a random shape: no more multiplications than 8192^3, about two milliseconds of an H200's.
MOST_PRODUCTS = 8192**3
# Tokens at once: one, a few, a ragged batch, long texts.
ROWS = (1, 8, 32, 100, 512, 2048, 8192)


@dataclass(frozen=True)
class Model:
    """The widths of a language model, in elements; `queries`, `keys`: of all their heads."""

    name: str
    hidden: int
    queries: int
    keys: int
    intermediate: int

    def projections(self) -> dict[str, tuple[int, int]]:
        """N and K of each. `gate` stands for `up` as well, which is as large."""
        return {
            "qkv": (self.queries + 2 * self.keys, self.hidden),
            "output": (self.hidden, self.queries),
            "gate": (self.intermediate, self.hidden),
            "down": (self.hidden, self.intermediate),
        }


MODELS = (
    Model("Llama 2 7B", hidden=4096, queries=4096, keys=4096, intermediate=11008),
    Model("Llama 3.1 8B", hidden=4096, queries=4096, keys=1024, intermediate=14336),
    Model("Llama 3.1 70B", hidden=8192, queries=8192, keys=1024, intermediate=28672),
    Model("Qwen2.5 7B", hidden=3584, queries=3584, keys=512, intermediate=18944),
    Model("Gemma 2 9B", hidden=3584, queries=4096, keys=2048, intermediate=14336),
)

# N and K of a weight of eight public models, and rows as users have them: from 1 to 4096, evenly in
# the logarithm, and none a multiple of 8.
WEIGHTS = {
    "Llama 3.1 8B, qkv": (6144, 4096),
    "Llama 3.1 70B, gate": (28672, 8192),
    "Qwen2.5 7B, gate": (18944, 3584),
    "Gemma 2 9B, down": (3584, 14336),
    "Mistral Small 24B, down": (5120, 32768),
    "Phi-4 14B, down": (5120, 17920),
    "DeepSeek-V3, q and kv": (2112, 7168),
    "gpt-oss 20B, gate and up": (5760, 2880),
}
ANY_ROWS = (1, 2, 3, 5, 7, 11, 17, 29, 43, 67, 101, 151, 227, 347, 523, 787, 1181, 1777, 2683, 4093)

# What a change is tried at first.
USUAL = tuple(re.findall('"(.+?)"', read_text(ROOT / "bench/peers/usual_shapes.inc")))
USUAL_FP32 = ("512", "1024", "2048", "4096", "8192x128x4096", "16x4096x4096", "1000", "3000")


SIZE = "0*[1-9][0-9]{0,9}"
SHAPE = re.compile(f"{SIZE}(?:x{SIZE}x{SIZE})?")


def a_shape(value: object) -> bool:
    """a shape, as 16x4096x4096"""
    return is_a(value, str) and SHAPE.fullmatch(value) is not None


def full(text: str) -> str:
    """MxNxK of "4096" or "16x4096x4096"."""
    if not SHAPE.fullmatch(text):
        raise BadInput(f"no shape: '{text}'; write 4096 or 16x4096x4096")
    parts = text.split("x")
    return "x".join(str(int(p)) for p in (parts * 3 if len(parts) == 1 else parts))


def sizes(shape: str) -> tuple[int, int, int]:
    m, n, k = map(int, full(shape).split("x"))
    return m, n, k


def random_shapes() -> list[str]:
    """Uniform in the logarithm of each dimension."""
    draw = random.Random(SEED)
    shapes: dict[str, None] = {}
    while len(shapes) < RANDOM:
        dimensions = [round(LARGEST ** draw.random()) for _ in "mnk"]
        if math.prod(dimensions) <= MOST_PRODUCTS:
            shapes["x".join(map(str, dimensions))] = None
    return list(shapes)


def model_shapes() -> dict[str, list[str]]:
    """Whose projections they are, by shape."""
    shapes: dict[str, list[str]] = {}
    for model in MODELS:
        for projection, (n, k) in model.projections().items():
            for rows in ROWS:
                shapes.setdefault(f"{rows}x{n}x{k}", []).append(f"{model.name} {projection}")
    return shapes


def sweep_shapes() -> list[str]:
    """All of them, in an order that makes every beginning a fair sample."""
    shapes = sorted({*random_shapes(), *model_shapes()}, key=sizes)
    random.Random(SEED).shuffle(shapes)
    return shapes
