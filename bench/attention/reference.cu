// What attention is, as simply as can be, in fp32: a block for each row of O.
#include "case.h"
#include "launch.cuh"

namespace ladder::attention_bench {
namespace {

constexpr int THREADS = 128;

__global__ void __launch_bounds__(THREADS)
    reference_kernel(const Attention p, float scale_log2, float* expected, float* magnitudes) {
  float* const weights = &dynamic_shared<float>();
  const int64_t row = blockIdx.x;
  const int head = static_cast<int>(row / p.queries), seen = p.seen_by(row % p.queries);
  const int64_t first_key = int64_t{p.kv_head(head)} * p.keys;
  for (int i = threadIdx.x; i < seen; i += THREADS) {
    float score = 0;
    for (int d = 0; d < p.width; ++d)
      score += __bfloat162float(p.Q[row * p.width + d]) *
               __bfloat162float(p.K[(first_key + i) * p.width + d]);
    weights[i] = score;
  }
  __syncthreads();
  float largest = -__builtin_huge_valf(), sum = 0;
  for (int i = 0; i < seen; ++i) largest = fmaxf(largest, weights[i]);
  __syncthreads();  // nobody reads a score any more
  for (int i = threadIdx.x; i < seen; i += THREADS)
    weights[i] = exp2f((weights[i] - largest) * scale_log2);
  __syncthreads();
  for (int i = 0; i < seen; ++i) sum += weights[i];
  for (int d = threadIdx.x; d < p.width; d += THREADS) {
    float value = 0, magnitude = 0;
    for (int i = 0; i < seen; ++i) {
      const float v = __bfloat162float(p.V[(first_key + i) * p.width + d]);
      value += weights[i] * v;
      magnitude += weights[i] * fabsf(v);
    }
    expected[row * p.width + d] = seen > 0 ? value / sum : 0;
    magnitudes[row * p.width + d] = seen > 0 ? magnitude / sum : 0;
  }
}

}  // namespace

void find_expected(const Attention& p, float* expected, float* magnitudes) {
  launch(reference_kernel, dim3(p.heads_in_all() * p.queries), dim3(THREADS),
         static_cast<size_t>(p.keys) * sizeof(float), p.stream, p, p.scale_log2(), expected,
         magnitudes);
}

}  // namespace ladder::attention_bench
