#pragma once
// What every stage shares: the problem, the launch, the error check. Nothing about any one kernel.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

#define CUDA_CHECK(call)                                                                         \
  do {                                                                                           \
    const cudaError_t status = (call);                                                           \
    if (status != cudaSuccess)                                                                   \
      throw CudaError(std::string(#call) + ": " + cudaGetErrorString(status) + " (" + __FILE__ + \
                      ":" + std::to_string(__LINE__) + ")");                                     \
  } while (0)

// ceil(a / b) for a >= 0, b > 0, with no overflow.
__host__ __device__ constexpr int ceil_div(int a, int b) {
  return a / b + (a % b != 0);
}

// C[M,N] = A[M,K] * B[K,N], row-major, enqueued on `stream`. Leading dimensions in elements; they
// are 64-bit so that every `row * ld` is. K = 0 writes zeros, M = 0 or N = 0 does nothing.
// Elements between a matrix's width and its leading dimension are never written, nor is C made of
// what is read there.
template <class In, class Out>
struct Gemm {
  int M, N, K;
  const In* A;
  int64_t lda;
  const In* B;
  int64_t ldb;
  Out* C;
  int64_t ldc;
  cudaStream_t stream = nullptr;
};

// Rounding a dimension up to the next tile must not overflow an int.
constexpr int MAX_DIMENSION = INT32_MAX - 1024;

// Throws std::invalid_argument unless `value` is a multiple of `unit`.
inline void require_multiple(const char* what, uint64_t value, uint64_t unit) {
  if (value % unit != 0)
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) +
                                ", but this kernel needs a multiple of " + std::to_string(unit));
}

// The contract of every stage: sizes from 0 to MAX_DIMENSION, leading dimensions no smaller than
// the width, pointers 16-byte aligned. Throws std::invalid_argument that names the offender.
template <class In, class Out>
void require_valid(const Gemm<In, Out>& p) {
  const auto size = [](const char* name, int64_t value) {
    if (value < 0 || value > MAX_DIMENSION)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                  ", but must be from 0 to " + std::to_string(MAX_DIMENSION));
  };
  size("M", p.M), size("N", p.N), size("K", p.K);
  const auto at_least = [](const char* name, int64_t ld, int width) {
    if (ld < width)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(ld) +
                                  ", but a row has " + std::to_string(width) + " elements");
  };
  at_least("lda", p.lda, p.K), at_least("ldb", p.ldb, p.N), at_least("ldc", p.ldc, p.N);
  require_multiple("the address of A", reinterpret_cast<uintptr_t>(p.A), 16);
  require_multiple("the address of B", reinterpret_cast<uintptr_t>(p.B), 16);
  require_multiple("the address of C", reinterpret_cast<uintptr_t>(p.C), 16);
}

// Vector loads, cp.async and TMA move 16 bytes: every row has to start on such a boundary.
template <class In, class Out>
void require_aligned_rows(const Gemm<In, Out>& p) {
  require_multiple("lda", p.lda, 16 / sizeof(In));
  require_multiple("ldb", p.ldb, 16 / sizeof(In));
  require_multiple("ldc", p.ldc, 16 / sizeof(Out));
}

// The plain 2-D grid of stages 01-03, x along N and y along M. CUDA allows 65,535 blocks along y;
// throws std::invalid_argument for an M beyond that.
inline dim3 grid_2d(int M, int N, int BM, int BN) {
  if (ceil_div(M, BM) > 65535)
    throw std::invalid_argument(
        "M is " + std::to_string(M) + ", but a 2-D grid of " + std::to_string(BM) +
        "-row tiles ends at M = " + std::to_string(65535 * BM) + "; stage 04 has no such limit");
  return dim3(ceil_div(N, BN), ceil_div(M, BM));
}

// Of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// The first launch of this thread since it was last set to {}, for whoever wants to report
// registers and occupancy: a launcher starts its main kernel first.
struct Launch {
  const void* kernel = nullptr;
  dim3 grid, block;
  size_t smem_bytes = 0;
};
inline thread_local Launch first_launch;

// Every kernel launch goes through here. Enqueues and returns; smem_bytes is dynamic shared memory.
// `cluster` neighbouring blocks form a cluster; with 1 there are none, which is not the same as
// clusters of one: with those 11 takes 4% longer (8192^3, H200).
// Throws std::invalid_argument when the device has less shared memory, CudaError when CUDA refuses.
// (common_type_t keeps `args` out of template deduction: they convert to the kernel's own types.)
template <class... Params>
void launch_clusters(unsigned cluster, void (*kernel)(Params...), dim3 grid, dim3 block,
                     size_t smem_bytes, cudaStream_t stream, std::common_type_t<Params>... args) {
  const void* function = reinterpret_cast<const void*>(kernel);
#ifdef SIMT_CPU_DEVICE
  (void)cluster, (void)stream;
  simt::launch(kernel, grid, block, smem_bytes, args...);
#else
  constexpr size_t DEFAULT_SMEM = 48 * 1024;  // more must be asked for, kernel by kernel
  if (smem_bytes > DEFAULT_SMEM) {
    const int available = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (smem_bytes > static_cast<size_t>(available))
      throw std::invalid_argument("this kernel needs " + std::to_string(smem_bytes) +
                                  " bytes of shared memory a block; the device has " +
                                  std::to_string(available));
    CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(smem_bytes)));
  }
  void* pointers[] = {&args...};
  cudaLaunchAttribute clusters{};
  clusters.id = cudaLaunchAttributeClusterDimension;
  clusters.val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{grid, block, smem_bytes, stream, &clusters, cluster > 1 ? 1U : 0U};
  CUDA_CHECK(cudaLaunchKernelExC(&config, function, pointers));
  CUDA_CHECK(cudaGetLastError());
#endif
  if (first_launch.kernel == nullptr) first_launch = {function, grid, block, smem_bytes};
}

// The same without clusters.
template <class... Params>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t smem_bytes,
            cudaStream_t stream, std::common_type_t<Params>... args) {
  launch_clusters(1, kernel, grid, block, smem_bytes, stream, args...);
}

// The block's dynamic shared memory, seen as a T; aligned for the boxes of 08 to 11.
#if defined(SIMT_CPU_DEVICE)
using simt::dynamic_shared;
#elif defined(__CUDACC__)
template <class T>
__device__ __forceinline__ T& dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<T*>(bytes);
}
#endif
