// Multiplies two small matrices with stage 03. Exit code: 0 the product is right, 1 it is not, 77
// there is no GPU.
#include <cstdio>
#include <exception>
#include <ladder/03_transposed_b.cuh>
#include <vector>

#include "problem.h"

namespace {

float* to_device(const std::vector<float>& host) {
  float* device = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(float)));
  LADDER_CUDA_CHECK(
      cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  return device;
}

bool product_is_right() {
  ladder::Gemm<float, float> p = small_problem();
  // Small integers, of which every sum is exact.
  std::vector<float> A(p.M * p.lda), B(p.K * p.ldb), C(p.M * p.ldc, -1.0f);
  for (int m = 0; m < p.M; ++m)
    for (int k = 0; k < p.K; ++k) A[m * p.lda + k] = static_cast<float>(m - 3 * k);
  for (int k = 0; k < p.K; ++k)
    for (int n = 0; n < p.N; ++n) B[k * p.ldb + n] = static_cast<float>(7 * k - n);

  float* const result = to_device(C);
  p.A = to_device(A), p.B = to_device(B), p.C = result;
  ladder::transposed_b::gemm(p);
  LADDER_CUDA_CHECK(cudaMemcpy(C.data(), result, C.size() * sizeof(float), cudaMemcpyDeviceToHost));

  for (int m = 0; m < p.M; ++m)
    for (int n = 0; n < p.N; ++n) {
      float sum = 0;
      for (int k = 0; k < p.K; ++k) sum += A[m * p.lda + k] * B[k * p.ldb + n];
      if (C[m * p.ldc + n] != sum) {
        std::printf("C[%d][%d] is %g, not %g\n", m, n, C[m * p.ldc + n], sum);
        return false;
      }
    }
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no GPU");
    return 77;
  }
  try {
    return product_is_right() ? 0 : 1;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
