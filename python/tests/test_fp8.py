"""Numbers of eight bits with scales, against torch._scaled_mm and against doubles."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
gemm_ladder = pytest.importorskip(
    "gemm_ladder", reason="needs gemm_ladder: pip install ./python", exc_type=ImportError
)

from gemm_ladder import Linear, scaled_mm  # noqa: E402
from gemm_ladder.fp8 import to_float8  # noqa: E402

E4M3 = torch.float8_e4m3fn
needs_gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9,
    reason="needs a Hopper GPU",
)
fast_or_not = pytest.mark.parametrize("fast", [False, True], ids=["promoted", "fast"])
by_rows = pytest.mark.parametrize("rows", [False, True], ids=["of_matrices", "of_rows"])
SHAPES = [
    (1, 16, 16),
    (17, 48, 80),
    (128, 96, 128),
    (333, 272, 512),
    (600, 1040, 1040),
    (300, 4096, 64),
]


@pytest.fixture(autouse=True)
def _as_they_are():
    torch.manual_seed(1)
    torch._dynamo.reset()


def scales(m, n, rows, device="cuda"):
    """Powers of two."""
    shapes = [(m, 1), (1, n)] if rows else [(), ()]
    return [2.0 ** torch.randint(-3, 4, shape, device=device) for shape in shapes]


def integers(*shape, device="cuda"):
    return torch.randint(-2, 3, shape, device=device).float().to(E4M3)


def by_ladder(call):
    """Whether a kernel of the ladder was launched."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    return any("ladder" in event.key for event in profile.key_averages())


@needs_gpu
@fast_or_not
@by_rows
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("m, n, k", SHAPES)
def test_the_product_is_exact(m, n, k, with_bias, rows, fast):
    a, w = integers(m, k), integers(n, k)
    scale_a, scale_b = scales(m, n, rows)
    bias = torch.randint(-4, 5, (n,), device="cuda").bfloat16() if with_bias else None
    expected = scale_a.double() * scale_b.double() * (a.double() @ w.double().t())
    if with_bias:
        expected += bias.double()
    got = scaled_mm(a, w.t(), scale_a, scale_b, bias, use_fast_accum=fast)
    assert got.dtype == torch.bfloat16 and torch.equal(got, expected.float().bfloat16())


@needs_gpu
@fast_or_not
@by_rows
def test_it_is_no_further_off_than_torch(rows, fast):
    m, n, k = 500, 768, 4096
    a, w = (torch.randn(*shape, device="cuda").to(E4M3) for shape in ((m, k), (n, k)))
    shapes = [(m, 1), (1, n)] if rows else [(), ()]
    factors = [torch.rand(shape, device="cuda") + 0.5 for shape in shapes]
    exact = factors[0].double() * factors[1].double() * (a.double() @ w.double().t())
    off = [
        (call(a, w.t(), *factors, out_dtype=torch.bfloat16, use_fast_accum=fast) - exact)
        .square()
        .mean()
        .sqrt()
        for call in (scaled_mm, torch._scaled_mm)
    ]
    assert 0 < off[0] <= 1.02 * off[1]


