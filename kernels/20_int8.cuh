#pragma once
// 20 int8: C[M,N] = A[M,K] * B[K,N], row-major but for B, which is stored transposed, N x K; int8
// in, int32 accumulate; out int32, or int8 by way of a factor.
// Idea    integers of 8 bits take the bytes and the clocks of fp8, and their sums are exact: in any
//         order, on any device, up to a K of 131,071. To make 8 bits of a sum again it is
//         multiplied by a factor, rounded, moved by a zero point and cut to the range
//         (requantisation), each in the registers that the sums are in.
// vs 17   17's kernel for int8, with sums of int32, and a C of these, or of 8 bits by
//         Requantisation; pairs of elements go to a piece by plain stores: stmatrix moves elements
//         of 16 bits. Three of 17's tiles, chosen by 17's cost.
// Limit   17's.
#include "17_fp8.cuh"
#include "launch.cuh"
#include "parts/configurations.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "ptx/pack.cuh"

namespace ladder::int8 {

// What makes 8 bits of a sum: round(sum * scale * of_columns[n]) + zero_point, cut to -128 .. 127.
struct Requantisation {
  float scale;
  const float* of_columns;  // N, or null
  int zero_point;

  __device__ __forceinline__ float factor(int n, int N) const {
    return of_columns && n < N ? scale * of_columns[n] : scale;
  }
  // Of sums beyond 2^24 a float has not all bits: that is less than 2^-24 of the result. From 2^23
  // to 2^24 floats are the integers, so that adding 1.5 * 2^23 rounds, and makes the integer the
  // lower bits. What is far out of the range stays out of it: the bits of positive floats are in
  // the order of the floats. The product is rounded by itself first, as cublasLt's is.
  __device__ __forceinline__ int32_t operator()(int32_t sum, float factor) const {
    constexpr float MIDDLE = 0x1.8p23f;
    constexpr int32_t BITS_OF_MIDDLE = 0x4B400000;
    const float moved = fmaxf(__fadd_rn(static_cast<float>(sum) * factor, MIDDLE), 0);
    return static_cast<int32_t>(__float_as_uint(moved)) - BITS_OF_MIDDLE + zero_point;
  }
};

// What 17's store() does with a warp's sums of a piece, from column n of C on.
struct Finish {
  Requantisation as;

  __device__ __forceinline__ void operator()(int8_t (*staged)[128], const int32_t* sums, int n,
                                             int N, int lane) const {
    stage_pairs(staged, sums, lane, [&](const int32_t* two, int col) {
      return ptx::pack_s8(as(two[0], as.factor(n + col, N)), as(two[1], as.factor(n + col + 1, N)));
    });
  }
  __device__ __forceinline__ void operator()(int32_t (*staged)[32], const int32_t* sums, int, int,
                                             int lane) const {
    stage_pairs(staged, sums, lane,
                [](const int32_t* two, int) { return make_int2(two[0], two[1]); });
  }
};

template <class Out>
using Configuration = fp8::Configuration<int8_t, Out>;

// Throws CudaError where there is no TMA.
template <class Out, int BM, int BN>
void launch_configuration(const Gemm<int8_t, Out>& p, int tiles_of_C, int blocks) {
  const auto& e = p.epilogue;
  fp8::launch_kernel<BM, BN>(fp8::gemm_kernel<int8_t, Out, BM, BN, Finish>, p, tiles_of_C, blocks,
                             Finish{{e.alpha, e.column_scale, e.zero_point}});
}
template <class Out, int BM, int BN>
constexpr Configuration<Out> configuration(double step) {
  return {BM, BN, step, launch_configuration<Out, BM, BN>};
}
// Three of 17's, with its steps: each is compiled for two kinds of C.
template <class Out>
inline constexpr Configuration<Out> CONFIGURATIONS[] = {configuration<Out, 128, 128>(364),
                                                        configuration<Out, 128, 192>(528),
                                                        configuration<Out, 128, 256>(670)};

template <class Out>
void gemm(const Gemm<int8_t, Out>& p) {
  if (!done_without_kernel(p)) gemm_as(first_done(CONFIGURATIONS<Out>, p), p);
}

}  // namespace ladder::int8
