#pragma once
// Products that the library has with a by rows and b by columns alone: of numbers of 8 bits, and of
// 16 with a result of another size.
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <ladder/gemm.h>

#include "way.h"

namespace gemm_ladder {

// Rows that begin on 16 bytes, of `t` itself or of a copy.
inline at::Tensor by_rows(const at::Tensor& t) {
  const auto of_t = lies(t, false);
  if (of_t && of_t->aligned && of_t->ld * t.element_size() < MOST_ROW_BYTES) return t;
  return with_aligned_rows(t.size(0), t.size(1), t.options()).copy_(t);
}

// a[M,K] * b[K,N], contiguous, with the epilogue or with scales of blocks; `options` are the
// result's. No size is 0, and the current device is a Hopper GPU, on which all is.
template <class In, class Out>
at::Tensor along_k(const at::Tensor& a, const at::Tensor& b, const at::TensorOptions& options,
                   const ladder::Epilogue<Out>& epilogue = {},
                   const ladder::BlockScales& scales = {}) {
  const at::Tensor rows = by_rows(a), columns = by_rows(b.t());
  const at::Tensor c = with_aligned_rows(a.size(0), b.size(1), options);
  ladder::Gemm<In, Out> p{};
  p.M = static_cast<int>(a.size(0)), p.N = static_cast<int>(b.size(1));
  p.K = static_cast<int>(a.size(1));
  p.A = static_cast<const In*>(rows.const_data_ptr()), p.lda = lies(rows, false)->ld;
  p.B = static_cast<const In*>(columns.const_data_ptr()), p.ldb = lies(columns, false)->ld;
  p.C = static_cast<Out*>(c.mutable_data_ptr()), p.ldc = lies(c, false)->ld;
  p.transposed_b = true;
  p.stream = c10::cuda::getCurrentCUDAStream(a.get_device());
  p.epilogue = epilogue, p.scales = scales;
  ladder::gemm(p);
  return c.contiguous();
}

}  // namespace gemm_ladder
