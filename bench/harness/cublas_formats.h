#pragma once
// What cuBLAS and cublasLt call the number formats. Only .cpp files that call them include it.
#include <cublas_v2.h>

#include <string>
#include <type_traits>

#include "number.h"

namespace ladder::harness {

inline void cublas_check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

template <class T>
struct Cuda;
template <>
struct Cuda<float> {
  static constexpr cudaDataType TYPE = CUDA_R_32F;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32F_PEDANTIC;  // for inputs of it
};
template <>
struct Cuda<tf32> {
  static constexpr cudaDataType TYPE = CUDA_R_32F;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32F_FAST_TF32;
};
template <>
struct Cuda<int8_t> {
  static constexpr cudaDataType TYPE = CUDA_R_8I;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32I;
};
template <>
struct Cuda<int32_t> {
  static constexpr cudaDataType TYPE = CUDA_R_32I;
};
template <>
struct Cuda<half> {
  static constexpr cudaDataType TYPE = CUDA_R_16F;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32F;
};
template <>
struct Cuda<bf16> {
  static constexpr cudaDataType TYPE = CUDA_R_16BF;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32F;
};
template <>
struct Cuda<e4m3> {
  static constexpr cudaDataType TYPE = CUDA_R_8F_E4M3;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32F;
};
template <>
struct Cuda<e5m2> {
  static constexpr cudaDataType TYPE = CUDA_R_8F_E5M2;
  static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32F;
};

// What alpha and beta are, by the format of the results.
template <class Out>
using ScaleOf = std::conditional_t<std::is_same_v<Out, int32_t>, int32_t, float>;

}  // namespace ladder::harness
