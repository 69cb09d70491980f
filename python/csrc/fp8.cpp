// The operator gemm_ladder::scaled_mm: products of numbers of eight bits, as torch._scaled_mm has
// them.
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <ladder/scaled.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>

#include "along_k.h"

namespace gemm_ladder {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

enum class Scales { OF_MATRICES, OF_ROWS, OF_BLOCKS, OTHERS };

// A factor for a and one for b; or one for each row of a and each column of b; or one for each
// 1 x 128 of a and each 128 x 128 of b.
Scales scales_of(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b) {
  for (const Tensor* scale : {&scale_a, &scale_b})
    if (scale->scalar_type() != at::kFloat || scale->device() != a.device()) return Scales::OTHERS;
  if (scale_a.numel() == 1 && scale_b.numel() == 1) return Scales::OF_MATRICES;
  const int64_t M = a.size(0), N = b.size(1), K = a.size(1);
  const auto have = [&](at::IntArrayRef of_a, at::IntArrayRef of_b) {
    return scale_a.sizes() == of_a && scale_b.sizes() == of_b;
  };
  if (have({M, 1}, {1, N}) && scale_a.is_contiguous() && scale_b.is_contiguous())
    return Scales::OF_ROWS;
  const auto blocks = [](int64_t size) { return (size + 127) / 128; };
  return have({M, blocks(K)}, {blocks(K), blocks(N)}) ? Scales::OF_BLOCKS : Scales::OTHERS;
}

// Whether 17, 17b and 17c compute it: e4m3 and bf16, a by rows and b by columns, which begin on 16
// bytes.
bool is_for_us(const Tensor& a, const Tensor& b, const OptionalTensor& bias,
               std::optional<at::ScalarType> out_dtype) {
  if (!a.is_cuda() || b.device() != a.device() || a.dim() != 2 || b.dim() != 2 ||
      a.size(1) != b.size(0) || a.scalar_type() != at::kFloat8_e4m3fn ||
      b.scalar_type() != at::kFloat8_e4m3fn || out_dtype != at::kBFloat16)
    return false;
  const int64_t M = a.size(0), N = b.size(1), K = a.size(1);
  if (std::min({M, N, K}) == 0 || std::max({M, N, K}) > MOST_ELEMENTS || N % 16 != 0 || K % 16 != 0)
    return false;
  if (bias && (bias->scalar_type() != at::kBFloat16 || bias->device() != a.device() ||
               bias->dim() != 1 || bias->size(0) != N || !bias->is_contiguous()))
    return false;
  const auto of_a = lies(a, false), of_b = lies(b, true);
  if (!of_a || !of_a->aligned || !of_b || !of_b->aligned) return false;
  return is_hopper(a);
}

Tensor scaled_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                 const OptionalTensor& bias, std::optional<at::ScalarType> out_dtype,
                 bool use_fast_accum) {
  const Scales scales =
      is_for_us(a, b, bias, out_dtype) ? scales_of(a, b, scale_a, scale_b) : Scales::OTHERS;
  if (scales == Scales::OTHERS || (scales == Scales::OF_BLOCKS && bias))
    // which names what is wrong
    return at::_scaled_mm(a, b, scale_a, scale_b, bias, std::nullopt, out_dtype, use_fast_accum);
  const c10::cuda::CUDAGuard guard(a.device());
  if (scales == Scales::OF_BLOCKS) {
    const Tensor of_a = by_rows(scale_a.t()), of_b = by_rows(scale_b.t());
    return along_k<ladder::e4m3, ladder::bf16>(
        a, b, a.options().dtype(at::kBFloat16), {},
        {of_a.const_data_ptr<float>(), lies(of_a, false)->ld, of_b.const_data_ptr<float>(),
         lies(of_b, false)->ld});
  }
  const Tensor c = at::empty({a.size(0), b.size(1)}, a.options().dtype(at::kBFloat16));
  // The kernel reads two neighbours at a time.
  const Tensor of_b = address(scale_b) % 8 == 0 ? scale_b : scale_b.clone();
  Tensor added;
  if (bias) added = address(*bias) % 4 == 0 ? *bias : bias->clone();
  ladder::scaled::Problem p{};
  p.M = static_cast<int>(a.size(0)), p.N = static_cast<int>(b.size(1));
  p.K = static_cast<int>(a.size(1));
  p.A = static_cast<const ladder::e4m3*>(a.const_data_ptr()), p.lda = lies(a, false)->ld;
  p.B = static_cast<const ladder::e4m3*>(b.const_data_ptr()), p.ldb = lies(b, true)->ld;
  p.C = static_cast<ladder::bf16*>(c.mutable_data_ptr()), p.ldc = b.size(1);
  p.transposed_b = true;
  p.stream = c10::cuda::getCurrentCUDAStream(a.get_device());
  p.factors = {scale_a.const_data_ptr<float>(), of_b.const_data_ptr<float>(),
               scales == Scales::OF_ROWS,
               bias ? static_cast<const ladder::bf16*>(added.const_data_ptr()) : nullptr};
  using ladder::scaled::Adds;
  ladder::scaled::gemm(p, use_fast_accum ? Adds::FAST : Adds::PROMOTED);
  return c;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gemm_ladder, m) {
  m.def(
      "scaled_mm(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
      "ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
      {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(gemm_ladder, CPU, m) {
  m.impl("scaled_mm", scaled_mm);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CUDA, m) {
  m.impl("scaled_mm", scaled_mm);
}
TORCH_LIBRARY_IMPL(gemm_ladder, Autograd, m) {
  m.impl("scaled_mm", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gemm_ladder
