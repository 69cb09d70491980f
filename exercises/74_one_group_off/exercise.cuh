#include "exercise.h"

constexpr int GROUP = 128;  // numbers along K that have a scale together
constexpr int STEP = 32;    // numbers along K that are loaded at once: four words

// The sum of eight products. Number i of a word is in its bits 4 i to 4 i + 3, and 8 is zero.
static __device__ float eight_products(const half* a, uint32_t word) {
  float sum = 0;
  for (int i = 0; i < 8; ++i) {
    const int number = static_cast<int>(word >> 4 * i & 15) - 8;
    sum += __half2float(a[i]) * static_cast<float>(number);
  }
  return sum;
}

static __device__ float products(const half* a, uint4 words) {
  return eight_products(a, words.x) + eight_products(a + 8, words.y) +
         eight_products(a + 16, words.z) + eight_products(a + 24, words.w);
}

// C[M,N] = A[M,K] * W[K,N], K a multiple of 32. numbers[k / 32 * N + n] has rows k / 32 * 32 to
// k / 32 * 32 + 31 of column n of W, and scales[k / 128 * N + n] their scale. Blocks of 32 x 4
// threads, one for each element of C.
static __global__ void gemm_kernel(int M, int N, int K, const half* A, const uint4* numbers,
                                   const float* scales, float* C) {
  const int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y * 4 + threadIdx.y;
  if (m >= M || n >= N) return;

  float acc = 0;
  uint4 next = numbers[n];
  float scale = scales[n];
  for (int k = 0; k < K; k += STEP) {
    const uint4 words = next;
    const int next_k = k + STEP;
    if (next_k < K) {  // under way while these are multiplied
      next = numbers[next_k / STEP * N + n];
      if (next_k % GROUP == 0) scale = scales[next_k / GROUP * N + n];
    }
    acc += scale * products(&A[m * K + k], words);
  }
  C[m * N + n] = acc;
}
