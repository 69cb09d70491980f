"""The operators against torch's own. What needs a GPU is skipped by name where there is none; the
rest runs on a CPU, where the operators are torch's own but for what is around them."""

import copy
import threading

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
gemm_ladder = pytest.importorskip(
    "gemm_ladder", reason="needs gemm_ladder: pip install ./python", exc_type=ImportError
)
from torch.nn import functional  # noqa: E402

from gemm_ladder import (  # noqa: E402
    Linear,
    bmm,
    explain,
    int_mm,
    linear,
    matmul,
    replace_linears,
)

OPS = torch.ops.gemm_ladder
ACTIVATIONS = {
    None: lambda x: x,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}
HALF = torch.float16
# Of the library; all others are torch's own on a GPU, too.
TYPES = [torch.float16, torch.bfloat16, torch.float32]

needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9,
    reason="needs a Hopper GPU",
)
devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
types = pytest.mark.parametrize("dtype", TYPES, ids=str)


@pytest.fixture(autouse=True)
def _as_they_are():
    torch.manual_seed(1)
    torch._dynamo.reset()


def uniform(*shape, dtype=torch.float32, device="cpu", grad=False):
    made = (torch.rand(shape, device=device) * 2 - 1).to(dtype)
    return made.requires_grad_() if grad else made


def integers(*shape, dtype=HALF, device="cuda"):
    """Of which sums are exact."""
    return torch.randint(-2, 3, shape, device=device).to(dtype)


