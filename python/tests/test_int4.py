"""Weights of four bits against the same numbers multiplied by torch."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
gemm_ladder = pytest.importorskip(
    "gemm_ladder", reason="needs gemm_ladder: pip install ./python", exc_type=ImportError
)

from gemm_ladder import Linear, linear_int4, pack_int4  # noqa: E402
from gemm_ladder.int4 import GROUP, quantise  # noqa: E402

needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9,
    reason="needs a Hopper GPU",
)
types = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
SHAPES = [(1, 64, 128), (3, 100, 130), (16, 256, 256), (40, 72, 1000), (333, 200, 640)]


@pytest.fixture(autouse=True)
def _as_they_are():
    torch.manual_seed(1)
    torch._dynamo.reset()


def drawn(n, k, device):
    """numbers, scales, zeros; scales are 1 and 2, so that sums of integers are exact."""
    groups = -(-k // GROUP)
    return (
        torch.randint(0, 16, (k, n), dtype=torch.uint8, device=device),
        torch.randint(1, 3, (groups, n), device=device).float(),
        torch.randint(0, 17, (groups, n), dtype=torch.uint8, device=device),
    )


def unpacked(numbers, scales, zeros):
    """K x N, in double."""
    group = torch.arange(len(numbers), device=numbers.device) // GROUP
    return (numbers.double() - zeros.double()[group]) * scales.double()[group]


@needs_gpu
@types
@pytest.mark.parametrize("m, n, k", SHAPES)
def test_the_product_is_exact(m, n, k, dtype):
    parts = drawn(n, k, "cuda")
    x = torch.randint(-1, 2, (m, k), device="cuda").to(dtype)
    got = linear_int4(x, pack_int4(*parts, dtype))
    assert got.dtype == dtype and torch.equal(got, (x.double() @ unpacked(*parts)).to(dtype))


@needs_gpu
@types
def test_inputs_of_any_shape_and_stride(dtype):
    parts = drawn(24, 130, "cuda")
    weight, w = pack_int4(*parts, dtype), unpacked(*parts)
    bias = torch.randint(-4, 5, (24,), device="cuda").to(dtype)
    wide = torch.randint(-1, 2, (4, 3, 2 * 130 + 1), device="cuda").to(dtype)
    for x in (wide[..., 1:131], wide[..., 1::2], wide[0, 0, :130], wide[:0, :, :130]):
        expected = (x.double() @ w).to(dtype)
        assert torch.equal(linear_int4(x, weight), expected)
        assert torch.equal(linear_int4(x, weight, bias), expected + bias)


@types
@pytest.mark.parametrize("k", [100, 128, 300])
def test_rounding_is_to_the_nearest_step(k, dtype):
    weight = torch.randn(40, k).to(dtype)
    weight[3] = 0  # a group without a step
    weight[4] = weight[4].abs()  # all of one sign
    numbers, scales, zeros = quantise(weight)
    assert numbers.shape == (k, 40) and scales.shape == zeros.shape == (-(-k // GROUP), 40)
    assert numbers.max() <= 15 and zeros.max() <= 15
    group = torch.arange(k) // GROUP
    # The zero point is rounded, too: the least or the largest may be off by half a step more.
    off = (unpacked(numbers, scales, zeros) - weight.t().double()).abs()
    assert (off <= 1.01 * scales.double()[group] + 1e-9).all()
    assert (off <= 0.51 * scales.double()[group] + 1e-9).double().mean() > 0.98
    assert (unpacked(numbers, scales, zeros)[:, 3] == 0).all()


@needs_gpu
@types
@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_is_quantised(bias, dtype):
    layer = Linear(300, 72, bias=bias, device="cuda", dtype=dtype)
    four = layer.quantise()
    w = unpacked(*quantise(layer.weight)).float()
    x = torch.randn(5, 300, device="cuda", dtype=dtype)
    expected = x.float() @ w + (layer.bias.float() if bias else 0)
    torch.testing.assert_close(four(x).float(), expected, rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(four(x), layer(x), rtol=0, atol=0.2)  # four bits are not many
    again = Linear(300, 72, bias=bias, device="cuda", dtype=dtype).quantise()
    again.load_state_dict(four.state_dict())
    assert torch.equal(again(x), four(x))
    compiled = torch.compile(four, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        assert torch.equal(compiled(x), four(x))
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = four(x)
    x.copy_(torch.randn_like(x))
    graph.replay()
    assert torch.equal(y, four(x))
    assert "in_features=300, out_features=72" in repr(four)


@needs_gpu
def test_bad_input_is_refused():
    parts = drawn(64, 256, "cuda")
    weight = pack_int4(*parts, torch.float16)
    x = torch.zeros(2, 256, device="cuda", dtype=torch.float16)
    with pytest.raises(ValueError, match="inputs of 256 numbers"):
        linear_int4(x.bfloat16(), weight)
    with pytest.raises(ValueError, match="but this one has 255"):
        linear_int4(x[:, 1:], weight)
    with pytest.raises(RuntimeError, match="same device"):
        linear_int4(x.cpu(), weight)
    with pytest.raises(RuntimeError, match="packed must be what pack_int4 made of 256 x 640"):
        linear_int4(x, weight._replace(out_features=640))
    with pytest.raises(RuntimeError, match="bias must be a vector of 64"):
        linear_int4(x, weight, torch.zeros(63, device="cuda").half())
    with pytest.raises(RuntimeError, match=r"not implemented|does not require grad"):
        linear_int4(x.requires_grad_(), weight).sum().backward()


def test_what_cannot_be_packed_is_refused():
    numbers, scales, zeros = drawn(64, 256, "cpu")
    numbers[5, 7] = 16
    with pytest.raises(ValueError, match="the number of row 5, column 7 is 16"):
        pack_int4(numbers, scales, zeros, torch.float16)
    numbers[5, 7] = 15
    large = zeros.clone()
    large[1, 2] = 17
    with pytest.raises(ValueError, match="the zero point of row 1, column 2 is 17"):
        pack_int4(numbers, scales, large, torch.float16)
    with pytest.raises(RuntimeError, match="scales must be 2 x 64"):
        pack_int4(numbers, scales[:1], zeros, torch.float16)
    with pytest.raises(RuntimeError, match="must be Byte"):
        pack_int4(numbers.int(), scales, zeros, torch.float16)
    with pytest.raises(RuntimeError, match="multiplies Half and BFloat16"):
        pack_int4(numbers, scales, zeros, torch.float32)
    with pytest.raises(ValueError, match="relu is not part"):
        Linear(8, 8, activation="relu", dtype=torch.float16).quantise()
