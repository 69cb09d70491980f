#pragma once
// Attention, forward: what the stages from 22 on compute, and what they refuse.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "launch.cuh"
#include "types.cuh"
#include "validate.h"

namespace ladder {

// O = softmax(scale * Q * K^T) * V for each head of each sequence of a batch. Row-major, without
// gaps: Q and O are batch x heads x queries x width, K and V are batch x kv_heads x keys x width.
// Heads are grouped: heads / kv_heads neighbours share the keys and values of one of the kv_heads.
struct Attention {
  int batch, heads, kv_heads;
  int queries, keys;
  int width;  // of a head: 64, 128 or 256
  const bf16 *Q, *K, *V;
  bf16* O;
  float scale = 1;
  // Query i sees keys 0 to i + keys - queries alone: the last query sees all of them. A query that
  // sees none gets zeros.
  bool causal = false;
  cudaStream_t stream = nullptr;
  // Device memory to work in, 16-byte aligned, for the stages that have a workspace_bytes().
  void* workspace = nullptr;
  uint64_t workspace_bytes = 0;

  __host__ __device__ int heads_in_all() const { return batch * heads; }
  // Of the heads in all, whose number is `head`: the number of its keys, among batch * kv_heads.
  __host__ __device__ int kv_head(int head) const { return head / (heads / kv_heads); }
  // Where the rows of one head begin.
  const bf16* Q_of(int head) const { return Q + int64_t{head} * queries * width; }
  const bf16* K_of(int head) const { return K + int64_t{kv_head(head)} * keys * width; }
  const bf16* V_of(int head) const { return V + int64_t{kv_head(head)} * keys * width; }
  __host__ __device__ bf16* O_of(int head) const { return O + int64_t{head} * queries * width; }
  // Of powers of two: e^x = 2^(x * log2(e)).
  float scale_log2() const {
    constexpr double LOG2_E = 1.4426950408889634;
    return static_cast<float>(scale * LOG2_E);
  }
  // Keys that query `row` sees, the first ones.
  __host__ __device__ int seen_by(int row) const {
    if (!causal) return keys;
    const int seen = keys - queries + row + 1;
    return seen < 0 ? 0 : seen;
  }
};

#ifndef __CUDACC_RTC__
// Throws std::invalid_argument that names what is wrong.
inline void require_valid(const Attention& p) {
  require_size("batch", p.batch, 0), require_size("heads", p.heads, 1),
      require_size("kv_heads", p.kv_heads, 1);
  require_size("queries", p.queries, 0), require_size("keys", p.keys, 0);
  if (p.heads % p.kv_heads != 0)
    throw std::invalid_argument("heads is " + std::to_string(p.heads) +
                                ", which is no multiple of kv_heads, " +
                                std::to_string(p.kv_heads));
  if (static_cast<int64_t>(p.batch) * p.heads > MAX_DIMENSION)
    throw std::invalid_argument("batch times heads is more than " + std::to_string(MAX_DIMENSION));
  if (p.width != 64 && p.width != 128 && p.width != 256)
    throw std::invalid_argument("width is " + std::to_string(p.width) +
                                ", but heads are 64, 128 or 256 wide here");
  if (!(p.scale > 0)) throw std::invalid_argument("scale must be positive");
  const auto address = [](const char* what, const void* at) {
    require_multiple(what, reinterpret_cast<uintptr_t>(at), 16);
  };
  address("the address of Q", p.Q), address("the address of K", p.K);
  address("the address of V", p.V), address("the address of O", p.O);
}

// Throws that. Then: whether O is done without a kernel, being empty or, without keys, zeros.
inline bool done_without_kernel(const Attention& p) {
  require_valid(p);
  const int64_t rows = static_cast<int64_t>(p.heads_in_all()) * p.queries;
  if (rows == 0) return true;
  if (p.keys > 0) return false;
  LADDER_CUDA_CHECK(
      cudaMemsetAsync(p.O, 0, static_cast<size_t>(rows * p.width) * sizeof(bf16), p.stream));
  return true;
}
#endif  // __CUDACC_RTC__

}  // namespace ladder
