// What of the harness is for nvcc: W is folded; and LayerNorm and a product, as simply as can be,
// in double, a thread for each element of Y.
#include "23c_norm_in_product.cuh"
#include "case.h"

namespace ladder::norm_linear_bench {
namespace {

constexpr int THREADS = 128;

__global__ void __launch_bounds__(THREADS)
    reference_kernel(Gemm<bf16, bf16> p, Unfolded<bf16> of, const double* means,
                     const double* factors, Expected to) {
  const int64_t n = int64_t{blockIdx.x} * THREADS + threadIdx.x;
  if (n >= p.N) return;
  for (int m = blockIdx.y; m < p.M; m += gridDim.y) {
    double sum = as_float(of.bias[n]), squares = 0, magnitude = 0;
    for (int k = 0; k < p.K; ++k) {
      const double x = as_float(p.A[m * p.lda + k]), weight = as_float(of.W[k * of.ld + n]);
      const double gain = as_float(of.gain[k]), shift = as_float(of.shift[k]);
      const double normed = (x - means[m]) * factors[m] * gain;
      const double largest = (fabs(normed) + fabs(shift)) * weight;
      sum += (normed + shift) * weight;
      squares += largest * largest;
      magnitude += fabs(x * factors[m] * gain * weight) + fabs(shift * weight);
    }
    const int64_t i = m * int64_t{p.N} + n;
    to.value[i] = static_cast<float>(sum);
    to.root[i] = static_cast<float>(sqrt(squares));
    to.magnitude[i] = static_cast<float>(magnitude);
  }
}

}  // namespace

void fold(const Unfolded<bf16>& from, bf16* W, float* sums, float* bias) {
  norm_in_product::fold(from, W, sums, bias, nullptr);
}

void find_expected(const Gemm<bf16, bf16>& p, const Unfolded<bf16>& of, const double* means,
                   const double* factors, Expected to) {
  launch(reference_kernel, dim3(ceil_div(p.N, THREADS), p.M < 1024 ? p.M : 1024), dim3(THREADS), 0,
         p.stream, p, of, means, factors, to);
}

}  // namespace ladder::norm_linear_bench