def scales_of_blocks(m, n, k):
    """Powers of two, by columns, as torch wants them."""
    of_k, of_n = -(-k // 128), -(-n // 128)
    return [(2.0 ** torch.randint(-3, 4, s, device="cuda")).t() for s in ((of_k, m), (of_n, of_k))]


def with_blocks(a, w, scale_a, scale_b):
    """The product in doubles."""
    k, n = a.shape[1], len(w)
    of_a = scale_a.double().repeat_interleave(128, 1)[:, :k]
    of_b = scale_b.double().t().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
    return (a.double() * of_a) @ (w.double() * of_b).t()


@needs_gpu
@fast_or_not
@pytest.mark.parametrize("m, n, k", SHAPES)
def test_blocks_have_scales(m, n, k, fast):
    a, w = integers(m, k), integers(n, k)
    factors = scales_of_blocks(m, n, k)
    expected = with_blocks(a, w, *factors).float().bfloat16()
    call = lambda *factors: scaled_mm(a, w.t(), *factors, use_fast_accum=fast)  # noqa: E731
    assert by_ladder(lambda: call(*factors))
    assert torch.equal(call(*factors), expected)
    assert torch.equal(call(*(f.contiguous() for f in factors)), expected)


@needs_gpu
def test_blocks_are_those_of_torch():
    m, n, k = 256, 384, 512
    a, w = integers(m, k), integers(n, k)
    factors = scales_of_blocks(m, n, k)
    theirs = torch._scaled_mm(a, w.t(), *factors, out_dtype=torch.bfloat16)
    assert torch.equal(scaled_mm(a, w.t(), *factors), theirs)


@needs_gpu
def test_what_begins_anywhere():
    wide, weight = integers(40, 400), integers(64, 400)
    one = torch.ones((), device="cuda")
    a, b = wide[:, 16:272], weight[:, 32:288].t()
    expected = (a.double() @ b.double()).bfloat16()
    assert by_ladder(lambda: scaled_mm(a, b, one, one))
    assert torch.equal(scaled_mm(a, b, one, one), expected)
    # Factors, and a bias, that begin on 4 and on 2 bytes.
    some = torch.ones(1, 65, device="cuda").view(-1)[1:].view(1, 64)
    bias = torch.ones(65, device="cuda").bfloat16()[1:]
    got = scaled_mm(a, b, torch.ones(40, 1, device="cuda"), some, bias)
    assert torch.equal(got, (a.double() @ b.double() + 1).bfloat16())


@needs_gpu
def test_all_else_is_that_of_torch():
    a, w = integers(64, 256), integers(48, 256)
    one = torch.ones((), device="cuda")
    for left, right, dtype in [
        (a, w, torch.float16),
        (a, w, torch.float32),
        (a.to(torch.float8_e5m2), w, torch.bfloat16),
    ]:
        call = lambda left=left, right=right, dtype=dtype: scaled_mm(  # noqa: E731
            left, right.t(), one, one, None, dtype
        )
        assert not by_ladder(call)
        expected = torch._scaled_mm(left, right.t(), one, one, out_dtype=dtype)
        assert torch.equal(call(), expected)


@needs_gpu
def test_traces_and_graphs():
    a, w = integers(64, 256), integers(48, 256)
    factors = scales(64, 48, rows=True)
    expected = scaled_mm(a, w.t(), *factors)
    compiled = torch.compile(
        lambda a, b: scaled_mm(a, b, *factors), fullgraph=True, backend="aot_eager"
    )
    assert torch.equal(compiled(a, w.t()), expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = scaled_mm(a, w.t(), *factors)
    graph.replay()
    assert torch.equal(c, expected)


BAD = {
    "another K": lambda a, b, s: (a[:, :16], b, s, s),
    "b by rows": lambda a, b, s: (a, b.contiguous(), s, s),
    "N is no multiple of 16": lambda a, b, s: (a, b[:, :40], s, s),
    "scales of bf16": lambda a, b, s: (a, b, s.bfloat16(), s.bfloat16()),
    "too many scales": lambda a, b, s: (a, b, s.expand(3, 1), s.expand(1, 3)),
    "numbers of 16 bits": lambda a, b, s: (a.half(), b.half(), s, s),
    "a short bias": lambda a, b, s: (a, b, s, s, torch.zeros(3, device=a.device).bfloat16()),
    "three dimensions": lambda a, b, s: (a[None], b, s, s),
}


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("name", BAD)
def test_errors_are_those_of_torch(name, device):
    arguments = BAD[name](
        integers(32, 64, device=device),
        integers(48, 64, device=device).t(),
        torch.ones((), device=device),
    )

    def said(call):
        try:
            result = call(*arguments, out_dtype=torch.bfloat16)
        except (RuntimeError, ValueError) as error:
            return type(error), str(error).split("\n")[0]
        return result.shape

    assert said(scaled_mm) == said(torch._scaled_mm)


def test_shapes_of_what_is_not_there():
    a = torch.empty(32, 64, dtype=E4M3, device="meta")
    b = torch.empty(48, 64, dtype=E4M3, device="meta").t()
    one = torch.empty((), device="meta")
    assert scaled_mm(a, b, one, one).shape == (32, 48)
    assert scaled_mm(a, b, one, one).dtype == torch.bfloat16


def test_rows_are_rounded_to_e4m3():
    rows = torch.randn(5, 64) * 10.0 ** torch.arange(-2, 3)[:, None]
    rows[2] = 0
    numbers, scales = to_float8(rows)
    assert scales.shape == (5, 1) and (scales[2] == 1).all()
    assert (numbers.float().abs().amax(1)[[0, 1, 3, 4]] == 448).all()
    off = (numbers.float() * scales - rows).abs()
    assert (off <= rows.abs() / 16 + scales * 2.0**-10).all()  # 3 bits, and the least step


@needs_gpu  # torch has scales of rows on no CPU
@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_in_eight_bits(bias):
    layer = Linear(128, 48, bias=bias, device="cuda", dtype=torch.bfloat16)
    eight = layer.to_float8()
    x = torch.randn(2, 3, 128, device="cuda").bfloat16()
    got = eight(x)
    assert got.shape == (2, 3, 48) and got.dtype == torch.bfloat16
    torch.testing.assert_close(got, layer(x), rtol=0, atol=0.2)
    again = Linear(128, 48, bias=bias, device="cuda", dtype=torch.bfloat16).to_float8()
    again.load_state_dict(eight.state_dict())
    assert torch.equal(again(x), got)
    assert "in_features=128, out_features=48" in repr(eight)


def test_layers_that_have_no_eight_bits():
    with pytest.raises(ValueError, match="relu is not part"):
        Linear(16, 16, activation="relu").to_float8()
    with pytest.raises(ValueError, match="no multiples of 16"):
        Linear(16, 24).to_float8()
