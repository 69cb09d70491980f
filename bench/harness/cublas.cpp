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

namespace {

// cuBLAS is column-major: a row-major matrix is its own transpose there. C = A B is
// C^T = B^T A^T, so the operands and M and N change places and nothing is transposed, but for what
// is stored so.
template <class In, class Out, class To>
cublasStatus_t call(cublasContext* handle, const Gemm<In, Out>& p, To* to, int64_t ld) {
  const ScaleOf<To> one = 1, zero = 0;
  cublas_check(cublasSetStream(handle, p.stream));
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  return cublasGemmEx_64(handle, operation(p.transposed_b), operation(p.transposed_a), p.N, p.M,
                         p.K, &one, p.B, Cuda<In>::TYPE, p.ldb, p.A, Cuda<In>::TYPE, p.lda, &zero,
                         to, Cuda<To>::TYPE, ld, Cuda<In>::COMPUTE, CUBLAS_GEMM_DEFAULT);
}

}  // namespace

template <class In, class Out, class To>
void Cublas::product(const Gemm<In, Out>& p, To* to, int64_t ld) {
  cublas_check(call(handle_, p, to, ld));
}

template <class In, class Out, class To>
bool Cublas::has(const Gemm<In, Out>& p, To* to, int64_t ld) {
  const cublasStatus_t status = call(handle_, p, to, ld);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  cublas_check(status);
  return true;
}

#define INSTANTIATE(In, Out, Accumulate) \
  template void Cublas::product(const Gemm<In, Out>&, Out*, int64_t);
LADDER_CUBLAS_FORMATS(INSTANTIATE)
// What an epilogue is computed from, where C's own format is not that of the sums.
template void Cublas::product(const Gemm<half, half>&, float*, int64_t);
template void Cublas::product(const Gemm<bf16, bf16>&, float*, int64_t);
template void Cublas::product(const Gemm<int8_t, int8_t>&, int32_t*, int64_t);
template bool Cublas::has(const Gemm<int8_t, int32_t>&, int32_t*, int64_t);
template bool Cublas::has(const Gemm<int8_t, int8_t>&, int32_t*, int64_t);

}  // namespace ladder::harness
