#pragma once
// Streams that write a word and wait for one, in the memory of any GPU that can be reached. CUDA
// driver API, "Stream Memory Operations".
#include <cuda.h>
#include <cudaTypedefs.h>

#include "../launch.cuh"

namespace ladder::ptx {

// A function of the driver. Not linked: libcuda is only there where there is a GPU.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  LADDER_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw CudaError(std::string("this driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

inline void require_success(const char* call, CUresult status) {
  if (status != CUDA_SUCCESS)
    throw CudaError(std::string(call) + ": error " + std::to_string(status));
}

// When the stream comes here, *word becomes `value`; who sees that sees all that the stream has
// written before, the copy engine's work included.
inline void stream_write_value(cudaStream_t stream, uint32_t* word, uint32_t value) {
  static const auto write =
      driver_function<PFN_cuStreamWriteValue32_v11070>("cuStreamWriteValue32", 12000);
  require_success("cuStreamWriteValue32",
                  write(stream, reinterpret_cast<CUdeviceptr>(word), value, 0));
}

// The stream goes on once *word has reached `value`: words count up, beyond 2^32 from 0 again. No
// multiprocessor is busy with it.
inline void stream_wait_value(cudaStream_t stream, const uint32_t* word, uint32_t value) {
  static const auto wait =
      driver_function<PFN_cuStreamWaitValue32_v11070>("cuStreamWaitValue32", 12000);
  require_success("cuStreamWaitValue32", wait(stream, reinterpret_cast<CUdeviceptr>(word), value,
                                              CU_STREAM_WAIT_VALUE_GEQ));
}

}  // namespace ladder::ptx
