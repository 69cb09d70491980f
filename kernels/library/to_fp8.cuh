#pragma once
// C[M,N] = alpha * column_scale[n] * (A[M,K] * B[K,N]) in e4m3, of A and B in fp16 or bf16: what a
// layer of fp8 that follows reads. It is 17's kernel. A lies by rows, and B by columns.
#include "../17_fp8.cuh"

namespace ladder::to_fp8 {

// For 17's store(): to the nearest number of e4m3, and beyond 448, the largest, to that.
struct Scaled {
  float alpha;
  const float* of_columns;  // N, or null

  __device__ __forceinline__ uint8_t of(float sum, int n, int N) const {
    return e4m3(sum * (of_columns && n < N ? alpha * of_columns[n] : alpha)).__x;
  }
  __device__ __forceinline__ void operator()(e4m3 (*staged)[128], const float* sums, int n, int N,
                                             int lane) const {
    stage_pairs(staged, sums, lane, [&](const float* two, int col) {
      return static_cast<uint16_t>(of(two[0], n + col, N) | of(two[1], n + col + 1, N) << 8);
    });
  }
};

template <class In>
using Configuration = fp8::Configuration<In, e4m3>;

// Throws CudaError where there is no TMA.
template <class In, int BM, int BN>
void launch_configuration(const Gemm<In, e4m3>& p, int tiles_of_C, int blocks) {
  fp8::launch_kernel<BM, BN>(fp8::gemm_kernel<In, e4m3, BM, BN, Scaled>, p, tiles_of_C, blocks,
                             Scaled{p.epilogue.alpha, p.epilogue.column_scale});
}
template <class In, int BM, int BN>
constexpr Configuration<In> configuration(double step) {
  return {BM, BN, step, launch_configuration<In, BM, BN>};
}
// Two of 17's, with its steps: there are as many bytes.
template <class In>
inline constexpr Configuration<In> CONFIGURATIONS[] = {configuration<In, 128, 128>(364),
                                                       configuration<In, 128, 256>(670)};

// Of a problem that require_possible_along_k() has let through.
template <class In>
void gemm(const Gemm<In, e4m3>& p) {
  if (p.K == 0)
    LADDER_CUDA_CHECK(cudaMemset2DAsync(p.C, p.ldc, 0, p.N, p.M, p.stream));
  else
    launch_in_waves(first_done(CONFIGURATIONS<In>, p), p);
}

}  // namespace ladder::to_fp8
