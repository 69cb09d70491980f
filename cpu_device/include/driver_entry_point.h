#pragma once
// The part of CUDA's runtime that finds functions of the driver. Included by cuda_runtime.h.
#include "cpu_device/tensor_map.h"

enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound
};
constexpr unsigned long long cudaEnableDefault = 0;

inline cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult* found) {
  *function = cpu_device::driver_function(name);
  *found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
