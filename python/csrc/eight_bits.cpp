// The operators gemm_ladder::int_mm, products of int8, and mm_to_float8, of 16 bits with a result
// of e4m3: in C++ Gemm<int8_t, int32_t>, Gemm<int8_t, int8_t> and Gemm<half or bf16, e4m3>.
#include <ATen/ops/_int_mm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>

#include "along_k.h"

namespace gemm_ladder {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

void check(const char* name, const Tensor& a, const Tensor& b, const OptionalTensor& column_scale) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, name, " takes two matrices, but a is ", a.dim(),
              "-D and b is ", b.dim(), "-D");
  TORCH_CHECK(a.device() == b.device(),
              "Expected all tensors to be on the same device, but a is on ", a.device(),
              " and b is on ", b.device());
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "expected a and b to have the same dtype, but got: ", a.scalar_type(),
              " != ", b.scalar_type());
  TORCH_CHECK(a.size(1) == b.size(0), "a and b shapes cannot be multiplied (", a.size(0), "x",
              a.size(1), " and ", b.size(0), "x", b.size(1), ")");
  if (column_scale)
    TORCH_CHECK(column_scale->scalar_type() == at::kFloat && column_scale->device() == a.device() &&
                    column_scale->dim() == 1 && column_scale->size(0) == b.size(1),
                "column_scale must be ", b.size(1), " numbers of Float on ", a.device());
}

// Whether a kernel of the library's computes it.
bool is_for_library(const Tensor& a, const Tensor& b) {
  const int64_t sizes[] = {a.size(0), a.size(1), b.size(1)};
  return a.is_cuda() && is_hopper(a) && *std::min_element(sizes, sizes + 3) > 0 &&
         *std::max_element(sizes, sizes + 3) <= MOST_ELEMENTS;
}

template <class Out>
ladder::Epilogue<Out> scaled_by(double scale, const OptionalTensor& column_scale) {
  ladder::Epilogue<Out> epilogue{};
  epilogue.alpha = static_cast<float>(scale);
  if (column_scale) epilogue.column_scale = column_scale->const_data_ptr<float>();
  return epilogue;
}
// As a kernel reads it: contiguous, from a multiple of 16 bytes on.
OptionalTensor in_place(const OptionalTensor& column_scale) {
  if (!column_scale) return column_scale;
  return address(*column_scale) % ROW_BYTES == 0
             ? column_scale->contiguous()
             : column_scale->clone(at::MemoryFormat::Contiguous);
}
// The same by torch, in fp32.
Tensor scaled(const Tensor& sums, double scale, const OptionalTensor& column_scale) {
  const auto factor = static_cast<float>(scale);
  const Tensor floats = sums.to(at::kFloat);
  return column_scale ? floats.mul(column_scale->mul(factor)) : floats.mul(factor);
}

// ---- int8 --------------------------------------------------------------------------------------

// With few tiles, 17x4096x4096 for one, cuBLAS is up to twice as fast (H200). torch gives it more
// than 16 rows, and without copies that is sure to be taken where a is by rows and b by columns of
// a multiple of 16 numbers.
constexpr double LEAST_FILLED = 0.35;
bool is_faster_by_cublas(const Tensor& a, const Tensor& b) {
  const int64_t M = a.size(0), N = b.size(1);
  const auto of_a = lies(a, false), of_b = lies(b, true);
  return M > 16 && N % 16 == 0 && of_a && of_a->aligned && of_b && of_b->aligned &&
         !fills(M, N, LEAST_FILLED);
}

// The sums, of int32, up to a K of 131,071 exact.
Tensor sums_of(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0)
    return at::zeros({a.size(0), b.size(1)}, a.options().dtype(at::kInt));
  if (a.is_cpu()) return at::mm(a.to(at::kInt), b.to(at::kInt));
  if (!is_for_library(a, b) || is_faster_by_cublas(a, b)) return at::_int_mm(a, b);
  return along_k<int8_t, int32_t>(a, b, a.options().dtype(at::kInt));
}

Tensor int_mm(const Tensor& a, const Tensor& b, std::optional<double> scale,
              const OptionalTensor& column_scale, int64_t zero_point) {
  check("int_mm", a, b, column_scale);
  TORCH_CHECK(a.scalar_type() == at::kChar, "int_mm multiplies Char, but a is ", a.scalar_type());
  TORCH_CHECK_VALUE(scale || (!column_scale && zero_point == 0),
                    "column_scale and zero_point belong to a result of int8, which has a scale");
  TORCH_CHECK_VALUE(zero_point >= -128 && zero_point <= 127, "zero_point is ", zero_point,
                    ", but must be from -128 to 127");
  c10::cuda::OptionalCUDAGuard guard;
  if (a.is_cuda()) guard.set_device(a.device());
  if (!scale) return sums_of(a, b);
  if (!is_for_library(a, b))
    return scaled(sums_of(a, b), *scale, column_scale)
        .round()
        .add(zero_point)
        .clamp(-128, 127)
        .to(at::kChar);
  const OptionalTensor of_columns = in_place(column_scale);
  auto epilogue = scaled_by<int8_t>(*scale, of_columns);
  epilogue.zero_point = static_cast<int>(zero_point);
  return along_k<int8_t, int8_t>(a, b, a.options(), epilogue);
}

// ---- e4m3 --------------------------------------------------------------------------------------

Tensor mm_to_float8(const Tensor& a, const Tensor& b, double scale,
                    const OptionalTensor& column_scale) {
  check("mm_to_float8", a, b, column_scale);
  const auto type = a.scalar_type();
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16,
              "out_dtype=float8_e4m3fn is for Half and BFloat16, but a is ", type);
  constexpr double LARGEST = 448;
  c10::cuda::OptionalCUDAGuard guard;
  if (a.is_cuda()) guard.set_device(a.device());
  if (!is_for_library(a, b))
    return scaled(at::mm(a.to(at::kFloat), b.to(at::kFloat)), scale, column_scale)
        .clamp(-LARGEST, LARGEST)
        .to(at::kFloat8_e4m3fn);
  const OptionalTensor of_columns = in_place(column_scale);
  const auto epilogue = scaled_by<__nv_fp8_e4m3>(scale, of_columns);
  const auto options = a.options().dtype(at::kFloat8_e4m3fn);
  return type == at::kHalf ? along_k<half, __nv_fp8_e4m3>(a, b, options, epilogue)
                           : along_k<__nv_bfloat16, __nv_fp8_e4m3>(a, b, options, epilogue);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gemm_ladder, m) {
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  m.def(
      "int_mm(Tensor a, Tensor b, float? scale=None, Tensor? column_scale=None, int zero_point=0)"
      " -> Tensor",
      tags);
  m.def("mm_to_float8(Tensor a, Tensor b, float scale=1., Tensor? column_scale=None) -> Tensor",
        tags);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CPU, m) {
  m.impl("int_mm", int_mm);
  m.impl("mm_to_float8", mm_to_float8);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CUDA, m) {
  m.impl("int_mm", int_mm);
  m.impl("mm_to_float8", mm_to_float8);
}
TORCH_LIBRARY_IMPL(gemm_ladder, Autograd, m) {
  m.impl("int_mm", torch::autograd::autogradNotImplementedFallback());
  m.impl("mm_to_float8", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gemm_ladder
