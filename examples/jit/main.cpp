// A layer of a network, leaky_relu(A * B + bias), as one kernel whose epilogue is written here.
// Exit code: 0 the results are right, 1 they are not or CUDA refuses, 77 there is no GPU.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <ladder/jit.h>

#include <cstdio>
#include <exception>
#include <vector>

namespace {

constexpr int M = 100, N = 260, K = 72;
constexpr int LDB = 264;  // rows of B and C begin every 16 bytes

half* on_gpu(const std::vector<half>& values) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, values.size() * sizeof(half)) != cudaSuccess) return nullptr;
  cudaMemcpy(memory, values.data(), values.size() * sizeof(half), cudaMemcpyHostToDevice);
  return static_cast<half*>(memory);
}

// What the kernel is given with each call: the same fields as in the text below.
struct Layer {
  const half* bias;
  float slope;
};
const ladder::jit::Epilogue LEAKY{
    "x += __half2float(bias[n]);\n"
    "return x > 0 ? x : slope * x;",
    "const half* bias; float slope;"};

int multiply() {
  std::vector<half> a(M * K), b(K * LDB), bias(N), c(M * LDB);
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k) a[m * K + k] = __float2half((m + k) % 5 - 2.0f);
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) b[k * LDB + n] = __float2half((k + 2 * n) % 7 - 3.0f);
  for (int n = 0; n < N; ++n) bias[n] = __float2half(n % 3 - 1.0f);

  half* const result = on_gpu(c);
  const ladder::Gemm<half, half> problem{M, N, K, on_gpu(a), K, on_gpu(b), LDB, result, LDB};
  ladder::jit::gemm(problem, LEAKY, Layer{on_gpu(bias), 0.25f});

  cudaMemcpy(c.data(), result, c.size() * sizeof(half), cudaMemcpyDeviceToHost);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float x = __half2float(bias[n]);
      for (int k = 0; k < K; ++k) x += __half2float(a[m * K + k]) * __half2float(b[k * LDB + n]);
      const float wanted = x > 0 ? x : 0.25f * x, got = __half2float(c[m * LDB + n]);
      if (got != wanted) {
        std::printf("C[%d][%d] is %g, not %g\n", m, n, got, wanted);
        return 1;
      }
    }
  std::printf("all of %dx%d is right\n", M, N);
  return 0;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no GPU");
    return 77;
  }
  try {
    return multiply();
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
