// A stage whose variants each carry one bug that some test of stage_test.cpp is there for. On the
// CPU device; planted_test.cpp expects these tests to fail.
#include <cstdint>

#include "harness/harness.h"

namespace ladder {
namespace {

using Fp32 = Gemm<float, float>;

enum Bug : int {
  NONE,
  ZEROS,     // every element is 0
  OFFSET_A,  // 32-bit offsets of rows
  OFFSET_C,
  STEP_B,  // a 32-bit step from one tile along K to the next
  RACE,    // one thread reads what another writes, with no barrier between
};

// One row of C by a block of a few threads. Along K in tiles.
constexpr int COLUMNS = 16, BK = 8;

__global__ void gemm_kernel(int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                            float* C, int64_t ldc, int bug) {
  __shared__ float sA[BK];
  const int row = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(blockIdx.x * COLUMNS + threadIdx.x);
  const float* a = &A[bug == OFFSET_A ? static_cast<int>(row * lda) : row * lda];
  const float* b = &B[column];
  float acc = 0;
  for (int k0 = 0; k0 < K; k0 += BK) {
    if (threadIdx.x < BK && k0 + static_cast<int>(threadIdx.x) < K)
      sA[threadIdx.x] = a[k0 + static_cast<int>(threadIdx.x)];
    if (bug != RACE) __syncthreads();
    for (int k = 0; k < BK && k0 + k < K && column < N; ++k)
      acc += (bug == RACE ? a[k0 + k] + 0 * sA[k] : sA[k]) * b[k * ldb];
    b += bug == STEP_B ? static_cast<int>(BK * ldb) : BK * ldb;
    __syncthreads();
  }
  if (bug == ZEROS) acc = 0;
  if (column < N) C[(bug == OFFSET_C ? static_cast<int>(row * ldc) : row * ldc) + column] = acc;
}

void multiply(const Fp32& p, Bug bug) {
  require_valid(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel, dim3(ceil_div(p.N, COLUMNS), p.M), dim3(COLUMNS), 0, p.stream, p.N, p.K, p.A,
         p.lda, p.B, p.ldb, p.C, p.ldc, bug);
}
harness::Variant<float, float> with(const char* name, Bug bug) {
  return {name, [=](const Fp32& p) { multiply(p, bug); }};
}

__global__ void fill_kernel(unsigned char* first, int count) {
  for (int i = 0; i < count; ++i) first[i] = 0;
}
// Right, in a workspace of which it writes `bytes`; takes one of any size, unless it `checks`.
constexpr int WORKSPACE_BYTES = 100;
harness::Variant<float, float> in_workspace(const char* name, int bytes, bool checks) {
  return {name,
          [=](const Fp32& p) {
            if (checks) require_workspace(p, WORKSPACE_BYTES);
            multiply(p, NONE);
            if (p.M > 0 && p.workspace != nullptr)
              launch(fill_kernel, dim3(1), dim3(1), 0, p.stream,
                     static_cast<unsigned char*>(p.workspace), bytes);
          },
          [](const Fp32&) { return uint64_t{WORKSPACE_BYTES}; }};
}

const harness::Stage STAGE{"00_planted", 50, false, false, false};

}  // namespace
}  // namespace ladder

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run<float, float>(STAGE,
                                    {
                                        with("right", NONE),
                                        with("zeros", ZEROS),
                                        with("offset_a", OFFSET_A),
                                        with("offset_c", OFFSET_C),
                                        with("step_b", STEP_B),
                                        with("race", RACE),
                                        in_workspace("in_workspace", WORKSPACE_BYTES, true),
                                        in_workspace("past_workspace", WORKSPACE_BYTES + 1, true),
                                        in_workspace("any_workspace", WORKSPACE_BYTES, false),
                                    },
                                    argc, argv, {with("configuration", ZEROS)});
}
