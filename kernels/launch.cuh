#pragma once
// Launching a kernel, its dynamic shared memory, and CUDA's errors: what GPU and CPU device share.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "extensions.h"
#ifndef __CUDACC_RTC__
  #include "validate.h"
#endif

namespace ladder {

// ceil(a / b) for a >= 0, b > 0, with no overflow.
__host__ __device__ constexpr int ceil_div(int a, int b) {
  return a / b + (a % b != 0);
}

#ifndef __CUDACC_RTC__
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

  #define LADDER_CUDA_CHECK(call)                                                                 \
    do {                                                                                          \
      const cudaError_t ladder_status = (call);                                                   \
      if (ladder_status != cudaSuccess)                                                           \
        throw ::ladder::CudaError(std::string(#call) + ": " + cudaGetErrorString(ladder_status) + \
                                  " (" + __FILE__ + ":" + std::to_string(__LINE__) + ")");        \
    } while (0)

// The plain 2-D grid of stages 01 to 04b, x along N and y along M. CUDA allows 65,535 blocks along
// y; throws std::invalid_argument for an M beyond that.
inline dim3 grid_2d(int M, int N, int BM, int BN) {
  if (ceil_div(M, BM) > 65535)
    throw std::invalid_argument(
        "M is " + std::to_string(M) + ", but a 2-D grid of " + std::to_string(BM) +
        "-row tiles ends at M = " + std::to_string(65535 * BM) + "; stage 04c has no such limit");
  return dim3(ceil_div(N, BN), ceil_div(M, BM));
}

// Of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  LADDER_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// Where a kernel is enqueued; and whether it starts early, as Gemm::starts_early says, which a
// kernel that does not wait must not.
struct Enqueue {
  cudaStream_t stream;
  bool early;
  Enqueue(cudaStream_t stream, bool early = false) : stream(stream), early(early) {}
};

  #ifndef LADDER_CPU_DEVICE
// A kernel by its address, with its parameters'.
inline cudaError_t launch_function(const void* function, unsigned cluster, dim3 grid, dim3 block,
                                   size_t smem_bytes, Enqueue where, void** parameters) {
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {cluster, 1, 1};
  }
  if (where.early) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{grid, block, smem_bytes, where.stream, attributes, count};
  return cudaLaunchKernelExC(&config, function, parameters);
}

// While there is one of these, this thread may have CUDA load kernels, though it, or another
// thread, captures a stream: else CUDA refuses, and the capture is lost.
class MayLoad {
 public:
  MayLoad() { LADDER_CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~MayLoad() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  MayLoad(const MayLoad&) = delete;
  MayLoad& operator=(const MayLoad&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // then the one before
};

// Allows a kernel as much dynamic shared memory as the current device has beside what the kernel
// declares, and returns it. CUDA is told once for each kernel and device, and always the same: what
// a launch needs may be less than what another thread is just about to launch with.
inline size_t allow_shared_memory(const void* function) {
  int device = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, size_t> allowed;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = allowed.find({function, device});
  if (known != allowed.end()) return known->second;
  const MayLoad may_load;
  cudaFuncAttributes attributes;
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, function));
  const int bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                    static_cast<int>(attributes.sharedSizeBytes);
  LADDER_CUDA_CHECK(
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return allowed[{function, device}] = static_cast<size_t>(bytes);
}
  #endif

// Every kernel launch goes through here. Enqueues and returns; smem_bytes is dynamic shared memory.
// `cluster` neighbouring blocks form a cluster; with 1 there are none, which is not the same as
// clusters of one: with those 11 takes 4% longer (8192^3, H200).
// Throws std::invalid_argument when the device has less shared memory, CudaError when CUDA refuses.
// (common_type_t keeps `args` out of template deduction: they convert to the kernel's own types.)
template <class... Params>
void launch_clusters(unsigned cluster, void (*kernel)(Params...), dim3 grid, dim3 block,
                     size_t smem_bytes, Enqueue where, std::common_type_t<Params>... args) {
  #ifdef LADDER_CPU_DEVICE
  (void)where;
  cpu_device::launch(kernel, grid, block, cluster, smem_bytes, args...);
  #else
  const void* function = reinterpret_cast<const void*>(kernel);
  constexpr size_t DEFAULT_SMEM = 48 * 1024;  // more must be asked for, kernel by kernel
  if (smem_bytes > DEFAULT_SMEM) {
    const size_t available = allow_shared_memory(function);
    if (smem_bytes > available)
      throw std::invalid_argument("this kernel needs " + std::to_string(smem_bytes) +
                                  " bytes of shared memory a block; the device has " +
                                  std::to_string(available));
  }
  void* pointers[] = {&args...};
  LADDER_CUDA_CHECK(launch_function(function, cluster, grid, block, smem_bytes, where, pointers));
  #endif
}

// The same without clusters.
template <class... Params>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t smem_bytes, Enqueue where,
            std::common_type_t<Params>... args) {
  launch_clusters(1, kernel, grid, block, smem_bytes, where, args...);
}

#endif  // __CUDACC_RTC__

// The block's dynamic shared memory, seen as a T; aligned for TMA's boxes (08).
#if defined(LADDER_CPU_DEVICE)
using cpu_device::dynamic_shared;
#elif defined(__CUDACC__)
template <class T>
__device__ __forceinline__ T& dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<T*>(bytes);
}
#endif

}  // namespace ladder
