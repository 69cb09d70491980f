// A stage that is wrong on purpose, in every way that a run has to report. On the CPU device.
#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "harness/harness.h"

namespace ladder {
namespace {

using Fp32 = Gemm<float, float>;

enum Mistake : int {
  NONE,
  NAN_ELEMENT,    // one element is NaN
  ELEMENT,        // one element, beyond the first 64 rows, is off by one
  ROUNDED_AGAIN,  // every element is the next number: within the bound, but not equal
  PAST_C,         // the element after C's last is written
  PAST_ROW,       // the element after row 70 is written
  OUT_OF_BOUNDS,  // right, but reads far beyond the end of A
  RACE,           // right, but two threads of a block write what one of them reads
};

// A block of 16 threads for 16 columns of one row.
constexpr int COLUMNS = 16;
constexpr int WRONG_ROW = 70, WRONG_COLUMN = 3;

__global__ void gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B,
                            int64_t ldb, float* C, int64_t ldc, int mistake) {
  __shared__ float shared[1];
  const int row = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(blockIdx.x * COLUMNS + threadIdx.x);
  if (mistake == RACE) shared[0] = static_cast<float>(threadIdx.x);
  if (column >= N) return;
  float acc = 0;
  for (int k = 0; k < K; ++k) acc += A[row * lda + k] * B[k * ldb + column];
  const bool here = row == WRONG_ROW && column == WRONG_COLUMN;
  if (mistake == NAN_ELEMENT && here) acc = std::numeric_limits<float>::quiet_NaN();
  if (mistake == ELEMENT && here) acc += 1;
  if (mistake == ROUNDED_AGAIN) acc = std::nextafter(acc, std::numeric_limits<float>::infinity());
  if (mistake == OUT_OF_BOUNDS && here && A[M * lda + (1 << 16)] == 12345) acc = 0;
  if (mistake == RACE && shared[0] < 0) acc = 0;
  C[row * ldc + column] = acc;
  if (mistake == PAST_C && here) C[M * ldc] = 0;
  if (mistake == PAST_ROW && here) C[WRONG_ROW * ldc + N] = 0;
}

void multiply(const Fp32& p, Mistake mistake) {
  require_valid(p);
  launch(gemm_kernel, dim3(ceil_div(p.N, COLUMNS), p.M), dim3(COLUMNS), 0, p.stream, p.M, p.N, p.K,
         p.A, p.lda, p.B, p.ldb, p.C, p.ldc, mistake);
}
auto with(Mistake mistake) {
  return [=](const Fp32& p) { multiply(p, mistake); };
}

__global__ void fill_kernel(unsigned char* first, int count) {
  for (int i = 0; i < count; ++i) first[i] = 0;
}
// Right, in a workspace of 100 bytes of which it writes `bytes`.
harness::Variant<float, float> in_workspace(const char* name, int bytes) {
  return {name,
          [=](const Fp32& p) {
            if (p.workspace == nullptr || p.workspace_bytes != 100)
              throw std::runtime_error("the workspace is not what was asked for");
            launch(fill_kernel, dim3(1), dim3(1), 0, p.stream,
                   static_cast<unsigned char*>(p.workspace), bytes);
            multiply(p, NONE);
          },
          [](const Fp32&) { return uint64_t{100}; }};
}

const harness::Stage STAGE{"00_wrong", 50, false, false, false};

}  // namespace
}  // namespace ladder

// A right variant comes first and last: a mistake between them has to be seen nevertheless.
int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run<float, float>(
      STAGE,
      {
          {"first", with(NONE)},
          {"nothing", [](const Fp32&) {}},
          {"nan", with(NAN_ELEMENT)},
          {"element", with(ELEMENT)},
          {"rounded_again", with(ROUNDED_AGAIN)},
          {"past_c", with(PAST_C)},
          {"past_row", with(PAST_ROW)},
          {"out_of_bounds", with(OUT_OF_BOUNDS)},
          {"race", with(RACE)},
          in_workspace("in_workspace", 100),
          in_workspace("past_workspace", 101),
          {"refuses", [](const Fp32&) { throw std::invalid_argument("M is too odd"); }},
          {"breaks", [](const Fp32&) { throw CudaError("it broke"); }},
          {"interrupted", [](const Fp32&) { std::raise(SIGINT); }},
          {"last", with(NONE)},
      },
      argc, argv);
}
