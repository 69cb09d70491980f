#pragma once
// Whether a build has kernels for a device. Its compute capability does not tell: code for sm_90a
// is for no other, and what was compiled for sm_80 alone is not for sm_100 where it has no PTX.
#include <cuda_runtime.h>

#include "../launch.cuh"

namespace ladder::library {

// Whether the current device can run the kernel, and with it all that is compiled as it is.
inline bool is_there(void (*kernel)()) {
  const MayLoad may_load;
  cudaFuncAttributes attributes;
  const cudaError_t error =
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  if (error == cudaSuccess) return true;
  cudaGetLastError();  // this one: nobody else is to find it
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction)
    throw CudaError(std::string("no kernel can be loaded: ") + cudaGetErrorString(error));
  return false;
}

}  // namespace ladder::library
