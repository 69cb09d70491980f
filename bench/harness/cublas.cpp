#include "cublas.h"

#include "cublas_formats.h"

namespace ladder::harness {

Cublas::Cublas() {
  cublas_check(cublasCreate(&handle_));
  // Where it splits K, cuBLAS may otherwise add up parts that it has rounded to fp16 (at 2500^3 on
  // an H200): faster, but not the product with fp32 accumulation that is asked for.
  cublas_check(cublasSetMathMode(handle_, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
}
Cublas::~Cublas() {
  cublasDestroy(handle_);
}

std::string Cublas::version() const {
  const auto part = [](libraryPropertyType which) {
    int value = 0;
    cublas_check(cublasGetProperty(which, &value));
    return std::to_string(value);
  };
  return part(MAJOR_VERSION) + "." + part(MINOR_VERSION) + "." + part(PATCH_LEVEL);
}

// cuBLAS is column-major: a row-major matrix is its own transpose there. C = A B is
// C^T = B^T A^T, so the operands and M and N change places and nothing is transposed.
template <class In, class Out>
void Cublas::gemm(const Gemm<In, Out>& p) {
  const float one = 1, zero = 0;
  cublas_check(cublasSetStream(handle_, p.stream));
  cublas_check(cublasGemmEx_64(handle_, CUBLAS_OP_N, CUBLAS_OP_N, p.N, p.M, p.K, &one, p.B,
                               Cuda<In>::TYPE, p.ldb, p.A, Cuda<In>::TYPE, p.lda, &zero, p.C,
                               Cuda<Out>::TYPE, p.ldc, Cuda<In>::COMPUTE, CUBLAS_GEMM_DEFAULT));
}

#define INSTANTIATE(In, Out, Accumulate) template void Cublas::gemm(const Gemm<In, Out>&);
LADDER_CUBLAS_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
