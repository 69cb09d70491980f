// The operators gemm_ladder::pack_int4 and linear_int4: weights of four bits.
#include "int4.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "way.h"

namespace gemm_ladder {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

int64_t bytes_of_packed(int64_t K, int64_t N) {
  // Numbers of half and of bf16 have the same size.
  return static_cast<int64_t>(
      ladder::packed_bytes<ladder::Packed<half>>(static_cast<int>(K), static_cast<int>(N)));
}

// ---- Packing, on the host ----------------------------------------------------------------------

template <class From, class To>
void copy_of(const char* name, const Tensor& t, int64_t rows, int64_t columns, at::ScalarType type,
             std::vector<To>& to) {
  TORCH_CHECK(t.dim() == 2 && t.size(0) == rows && t.size(1) == columns, name, " must be ", rows,
              " x ", columns, ", but has the shape ", t.sizes());
  const Tensor contiguous = t.to(type).contiguous();
  const From* const from = contiguous.const_data_ptr<From>();
  std::copy_n(from, to.size(), to.begin());
}

template <class T>
Tensor packed(const ladder::Quantised& weights) {
  const auto made = ladder::four_bits::pack<T>(weights);
  const Tensor result = at::empty({bytes_of_packed(weights.K, weights.N)}, at::kByte);
  std::memcpy(result.mutable_data_ptr(), made.data(), static_cast<size_t>(result.numel()));
  return result;
}

// Of numbers K x N, scales and zeros K / 128 x N, as ladder::Quantised has them.
Tensor pack_int4(const Tensor& numbers, const Tensor& scales, const Tensor& zeros,
                 at::ScalarType type) {
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16,
              "linear_int4 multiplies Half and BFloat16, but the type is ", type);
  TORCH_CHECK(numbers.dim() == 2, "numbers must be a matrix, but is ", numbers.dim(), "-D");
  for (const int64_t size : numbers.sizes())
    TORCH_CHECK(size <= MOST_ELEMENTS, "numbers has a dimension of ", size);
  TORCH_CHECK(numbers.scalar_type() == at::kByte && zeros.scalar_type() == at::kByte,
              "numbers and zeros must be Byte, but are ", numbers.scalar_type(), " and ",
              zeros.scalar_type());
  const int64_t K = numbers.size(0), N = numbers.size(1);
  ladder::Quantised q(static_cast<int>(K), static_cast<int>(N));
  copy_of<uint8_t>("numbers", numbers, K, N, at::kByte, q.numbers);
  copy_of<float>("scales", scales, q.groups(), N, at::kFloat, q.scales);
  copy_of<uint8_t>("zeros", zeros, q.groups(), N, at::kByte, q.zeros);
  return type == at::kHalf ? packed<half>(q) : packed<ladder::bf16>(q);
}

// ---- The product -------------------------------------------------------------------------------

template <class T>
void into(const Tensor& a, const Tensor& packed, const Tensor& c) {
  ladder::FourBits<T> p{};
  p.M = static_cast<int>(a.size(0)), p.N = static_cast<int>(c.size(1));
  p.K = static_cast<int>(a.size(1));
  p.A = static_cast<const T*>(a.const_data_ptr()), p.lda = lies(a, false)->ld;
  p.packed = static_cast<const ladder::Packed<T>*>(packed.const_data_ptr());
  p.C = static_cast<T*>(c.mutable_data_ptr()), p.ldc = lies(c, false)->ld;
  p.stream = c10::cuda::getCurrentCUDAStream(a.get_device());
  multiply(p);
}

// input * W + bias, W packed for the type of input.
Tensor linear_int4(const Tensor& input, const Tensor& packed, int64_t out_features,
                   const OptionalTensor& bias) {
  const auto type = input.scalar_type();
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16,
              "linear_int4 multiplies Half and BFloat16, but input is ", type);
  TORCH_CHECK(input.dim() >= 1, "input must have at least one dimension");
  TORCH_CHECK(packed.device() == input.device(),
              "Expected all tensors to be on the same device, but input is on ", input.device(),
              " and packed is on ", packed.device());
  const c10::cuda::CUDAGuard guard(input.device());
  TORCH_CHECK(is_hopper(input), "linear_int4 needs a Hopper GPU");
  const Tensor rows = input.dim() == 1 ? input.unsqueeze(0) : input.flatten(0, -2);
  const int64_t M = rows.size(0), K = rows.size(1), N = out_features;
  TORCH_CHECK(N >= 0 && std::max({M, N, K}) <= MOST_ELEMENTS, "a dimension of the product ", M, "x",
              N, "x", K, " is out of range");
  TORCH_CHECK(packed.scalar_type() == at::kByte && packed.is_contiguous() &&
                  packed.numel() == bytes_of_packed(K, N) && address(packed) % ROW_BYTES == 0,
              "packed must be what pack_int4 made of ", K, " x ", N, " numbers, ",
              bytes_of_packed(K, N), " bytes");
  if (bias)
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == N && bias->scalar_type() == type &&
                    bias->device() == input.device(),
                "bias must be a vector of ", N, " numbers, of input's type and device");
  const auto stored = lies(rows, false);
  const Tensor a =
      stored && stored->aligned ? rows : with_aligned_rows(M, K, rows.options()).copy_(rows);
  const Tensor c = with_aligned_rows(M, N, rows.options());
  type == at::kHalf ? into<half>(a, packed, c) : into<ladder::bf16>(a, packed, c);
  auto sizes = input.sizes().vec();
  sizes.back() = N;
  const Tensor result = c.reshape(sizes);
  return bias ? result.add_(*bias) : result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(gemm_ladder, m) {
  m.def("pack_int4(Tensor numbers, Tensor scales, Tensor zeros, ScalarType dtype) -> Tensor");
  m.def("linear_int4(Tensor input, Tensor packed, int out_features, Tensor? bias=None) -> Tensor",
        {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(gemm_ladder, CPU, m) {
  m.impl("pack_int4", pack_int4);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CUDA, m) {
  m.impl("linear_int4", linear_int4);
}
TORCH_LIBRARY_IMPL(gemm_ladder, Autograd, m) {
  m.impl("linear_int4", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace gemm_ladder
