#pragma once
// 22 unfused: attention, O = softmax(scale * Q * K^T) * V for each head, bf16 in and out.
// Idea    two products with a softmax between them, a kernel for each. The scores S = Q * K^T of a
//         head, queries x keys of fp32, are in memory from the first to the last: the softmax makes
//         the weights P of them in their own place, and P * V is a product as any other.
// vs 18   18's kernel for P * V alone, 17's for the scores, whose bf16 it knows and whose fp32 it
//         stores; between them a block for each row.
// Limit   the memory: S is written and read, and so is P, 12 bytes for each of queries * keys.
// Next:
//         22b, where no memory sees them.
#include "17_fp8.cuh"
#include "18_layouts.cuh"
#include "attention.cuh"
#include "launch.cuh"
#include "parts/store_halves.cuh"
#include "ptx/exp2.cuh"

namespace ladder::unfused {

constexpr int SOFTMAX_THREADS = 256;

// The largest, or the sum, of all threads' values; every thread gets it. `place` has room for a
// value of each warp.
template <class Combine>
__device__ __forceinline__ float of_block(float value, float* place, const Combine& combine) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFF, value, lanes));
  if (threadIdx.x % 32 == 0) place[threadIdx.x / 32] = value;
  __syncthreads();
  for (int warp = 0; warp < SOFTMAX_THREADS / 32; ++warp)
    value = warp == 0 ? place[0] : combine(value, place[warp]);
  return value;
}

// The weights of one row of S, in the first half of its place: 2^((score - maximum) * scale_log2),
// divided by their sum. Zeros for the keys that the row's query does not see.
static __global__ void __launch_bounds__(SOFTMAX_THREADS)
    softmax_kernel(const Attention p, float scale_log2, float* S, int64_t ld) {
  __shared__ float maxima[SOFTMAX_THREADS / 32], sums[SOFTMAX_THREADS / 32];
  const int seen = p.seen_by(blockIdx.x);
  const float* const scores = &S[blockIdx.x * ld];
  bf16* const weights = reinterpret_cast<bf16*>(&S[blockIdx.x * ld]);

  float largest = -__builtin_huge_valf(), sum = 0;
  for (int i = threadIdx.x; i < seen; i += SOFTMAX_THREADS) largest = fmaxf(largest, scores[i]);
  largest = of_block(largest, maxima, [](float a, float b) { return fmaxf(a, b); });
  const auto power = [&](int i) { return ptx::exp2_approx((scores[i] - largest) * scale_log2); };
  for (int i = threadIdx.x; i < seen; i += SOFTMAX_THREADS) sum += power(i);
  sum = of_block(sum, sums, [](float a, float b) { return a + b; });

  // A weight is half as long as a score, so that it comes to where a score of an earlier step was,
  // or of this one.
  for (int i0 = 0; i0 < p.keys; i0 += SOFTMAX_THREADS) {
    const int i = i0 + threadIdx.x;
    const float weight = i < seen ? power(i) / sum : 0;
    __syncthreads();  // all scores of this step are read
    if (i < p.keys) weights[i] = __float2bfloat16(weight);
  }
}

// For 17's store(): sums as they are.
struct AsTheyAre {
  __device__ __forceinline__ void operator()(float (*staged)[32], const float* sums, int, int,
                                             int lane) const {
    stage_pairs(staged, sums, lane,
                [](const float* two, int) { return make_float2(two[0], two[1]); });
  }
};

// ---- The launcher ------------------------------------------------------------------------------

// Floats from one row of S to the next: TMA wants multiples of 16 bytes.
inline int64_t row_of_scores(const Attention& p) {
  return ceil_div(p.keys, 4) * int64_t{4};
}
// S of one head: the heads come one after the other.
inline uint64_t workspace_bytes(const Attention& p) {
  return static_cast<uint64_t>(p.queries * row_of_scores(p)) * sizeof(float);
}

// As one product with tiles of 128 x BN.
constexpr int BM = 128;
template <int BN>
void multiply_by_values(const Gemm<bf16, bf16>& p) {
  using ptx::Major;
  launch_in_waves(
      fit_the_waves::Configuration<bf16>{{BM, BN},
                                         layouts::launch_layout<bf16, BM, BN, Major::K, Major::MN>},
      p);
}
template <int BN>
void multiply_by_keys(const Gemm<bf16, float>& p, int tiles_of_S, int blocks) {
  fp8::launch_kernel<BM, BN>(fp8::gemm_kernel<bf16, float, BM, BN, AsTheyAre>, p, tiles_of_S,
                             blocks, AsTheyAre{});
}

// Throws CudaError where there is no TMA.
inline void attention(const Attention& p) {
  if (done_without_kernel(p)) return;
  require_workspace(p, workspace_bytes(p));
  float* const S = static_cast<float*>(p.workspace);
  const int64_t ld = row_of_scores(p);
  for (int head = 0; head < p.heads_in_all(); ++head) {
    launch_in_waves(fp8::Configuration<bf16, float>{BM, 256, 0, multiply_by_keys<256>},
                    Gemm<bf16, float>{p.queries, p.keys, p.width, p.Q_of(head), p.width,
                                      p.K_of(head), p.width, S, ld, p.stream});
    launch(softmax_kernel, dim3(p.queries), dim3(SOFTMAX_THREADS), 0, p.stream, p, p.scale_log2(),
           S, ld);
    const Gemm<bf16, bf16> values{
        p.queries, p.width,      p.keys,  reinterpret_cast<const bf16*>(S),
        2 * ld,    p.V_of(head), p.width, p.O_of(head),
        p.width,   p.stream};
    p.width > 128 ? multiply_by_values<256>(values) : multiply_by_values<128>(values);
  }
}

}  // namespace ladder::unfused
