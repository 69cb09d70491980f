#include "cublas.h"

#include <cublas_v2.h>

namespace ladder::harness {
namespace {

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

// cuBLAS is column-major: a row-major matrix is its own transpose there. C = A B is
// C^T = B^T A^T, so the operands and M and N change places and nothing is transposed.
template <class T>
void row_major_gemm(cublasHandle_t handle, const Gemm<T, T>& p, cudaDataType type,
                    cublasComputeType_t compute) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasSetStream(handle, p.stream));
  check(cublasGemmEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, p.N, p.M, p.K, &one, p.B, type, p.ldb,
                        p.A, type, p.lda, &zero, p.C, type, p.ldc, compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace

Cublas::Cublas() {
  check(cublasCreate(&handle_));
  // Where it splits K, cuBLAS may otherwise add up parts that it has rounded to fp16 (at 2500^3 on
  // an H200): faster, but not the product with fp32 accumulation that is asked for.
  check(cublasSetMathMode(handle_, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
}
Cublas::~Cublas() {
  cublasDestroy(handle_);
}

std::string Cublas::version() const {
  const auto part = [](libraryPropertyType which) {
    int value = 0;
    check(cublasGetProperty(which, &value));
    return std::to_string(value);
  };
  return part(MAJOR_VERSION) + "." + part(MINOR_VERSION) + "." + part(PATCH_LEVEL);
}

void Cublas::gemm(const Gemm<float, float>& p) {
  row_major_gemm(handle_, p, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC);
}
void Cublas::gemm(const Gemm<half, half>& p) {
  row_major_gemm(handle_, p, CUDA_R_16F, CUBLAS_COMPUTE_32F);
}

}  // namespace ladder::harness
