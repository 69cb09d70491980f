// The product of A and the unpacked numbers, as simply as can be, in double: a thread for each
// element of C.
#include "case.h"
#include "launch.cuh"
#include "parts/sixteen_bits.cuh"

namespace ladder::four_bits_bench {
namespace {

constexpr int THREADS = 128;

template <class T>
__global__ void __launch_bounds__(THREADS)
    reference_kernel(Gemm<T, T> p, Unpacked w, float* expected, float* magnitudes) {
  const int64_t n = int64_t{blockIdx.x} * THREADS + threadIdx.x;
  if (n >= p.N) return;
  for (int m = blockIdx.y; m < p.M; m += gridDim.y) {
    double sum = 0, magnitude = 0;
    for (int k = 0; k < p.K; ++k) {
      const int64_t group = k / GROUP * int64_t{p.N} + n;
      const double product = double{as_float(p.A[m * p.lda + k])} *
                             (w.values[k * int64_t{p.N} + n] - w.zeros[group]) *
                             double{w.scales[group]};
      sum += product;
      magnitude += fabs(product);
    }
    expected[m * int64_t{p.N} + n] = static_cast<float>(sum);
    magnitudes[m * int64_t{p.N} + n] = static_cast<float>(magnitude);
  }
}

}  // namespace

template <class T>
void find_expected(const Gemm<T, T>& p, const Unpacked& w, float* expected, float* magnitudes) {
  launch(reference_kernel<T>, dim3(ceil_div(p.N, THREADS), p.M < 1024 ? p.M : 1024), dim3(THREADS),
         0, p.stream, p, w, expected, magnitudes);
}
template void find_expected(const Gemm<half, half>&, const Unpacked&, float*, float*);
template void find_expected(const Gemm<bf16, bf16>&, const Unpacked&, float*, float*);

}  // namespace ladder::four_bits_bench