def assert_close(got, expected):
    """Both add up in fp32 and round once."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    assert got.device == expected.device
    loose = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-4, torch.float64: 1e-9}
    tolerance = loose[got.dtype]
    size = expected.abs().max().item() if expected.numel() else 0.0
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance * max(size, 1.0))


# ---- values ------------------------------------------------------------------------------------

SHAPES = [
    ((3, 4), (4, 5)),
    ((64, 128), (128, 256)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 7, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((6, 1, 3, 4), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((3, 4), (4, 0)),
    ((0, 3, 4), (4, 5)),
]


@devices
@types
@pytest.mark.parametrize("a_shape, b_shape", SHAPES, ids=str)
def test_shapes_are_those_of_torch_matmul(a_shape, b_shape, dtype, device):
    a, b = (uniform(*shape, dtype=dtype, device=device) for shape in (a_shape, b_shape))
    assert_close(matmul(a, b), torch.matmul(a, b))


@devices
@types
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_bias_and_activation(activation, with_bias, dtype, device):
    a, b = uniform(48, 64, dtype=dtype, device=device), uniform(64, 96, dtype=dtype, device=device)
    bias = uniform(96, dtype=dtype, device=device) if with_bias else None
    expected = a.double() @ b.double()
    if with_bias:
        expected = expected + bias.double()
    got = matmul(a, b, bias, activation)
    assert_close(got, ACTIVATIONS[activation](expected).to(dtype))
    assert_close(matmul(a[None], b, bias, activation)[0], got)


@devices
def test_linear_is_that_of_torch(device):
    x, weight, bias = (uniform(*s, device=device) for s in ((2, 5, 16), (24, 16), (24,)))
    assert_close(linear(x, weight, bias), functional.linear(x, weight, bias))
    assert_close(linear(x, weight, None, "relu"), functional.linear(x, weight).relu())


@needs_gpu
@types
@pytest.mark.parametrize("activation", [None, "gelu"])
@pytest.mark.parametrize("m, n, k", [(256, 512, 192), (1, 256, 512), (33, 264, 136), (8, 8, 8)])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_every_layout_by_the_library(layout, m, n, k, activation, dtype):
    a = integers(m, k, dtype=dtype) if layout[0] == "N" else integers(k, m, dtype=dtype).t()
    b = integers(k, n, dtype=dtype) if layout[1] == "N" else integers(n, k, dtype=dtype).t()
    if m % 8 == 0 and dtype != torch.float32:
        assert explain(a, b) == "the library"
    expected = ACTIVATIONS[activation](a.double() @ b.double()).to(dtype)
    for multiply in (matmul, OPS.copied_mm):
        got = multiply(a, b, None, activation)
        if activation:
            assert_close(got, expected)
        else:
            assert torch.equal(got, expected)


@needs_gpu
@types
@pytest.mark.parametrize("m, n, k", [(100, 100, 100), (1, 7, 5), (33, 257, 130), (300, 521, 1041)])
def test_rows_that_are_not_aligned(m, n, k, dtype):
    a, b, bias = (integers(*s, dtype=dtype) for s in ((m, k), (k, n), (n,)))
    expected = (a.double() @ b.double() + bias.double()).to(dtype)
    for multiply in (OPS.mm, OPS.copied_mm):  # whether or not copies pay
        got = multiply(a, b, bias)
        assert torch.equal(got, expected) and got.is_contiguous()


@needs_gpu
def test_views_of_all_kinds():
    whole = integers(3, 600, 700)
    b = integers(256, 128)
    for a in (
        whole[1, 7:300, 16:272],  # rows with something between
        whole[1, 7:300, 1:257],  # which are not aligned
        whole[1, ::2, 8:264],
        whole[1, :, ::2][:256, :256],  # neither rows nor columns
        whole[0, :1, :256].expand(64, 256),
        whole[0, :256, :300].t()[:, :256],
        whole.permute(2, 1, 0)[:300, :256, 1],
        torch.as_strided(whole, (64, 256), (1, 1)),  # rows overlap
    ):
        assert torch.equal(matmul(a, b), (a.double() @ b.double()).half())
    bias = integers(2 * 128)
    for vector in (bias[::2], bias[3:131]):
        expected = (whole[0, :8, :256].double() @ b.double() + vector.double()).half()
        assert torch.equal(matmul(whole[0, :8, :256], b, vector), expected)


@needs_gpu
def test_a_batch_of_large_products_by_the_library():
    a, b = integers(2, 2048, 2048), integers(2, 2048, 2056)
    assert explain(a, b) == "the library, in one launch"
    assert explain(a, b[:1].expand(2, -1, -1)) == "the library, in one launch"
    assert explain(a.mT, b) == "the library, a launch for each product"
    assert torch.equal(matmul(a, b), torch.matmul(a, b))
    assert torch.equal(matmul(a, b.mT.contiguous().mT), torch.matmul(a, b))
    assert torch.equal(matmul(a, b[:1]), torch.matmul(a, b[:1]))


# ---- fp32 of 16 bits ---------------------------------------------------------------------------

HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)


@devices
@HALVES
@pytest.mark.parametrize("m, n, k", [(1, 8, 8), (33, 257, 131), (300, 520, 1048), (8, 3, 0)])
def test_out_dtype_is_the_sums_as_they_are(m, n, k, dtype, device):
    """Integers whose sums are exact in fp32, and not in 16 bits."""
    a = torch.randint(-100, 101, (m, k), device=device)
    b = torch.randint(-100, 101, (k, n), device=device)
    expected = (a.double() @ b.double()).float()
    a, b = a.to(dtype), b.to(dtype)
    bias = uniform(n, dtype=dtype, device=device)
    for left in (a, a.t().contiguous().t()):
        for right in (b, b.t().contiguous().t()):
            got = matmul(left, right, out_dtype=torch.float32)
            assert got.dtype == torch.float32 and torch.equal(got, expected)
    weight = b.t().contiguous()
    got = linear(a.expand(2, m, k), weight, bias, "relu", out_dtype=torch.float32)
    assert torch.equal(got, (expected + bias).relu().expand(2, m, n))
    if m > 0 and k > 0:
        assert torch.equal(matmul(a[0], b, out_dtype=torch.float32), expected[0])


@devices
@HALVES
def test_gradients_of_out_dtype(dtype, device):
    made = [uniform(*s, dtype=dtype, device=device) for s in ((3, 24, 64), (32, 64), (32,))]
    ours, theirs = ([t.clone().requires_grad_() for t in made] for _ in range(2))
    weights = uniform(3, 24, 32, device=device)
    (linear(*ours, "gelu", out_dtype=torch.float32) * weights).sum().backward()
    (functional.gelu(functional.linear(*(t.float() for t in theirs))) * weights).sum().backward()
    for got, expected in zip(ours, theirs, strict=True):
        assert_close(got.grad, expected.grad)


@devices
def test_out_dtype_under_autocast_and_compiled(device):
    x, weight = uniform(4, 16, device=device), uniform(8, 16, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        got = linear(x, weight, out_dtype=torch.float32)
    assert_close(got, x.bfloat16().float() @ weight.bfloat16().float().t())
    compiled = torch.compile(matmul, fullgraph=True, backend="aot_eager")
    a, b = x.bfloat16(), weight.bfloat16().t()
    assert_close(compiled(a, b, out_dtype=torch.float32), got)
    torch.library.opcheck(OPS.mm_to_float.default, (a.clone().requires_grad_(), b))


def test_out_dtype_is_refused_in_one_line():
    a, b, batch = (torch.ones(s, dtype=HALF) for s in ((3, 4), (4, 5), (2, 4, 5)))
    with pytest.raises(ValueError, match="but may only be"):
        matmul(a, b, out_dtype=HALF)
    with pytest.raises(ValueError, match="where b is a matrix"):
        matmul(a, batch, out_dtype=torch.float32)
    with pytest.raises(RuntimeError, match="is for matrices of Half and BFloat16, but a is 2-D of"):
        matmul(a.float(), b.float(), out_dtype=torch.float32)
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(3x4 and 5x4\)"):
        matmul(a, b.t(), out_dtype=torch.float32)


# ---- e4m3 of 16 bits ---------------------------------------------------------------------------


def e4m3(exact):
    """The nearest, or 448."""
    return exact.clamp(-448, 448).to(torch.float8_e4m3fn)


def assert_same_bytes(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape and got.is_contiguous()
    assert torch.equal(got.view(torch.uint8), expected.view(torch.uint8))


@devices
@HALVES
@pytest.mark.parametrize("m, n, k", [(1, 8, 8), (33, 257, 131), (300, 520, 1048), (8, 3, 0)])
def test_a_result_in_float8_is_the_nearest(m, n, k, dtype, device):
    """Of integers, whose sums are exact, times powers of two."""
    a, b = integers(m, k, dtype=dtype, device=device), integers(k, n, dtype=dtype, device=device)
    sums = a.double() @ b.double()
    scales = 2.0 ** torch.randint(-3, 5, (n,), device=device)
    for left in (a, a.t().contiguous().t()):
        for right in (b, b.t().contiguous().t()):
            got = matmul(left, right, out_dtype=torch.float8_e4m3fn, scale=0.5)
            assert_same_bytes(got, e4m3((sums * 0.5).float()))
    weight = b.t().contiguous()
    made = {"out_dtype": torch.float8_e4m3fn, "scale": 0.25}
    got = linear(a.expand(2, m, k), weight, column_scale=scales, **made)
    assert_same_bytes(got, e4m3((sums * 0.25 * scales).float()).expand(2, m, n).contiguous())
    apart = torch.stack((scales, scales), 1)[:, 1]
    assert_same_bytes(linear(a, weight, column_scale=apart, **made), got[0])


@devices
def test_a_result_in_float8_compiles(device):
    a, b = uniform(48, 64, dtype=HALF, device=device), uniform(64, 32, dtype=HALF, device=device)
    compiled = torch.compile(matmul, fullgraph=True, backend="aot_eager")
    made = {"out_dtype": torch.float8_e4m3fn, "scale": 4.0}
    assert_same_bytes(compiled(a, b, **made), matmul(a, b, **made))
    torch.library.opcheck(OPS.mm_to_float8.default, (a, b, 4.0))


def test_a_result_in_float8_is_refused_in_one_line():
    a, b = (torch.ones(s, dtype=HALF) for s in ((3, 4), (4, 5)))
    made = {"out_dtype": torch.float8_e4m3fn}
    for given in ({"bias": b[0]}, {"activation": "relu"}):
        with pytest.raises(ValueError, match="no bias and no activation"):
            matmul(a, b, **made, **given)
    with pytest.raises(ValueError, match="belong to a result in float8_e4m3fn"):
        matmul(a, b, scale=2)
    with pytest.raises(RuntimeError, match="is for Half and BFloat16, but a is Float"):
        matmul(a.float(), b.float(), **made)
    with pytest.raises(RuntimeError, match="column_scale must be 5 numbers of Float on cpu"):
        matmul(a, b, **made, column_scale=torch.ones(4))


# ---- int8 --------------------------------------------------------------------------------------

INT_SHAPES = [(1, 8, 8), (17, 24, 32), (33, 257, 131), (300, 520, 1048), (8, 3, 0), (0, 3, 8)]


def bytes_of(*shape, device):
    return torch.randint(-128, 128, shape, dtype=torch.int8, device=device)


@devices
@pytest.mark.parametrize("m, n, k", [*INT_SHAPES, (1500, 2048, 64), (4104, 4096, 16)])
def test_int_mm_is_exact(m, n, k, device):
    a, b = bytes_of(m, k, device=device), bytes_of(k, n, device=device)
    expected = (a.double() @ b.double()).int()
    for left in (a, a.t().contiguous().t()):
        for right in (b, b.t().contiguous().t()):
            got = int_mm(left, right)
            assert got.dtype == torch.int32 and torch.equal(got, expected)


@devices
@pytest.mark.parametrize("m, n, k", INT_SHAPES)
def test_int_mm_makes_8_bits_of_its_sums(m, n, k, device):
    a, b = bytes_of(m, k, device=device), bytes_of(k, n, device=device)
    sums, scale = (a.double() @ b.double()).float(), 100 / (1 + 5000 * k**0.5)
    columns = torch.rand(n, device=device) + 0.5
    for column_scale in (None, columns, torch.stack((columns, columns), 1)[:, 1]):
        factor = torch.tensor(scale, device=device).float()
        factor = factor if column_scale is None else column_scale * factor
        for zero_point in (0, -3):
            expected = ((sums * factor).round() + zero_point).clamp(-128, 127).to(torch.int8)
            got = int_mm(a, b, scale=scale, column_scale=column_scale, zero_point=zero_point)
            assert got.dtype == torch.int8 and torch.equal(got, expected)


@devices
def test_int_mm_compiles(device):
    a, b = bytes_of(32, 64, device=device), bytes_of(64, 48, device=device)
    compiled = torch.compile(int_mm, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(a, b), int_mm(a, b))
    assert torch.equal(compiled(a, b, scale=0.01), int_mm(a, b, scale=0.01))
    torch.library.opcheck(OPS.int_mm.default, (a, b))
    torch.library.opcheck(OPS.int_mm.default, (a, b, 0.01))


@devices
def test_int_mm_refuses_in_one_line(device):
    a, b = bytes_of(3, 4, device=device), bytes_of(4, 5, device=device)
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(3x4 and 5x4\)"):
        int_mm(a, b.t())
    with pytest.raises(RuntimeError, match="int_mm multiplies Char, but a is Half"):
        int_mm(a.half(), b.half())
    with pytest.raises(RuntimeError, match="takes two matrices, but a is 1-D and b is 2-D"):
        int_mm(a[0], b)
    with pytest.raises(ValueError, match="zero_point is 128, but must be from -128 to 127"):
        int_mm(a, b, scale=1.0, zero_point=128)
    with pytest.raises(ValueError, match="belong to a result of int8, which has a scale"):
        int_mm(a, b, zero_point=1)


# ---- TF32 --------------------------------------------------------------------------------------


@pytest.fixture
def tf32(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)


def floats(*shape, device="meta"):
    return torch.empty(shape, device=device)


def test_the_library_multiplies_in_tf32_what_fills_a_gpu(tf32):
    own, ours = "torch's own: in TF32 it is as fast, or faster", "the library, in TF32"
    assert explain(floats(512, 4096), floats(4096, 4096).t()) == ours
    for a, b in (
        (floats(512, 4096), floats(4096, 4096)),  # which 19 would transpose
        (floats(4096, 512).t(), floats(4096, 4096).t()),
        (floats(64, 4096), floats(4096, 4096).t()),  # few tiles
        (floats(1024, 7168), floats(2112, 7168).t()),  # a tile more than multiprocessors
        (floats(512, 4097)[:, 1:], floats(4096, 4096).t()),
        (floats(512, 4094), floats(4096, 4094).t()),
        (floats(512, 4096), floats(4094, 4096).t()),
        (floats(4, 512, 4096), floats(4, 4096, 4096).mT),
    ):
        assert explain(a, b) == own


@needs_gpu
def test_products_in_tf32(tf32):
    x, weight = integers(700, 1032, dtype=torch.float32), integers(4100, 1032, dtype=torch.float32)
    assert explain(x, weight.t()) == "the library, in TF32"
    exact = (x.double() @ weight.double().t()).float()
    assert torch.equal(linear(x, weight), exact)
    out = torch.full((700, 4104), 7.0, device="cuda")
    matmul(x, weight.t(), out=out[:, :4100])
    assert torch.equal(out[:, :4100], exact) and (out[:, 4100:] == 7).all()
    bias = integers(4100, dtype=torch.float32)
    assert torch.equal(linear(x, weight, bias, "relu"), (exact + bias).relu())
    x, weight = uniform(700, 1032, device="cuda"), uniform(4100, 1032, device="cuda")
    exact = x.double() @ weight.double().t()
    errors = [(f(x, weight) - exact).abs().max() for f in (linear, functional.linear)]
    assert 1e-4 < errors[0] < 2 * errors[1]  # not those of fp32, nor worse than torch's


# ---- batches -----------------------------------------------------------------------------------

BATCHES = [(3, 40, 64, 48), (64, 64, 128, 64), (5, 7, 24, 8), (2, 1, 8, 8), (3, 33, 21, 17)]


@devices
@types
@pytest.mark.parametrize("count, m, n, k", BATCHES)
def test_bmm_is_that_of_torch(count, m, n, k, dtype, device):
    made = {"dtype": dtype, "device": device}
    for a in (uniform(count, m, k, **made), uniform(count, k, m, **made).mT):
        for b in (uniform(count, k, n, **made), uniform(count, n, k, **made).mT):
            expected = torch.bmm(a, b)
            assert_close(bmm(a, b), expected)
            for out in (
                torch.empty_like(expected),
                expected.new_empty(m, count, n).transpose(0, 1),
            ):
                assert bmm(a, b, out=out) is out
                assert_close(out, expected)
    assert_close(bmm(a, b[:1].expand(count, k, n)), torch.bmm(a, b[:1].expand(count, k, n)))


@needs_gpu
@types
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("count, m, n, k", BATCHES)
def test_every_batch_by_the_library(count, m, n, k, layout, dtype):
    a = integers(count, m, k, dtype=dtype)
    b = integers(count, k, n, dtype=dtype)
    expected = (a.double() @ b.double()).to(dtype)
    a = a.mT.contiguous().mT if layout[0] == "T" else a
    b = b.mT.contiguous().mT if layout[1] == "T" else b
    bias = integers(n, dtype=dtype)
    assert torch.equal(OPS.copied_mm(a, b), expected)
    assert torch.equal(OPS.copied_mm(a, b, bias), (expected.double() + bias.double()).to(dtype))
    apart = torch.full((count, m, n + 8), 7, dtype=dtype, device="cuda")
    OPS.matmul.out(a, b, out=apart[..., :n])
    assert torch.equal(apart[..., :n], expected) and (apart[..., n:] == 7).all()


@needs_gpu
@pytest.mark.parametrize("count, m, by", [(64, 512, "batch"), (96, 64, "grouped")])
def test_a_batch_is_one_launch(count, m, by):
    a, b = integers(count, m, 512), integers(count, 512, 512)
    assert explain(a, b) == "the library, in one launch"
    expected = torch.bmm(a.double(), b.double()).half()
    bmm(a, b)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        got = bmm(a, b)
        torch.cuda.synchronize()
    kernels = [event.name for event in profile.events() if "gemm_kernel" in event.name]
    assert len(kernels) == 1 and by in kernels[0]
    assert torch.equal(got, expected)


OWN_BATCH = "torch's own: small products of a batch are faster in one launch"


def test_a_batch_of_many_is_one_launch_of_fp16_by_rows():
    a, b = meta(96, 64, 512), meta(96, 512, 256)
    assert explain(a, b) == "the library, in one launch"
    for small in (
        (a, meta(96, 256, 512).mT),
        (meta(96, 512, 64).mT, b),
        (a, meta(1, 512, 256).expand(96, -1, -1)),
        (meta(96, 64, 520)[..., 8:], b),
        (meta(96, 64, 513)[..., 1:], b),
        (meta(96, 64, 521), meta(96, 521, 256)),
        (meta(96, 64, 520), meta(96, 520, 260)),
        (a.bfloat16(), b.bfloat16()),
        (meta(96, 56, 1024), meta(96, 1024, 256)),
        (meta(96, 64, 504), meta(96, 504, 256)),
    ):
        assert explain(*small) == OWN_BATCH


def test_a_batch_of_few_is_one_launch_wherever_it_lies():
    one, each = "the library, in one launch", "the library, a launch for each product"
    a, b = meta(64, 64, 512), meta(64, 512, 256)
    for x, y in (
        (a, b),
        (a, meta(64, 256, 512).mT),
        (a.bfloat16(), b.bfloat16()),
        (meta(64, 64, 520)[..., 8:], b),
        (a, b[:1].expand(64, -1, -1)),
    ):
        assert explain(x, y) == one
    for x, y in (
        (meta(65, 64, 512), meta(65, 256, 512).mT),
        (meta(64, 512, 64).mT, b),
        (meta(64, 64, 504), meta(64, 504, 256)),
        (meta(64, 64, 513)[..., 1:], b),
        (meta(64, 56, 8192), meta(64, 8192, 256)),
        (meta(64, 512, 248), meta(64, 248, 512)),  # a short K
        (meta(40, 200, 320), meta(40, 320, 264)),  # about half of its tiles
    ):
        assert explain(x, y) == OWN_BATCH
    large = meta(4, 2048, 4096)
    assert explain(large, meta(4, 4096, 2048)) == one
    assert explain(large, meta(4, 2048, 4096).mT) == one
    assert explain(large.bfloat16(), meta(4, 4096, 2048, dtype=torch.bfloat16)) == one
    assert explain(meta(4, 4096, 2048).mT, meta(4, 4096, 2048)) == each
    assert explain(large, meta(4, 4096, 8192)) == each  # more than two waves
    many = meta(65, 2048, 4096), meta(65, 2048, 4096).mT
    assert explain(*many) == "the library, a launch for each 64 products"


@devices
@types
def test_gradients_of_bmm_are_those_of_torch(dtype, device):
    made = [uniform(*s, dtype=dtype, device=device) for s in ((5, 24, 64), (5, 64, 32))]
    ours, theirs = ([t.clone().requires_grad_() for t in made] for _ in range(2))
    weights = uniform(5, 24, 32, dtype=dtype, device=device)
    (bmm(*ours) * weights).sum().backward()
    (torch.bmm(*theirs) * weights).sum().backward()
    for got, expected in zip(ours, theirs, strict=True):
        assert_close(got.grad, expected.grad)


def test_gradients_of_bmm_in_double():
    a, b = (uniform(*s, dtype=torch.float64, grad=True) for s in ((2, 3, 4), (2, 4, 5)))
    assert torch.autograd.gradcheck(bmm, (a, b))
    assert torch.autograd.gradgradcheck(bmm, (a, b))


@devices
@pytest.mark.parametrize("dynamic", [False, True])
def test_bmm_compiles_without_a_break(dynamic, device):
    def scores(q, k):
        return bmm(q, k.mT).softmax(-1)

    backend = "inductor" if device == "cuda" else "aot_eager"
    compiled = torch.compile(scores, fullgraph=True, dynamic=dynamic, backend=backend)
    for rows in (8, 24):
        q, k = (uniform(4, rows, 16, device=device, grad=True) for _ in range(2))
        got = compiled(q, k)
        assert_close(got, scores(q, k))
        got.square().sum().backward()
        assert q.grad is not None and k.grad is not None


@devices
@pytest.mark.parametrize(
    "a, b, said",
    [
        ((2, 3, 4), (1, 4, 5), r"have the shapes \[2, 3, 4\] and \[1, 4, 5\]"),
        ((3, 4), (4, 5), "two batches of as many matrices"),
        ((2, 3, 4), (4, 5), "two batches of as many matrices"),
        ((2, 3, 4), (2, 3, 5), r"cannot be multiplied \(3x4 and 3x5\)"),
    ],
)
def test_bmm_refuses_in_one_line(a, b, said, device):
    with pytest.raises(RuntimeError, match=said) as refused:
        bmm(torch.ones(a, device=device), torch.ones(b, device=device))
    assert "\n" not in str(refused.value)


# ---- which way ---------------------------------------------------------------------------------


def meta(*shape, dtype=HALF):
    return torch.empty(shape, dtype=dtype, device="meta")


def test_the_way_is_the_librarys_where_rows_are_aligned():
    a, b = meta(4096, 4096), meta(4096, 4096)
    assert explain(a, b) == "the library"
    assert explain(a.t(), b.t()) == "the library"
    assert explain(a[:, 8:1032], b[:1024]) == "the library"
    assert explain(meta(1, 64), meta(64, 64)) == "the library"
    assert explain(meta(1, 61), meta(61, 64)) == "the library"  # the only row may end anywhere


def test_copies_are_made_where_they_pay():
    large = "the library on aligned copies of"
    why = ": rows do not start at multiples of 16 bytes"
    assert explain(meta(4095, 4093), meta(4093, 4097)) == f"{large} a b C{why}"
    assert explain(meta(4096, 4096), meta(4096, 4097)) == f"{large} b C{why}"
    assert explain(meta(4096, 4097)[:, 1:], meta(4096, 4096)) == f"{large} a{why}"
    assert explain(meta(4096, 8192)[:, ::2], meta(4096, 4096)) == f"{large} a{why}"
    assert explain(meta(64, 63), meta(63, 64)).startswith("torch's own: rows")
    assert explain(meta(1, 4096), meta(4096, 4097)).startswith("torch's own: rows")
    single = {"dtype": torch.float32}
    assert explain(meta(4096, 4096, **single), meta(4096, 4097, **single)).startswith("torch's own")
    # Of those that were measured: 9.0 us against 13.8, and 23.3 against 15.9.
    assert explain(meta(8074, 329), meta(329, 29)).startswith("torch's own: rows")
    assert explain(meta(318, 3885), meta(3885, 517)) == f"{large} a b C{why}"


def test_the_way_is_torchs_where_the_library_has_none():
    cpu = torch.ones(8, 8, dtype=HALF)
    assert explain(cpu, cpu) == "torch's own: the tensors are on the CPU"
    double = meta(64, 64, dtype=torch.float64)
    assert explain(double, double) == "torch's own: the library has no float64"
    single = meta(64, 64, dtype=torch.float32)
    assert explain(single, single) == "the library"
    assert explain(single, single.t()).startswith("torch's own: of float32")
    assert explain(meta(64, 0), meta(0, 64)).startswith("torch's own: there is nothing")
    huge = meta(8, 1).expand(8, 2**31 - 512)
    assert explain(huge, huge.t()).startswith("torch's own: a dimension is")
    far = torch.as_strided(meta(1), (4096, 4096), (2**40, 1))
    assert explain(far, meta(4096, 4096)).startswith("the library on aligned copies of a")


# ---- into a tensor that is there ---------------------------------------------------------------


@devices
@types
def test_out(dtype, device):
    a, b = uniform(32, 64, dtype=dtype, device=device), uniform(64, 40, dtype=dtype, device=device)
    expected = matmul(a, b, None, "relu")
    whole = torch.full((32, 80), 7.0, dtype=dtype, device=device)
    for out in (
        torch.empty_like(expected),
        whole[:, 8:48],
        torch.empty(40, 32, dtype=dtype, device=device).t(),
        torch.empty(32, 41, dtype=dtype, device=device)[:, 1:],
    ):
        version = out._version
        assert matmul(a, b, None, "relu", out=out) is out
        assert torch.equal(out, expected) and out._version > version
    assert (whole[:, :8] == 7).all() and (whole[:, 48:] == 7).all()
    odd, narrow, bias = b[:, :33], torch.empty_like(expected[:, :33]), expected[0, :33]
    matmul(a, odd, bias, "gelu", out=narrow)
    assert_close(narrow, matmul(a, odd, bias, "gelu"))
    batch = torch.empty(2, 32, 40, dtype=dtype, device=device)
    assert_close(matmul(torch.stack([a, a]), b, out=batch)[1], matmul(a, b))


# ---- what is refused ---------------------------------------------------------------------------


def ones(*shape, dtype=None, device=None):
    return lambda where: torch.ones(shape, dtype=dtype, device=device or where)


@devices
@pytest.mark.parametrize(
    "changed, error, said",
    [
        ({"b": ones(3, 5)}, RuntimeError, r"cannot be multiplied \(3x4 and 3x5\)"),
        ({"b": ones(4, 5, dtype=HALF)}, RuntimeError, "same dtype, but got: Float != Half"),
        ({"b": ones(4, 5, device="meta")}, RuntimeError, "on the same device, but a is on"),
        ({"a": ones()}, RuntimeError, "at least 1D, but they are 0D and 2D"),
        ({"bias": ones(5, dtype=HALF)}, RuntimeError, "same dtype"),
        ({"bias": ones(4)}, RuntimeError, r"bias has the shape \[4\]"),
        ({"bias": ones(1, 5)}, RuntimeError, "bias has the shape"),
        ({"activation": lambda _: "tanh"}, ValueError, "activation is 'tanh', but must be relu"),
        ({"out": ones(5, 3)}, RuntimeError, r"out has the shape \[5, 3\], but the product has"),
        ({"out": ones(3, 5, dtype=HALF)}, RuntimeError, "same dtype"),
        ({"out": lambda at: ones(1, 5)(at).expand(3, 5)}, RuntimeError, "memory location"),
    ],
)
def test_refused_in_one_line(changed, error, said, device):
    usual = {"a": ones(3, 4), "b": ones(4, 5)}
    made = {name: make(device) for name, make in (usual | changed).items()}
    with pytest.raises(error, match=said):
        matmul(**made)


@devices
@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool, torch.complex64])
def test_other_types_are_refused(dtype, device):
    ones = torch.ones(8, 8, device=device).to(dtype)
    with pytest.raises(RuntimeError, match="multiplies Half, BFloat16, Float and Double, but a is"):
        matmul(ones, ones)


def test_integers_have_no_gradient():
    with pytest.raises(RuntimeError, match="floating point"):
        torch.ones(2, 2, dtype=torch.int32).requires_grad_()


@devices
def test_out_has_no_gradient_and_no_overlap(device):
    a, b = uniform(8, 8, device=device, grad=True), uniform(8, 8, device=device)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        matmul(a, b, out=torch.empty(8, 8, device=device))
    with pytest.raises(RuntimeError, match="memory location"):
        matmul(b, b, out=b)


@needs_gpu
def test_two_devices_are_refused():
    with pytest.raises(RuntimeError, match="same device, but a is on cuda:0 and b is on cpu"):
        matmul(torch.ones(8, 8, device="cuda"), torch.ones(8, 8))
    with pytest.raises(RuntimeError, match="same device"):
        matmul(torch.ones(8, 8, device="cuda"), torch.ones(8, 8).cuda(), torch.ones(8))


@needs_gpu
def test_huge_strides():
    memory = integers(3 * 2**27)
    a = torch.as_strided(memory, (2, 64), (2**28, 1))
    b = integers(64, 64)
    assert torch.equal(matmul(a, b), (a.double() @ b.double()).half())


# ---- gradients ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5))])
@pytest.mark.parametrize("activation", [None, "gelu", "silu"])
def test_gradients_in_double(shapes, activation):
    a, b = (uniform(*s, dtype=torch.float64, grad=True) for s in shapes)
    bias = uniform(5, dtype=torch.float64, grad=True)
    multiply = lambda *arguments: matmul(*arguments, activation)  # noqa: E731
    assert torch.autograd.gradcheck(multiply, (a, b, bias))
    assert torch.autograd.gradgradcheck(multiply, (a, b, bias))


@needs_gpu
def test_gradients_in_fp32():
    a, b, bias = (uniform(*s, device="cuda", grad=True) for s in ((8, 16), (16, 8), (8,)))
    multiply = lambda *arguments: matmul(*arguments, "gelu")  # noqa: E731
    assert torch.autograd.gradcheck(multiply, (a, b, bias), eps=1e-2, atol=2e-3, rtol=2e-2)


@devices
@types
@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_gradients_are_those_of_torch(activation, dtype, device):
    made = [uniform(*s, dtype=dtype, device=device) for s in ((2, 24, 64), (64, 32), (32,))]
    ours, theirs = ([t.clone().requires_grad_() for t in made] for _ in range(2))
    weights = uniform(2, 24, 32, dtype=dtype, device=device)
    (matmul(*ours, activation) * weights).sum().backward()
    a, b, bias = theirs
    (ACTIVATIONS[activation](torch.matmul(a, b) + bias) * weights).sum().backward()
    for got, expected in zip(ours, theirs, strict=True):
        assert_close(got.grad, expected.grad)


@devices
@pytest.mark.parametrize("needing", ["a", "b", "bias"])
def test_only_the_gradients_that_are_asked_for(needing, device):
    made = {n: uniform(*s, device=device) for n, s in dict(a=(4, 8), b=(8, 8), bias=(8,)).items()}
    made[needing].requires_grad_()
    matmul(**made).sum().backward()
    assert [n for n, t in made.items() if t.grad is not None] == [needing]
    with torch.no_grad():
        assert not matmul(**made).requires_grad


# ---- autocast ----------------------------------------------------------------------------------


@devices
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast(dtype, device):
    module = Linear(16, 8, device=device)
    x = uniform(4, 16, device=device)
    with torch.autocast(device, dtype=dtype):
        got, expected = module(x), functional.linear(x, module.weight, module.bias)
        mixed = matmul(x.to(dtype), module.weight.t())
    assert got.dtype == mixed.dtype == dtype
    assert_close(got, expected)
    got.sum().backward()
    assert module.weight.grad.dtype == torch.float32


# ---- torch.library and torch.compile -----------------------------------------------------------


@devices
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
def test_opcheck(with_bias, grad, device):
    tensor = lambda *shape: uniform(*shape, device=device, grad=grad)  # noqa: E731
    bias = tensor(8) if with_bias else None
    torch.library.opcheck(OPS.mm.default, (tensor(16, 32), tensor(32, 8), bias, "gelu"))
    torch.library.opcheck(OPS.mm.default, (tensor(2, 16, 32), tensor(2, 32, 8), bias))
    torch.library.opcheck(OPS.matmul.default, (tensor(3, 16, 32), tensor(32, 8), bias))
    torch.library.opcheck(OPS.linear.default, (tensor(3, 16, 32), tensor(8, 32), bias))


@devices
def test_opcheck_of_out(device):
    a, b, out = (uniform(*s, device=device) for s in ((16, 32), (32, 8), (16, 8)))
    torch.library.opcheck(OPS.matmul.out, (a, b, None, "relu"), {"out": out})


@needs_gpu
def test_opcheck_of_the_library():
    a, b, bias = integers(64, 128), integers(128, 64), integers(64)
    torch.library.opcheck(OPS.mm.default, (a, b, bias, "relu"))
    torch.library.opcheck(OPS.mm.default, (a.requires_grad_(), b.requires_grad_(), bias))


def block(x, w1, b1, w2):
    h = linear(x, w1, b1, "gelu_tanh")
    return matmul(h, w2.t(), activation="relu").sum(-1)


@devices
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_compiles_without_a_break(grad, dynamic, device):
    # What inductor makes of it is the same each time; on a CPU it would call a C++ compiler for it.
    once = device == "cuda" and grad and not dynamic
    backend = "inductor" if once else "aot_eager"
    compiled = torch.compile(block, fullgraph=True, dynamic=dynamic, backend=backend)
    for rows in (5, 9):
        made = [
            uniform(*s, device=device, grad=grad)
            for s in ((2, rows, 16), (32, 16), (32,), (16, 32))
        ]
        again = [t.detach().clone().requires_grad_(grad) for t in made]
        got, expected = compiled(*made), block(*again)
        assert_close(got, expected)
        if grad:
            got.sum().backward(), expected.sum().backward()
            for one, other in zip(made, again, strict=True):
                assert_close(one.grad, other.grad)


@devices
def test_compiles_into_out(device):
    def into(a, b, out):
        matmul(a, b, out=out)
        return out + 1

    a, b, out = (uniform(*s, device=device) for s in ((4, 8), (8, 8), (4, 8)))
    backend = "inductor" if device == "cuda" else "aot_eager"
    got = torch.compile(into, fullgraph=True, backend=backend)(a, b, out)
    assert_close(got, a @ b + 1)
    assert_close(out, a @ b)


# ---- graphs, streams, threads, memory ----------------------------------------------------------


@needs_gpu
@types
@pytest.mark.parametrize("m, n, k", [(64, 256, 128), (512, 512, 512), (100, 100, 100)])
def test_a_graph_captures_it(m, n, k, dtype):
    a, b, bias = (integers(*s, dtype=dtype) for s in ((m, k), (k, n), (n,)))
    matmul(a, b, bias, "relu")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = matmul(a, b, bias, "relu")
    for _ in range(2):
        a.copy_(integers(m, k, dtype=dtype))
        graph.replay()
        assert torch.equal(c, (a.double() @ b.double() + bias.double()).relu().to(dtype))


@needs_gpu
def test_it_runs_on_the_current_stream():
    a, b = integers(512, 512), integers(512, 512)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        late = a + 1
        c = matmul(late, b)
        assert not stream.query()  # nobody has waited
    stream.synchronize()
    assert torch.equal(c, ((a.double() + 1) @ b.double()).half())


@needs_gpu
def test_two_threads_on_two_streams():
    failures = []

    def work(seed):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for turn in range(50):
                    m, n, k = 64 + 8 * (turn + seed), 256, 128 + 8 * turn
                    a, b = integers(m, k), integers(k, n)
                    if not torch.equal(matmul(a, b, None, "relu"), (a @ b).relu()):
                        failures.append((seed, turn))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@needs_gpu
def test_ten_thousand_calls_leak_nothing():
    a, b, odd = integers(64, 64), integers(64, 64), integers(64, 63)

    def calls(count):
        for _ in range(count):
            matmul(a, b)
            OPS.copied_mm(a, odd)
        torch.cuda.synchronize()

    calls(100)
    before, free = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
    calls(5000)
    assert torch.cuda.memory_allocated() == before
    assert free - torch.cuda.mem_get_info()[0] < 2**20


# ---- modules -----------------------------------------------------------------------------------


@devices
def test_linear_is_a_drop_in(device):
    theirs = torch.nn.Linear(16, 8, device=device)
    ours = Linear(16, 8, device=device)
    ours.load_state_dict(theirs.state_dict())
    x = uniform(2, 3, 16, device=device)
    assert_close(ours(x), theirs(x))
    assert copy.deepcopy(ours).weight is not ours.weight
    assert "activation=relu" in repr(Linear(2, 2, activation="relu"))
    assert ours.state_dict().keys() == theirs.state_dict().keys()


@devices
def test_replace_linears_keeps_all_else(device):
    class Other(torch.nn.Linear):
        pass

    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ModuleDict({"a": torch.nn.Linear(16, 8)}), Other(8, 8)
    ).to(device)
    state, x = model.state_dict(), uniform(4, 8, device=device)
    expected = model[1]["a"](model[0](x))
    assert replace_linears(model) is model
    assert [type(m) for m in (model[0], model[1]["a"], model[2])] == [Linear, Linear, Other]
    assert_close(model[1]["a"](model[0](x)), expected)
    for name, tensor in model.state_dict().items():
        assert tensor.data_ptr() == state[name].data_ptr()
    assert repr(model[0]) == "Linear(in_features=8, out_features=16, bias=True)"
    alone = torch.nn.Linear(2, 2)
    assert type(replace_linears(alone)) is Linear


@devices
def test_a_block_trains_as_with_torch(device):
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
    import train_block

    ours, theirs = train_block.compare(steps=8, device=device)
    assert theirs[-1] < 0.8 * theirs[0]
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=2e-2, atol=2e-2)
