// C = gelu(A * B + bias) in fp16, by whatever the library chooses, and what it says of it.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <ladder/gemm.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

namespace {

half* on_device(const std::vector<half>& from) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, from.size() * sizeof(half)) != cudaSuccess)
    throw std::runtime_error("no memory");
  cudaMemcpy(memory, from.data(), from.size() * sizeof(half), cudaMemcpyHostToDevice);
  return static_cast<half*>(memory);
}

void multiply() {
  constexpr int M = 512, N = 1024, K = 256;
  const std::vector<half> A(M * K, __float2half(0.5f)), B(K * N, __float2half(0.25f)),
      bias(N, __float2half(-31.0f));
  std::vector<half> C(M * N);

  ladder::Gemm<half, half> problem{M, N, K, on_device(A), K, on_device(B), N, on_device(C), N};
  problem.epilogue.bias = on_device(bias);
  problem.epilogue.activation = ladder::Activation::GELU;
  ladder::gemm(problem);

  cudaMemcpy(C.data(), problem.C, C.size() * sizeof(half), cudaMemcpyDeviceToHost);
  std::printf("%sgelu(256 * 0.5 * 0.25 - 31) = %g\n", ladder::explain(problem).c_str(),
              static_cast<double>(__half2float(C.back())));
  if (std::fabs(__half2float(C.back()) - 0.8413f) > 0.01f) throw std::runtime_error("wrong");
}

}  // namespace

// Exit code: 0 the product is right, 1 it is not, 77 there is no GPU.
int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no GPU");
    return 77;
  }
  try {
    multiply();
    return 0;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
