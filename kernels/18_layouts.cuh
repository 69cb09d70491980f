#pragma once
// 18 layouts: C[M,N] = A[M,K] * B[K,N], where A and B may each be stored by rows or by columns,
// fp16 or bf16; C by rows, fp32 accumulate.
// Idea    a tile lies in shared memory as it lies in global memory, and what turns it is a bit of
//         wgmma for each operand. There are two forms, and parts/operand.cuh has both: rows along
//         K, one box of TMA; and rows along M or N, boxes of 64 of them. No matrix is transposed,
//         and no element is moved for it.
// vs 13   13's kernel with either form for each operand; the choice among the four kernels of a
//         tile, and among tiles of which an A by columns begins off the lines. Without pairs.
// Limit   13's.
#include <utility>

#include "13_fit_the_waves.cuh"
#include "launch.cuh"
#include "parts/configurations.cuh"
#include "parts/epilogue.cuh"
#include "parts/no_kernel.cuh"
#include "types.cuh"

namespace ladder::layouts {

using fit_the_waves::BK;
using fit_the_waves::BOX;
using ptx::Major;

// ---- The launcher ------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
// What the launcher chooses among: tiles. Their layouts are the problem's. Of a wave, in
// nanoseconds: a step of 64 along K, and what there is beside the steps.
template <class T>
struct Configuration : fit_the_waves::Configuration<T> {
  double step, rest;
};

template <class T, int BM, int BN, Major MAJOR_A, Major MAJOR_B>
void launch_layout(const Gemm<T, T>& p, int tiles_of_C, int blocks) {
  fit_the_waves::launch_and_finish<T, BM, BN, fit_the_waves::Pairs::NONE, MAJOR_A, MAJOR_B>(
      p, tiles_of_C, blocks, ProductAlone{});
}
template <class T, int BM, int BN>
void launch_configuration(const Gemm<T, T>& p, int tiles_of_C, int blocks) {
  constexpr Major K = Major::K, MN = Major::MN;
  constexpr void (*LAUNCH[2][2])(const Gemm<T, T>&, int tiles_of_C, int blocks) = {
      {launch_layout<T, BM, BN, K, MN>, launch_layout<T, BM, BN, K, K>},     // NN, NT
      {launch_layout<T, BM, BN, MN, MN>, launch_layout<T, BM, BN, MN, K>}};  // TN, TT
  LAUNCH[p.transposed_a][p.transposed_b](p, tiles_of_C, blocks);
}
template <class T, int BM, int BN>
constexpr Configuration<T> configuration(double step, double rest) {
  return {{{BM, BN}, launch_configuration<T, BM, BN>}, step, rest};
}
// Five of 13's, since each is compiled for four layouts and two types, with what build/tune
// measured of 13's on an H200; of 128x128, what that took of 18 at 4096x4096x4096 and
// 512x4096x14336.
template <class T>
inline constexpr Configuration<T> CONFIGURATIONS[] = {
    configuration<T, 64, 128>(203, 431), configuration<T, 128, 128>(351, 570),
    configuration<T, 128, 256>(653, 1038), configuration<T, 160, 256>(814, 1786),
    configuration<T, 168, 256>(864, 1636)};

template <class T>
void gemm_as(const Configuration<T>& c, const Gemm<T, T>& p) {
  if (!done_without_kernel(p, Layouts::ANY)) launch_in_waves(c, p);
}

// Which tiles the launcher takes for an A along M.
enum class Heights { AS_BY_ROWS, ON_LINES };

// What all waves take, in nanoseconds.
template <Heights HEIGHTS, class T>
double cost(const Gemm<T, T>& p, const Configuration<T>& c) {
  // There tiles begin in the midst of a line of 128 bytes, unless their height is a multiple of 64,
  // and a row of a box lies in two of them. An H200's time for a step of 168x256 by that in NN.
  constexpr double OFF_LINES = 1.045;
  const bool off_lines = HEIGHTS == Heights::ON_LINES && p.transposed_a && c.BM % BOX != 0;
  return waves(p, c) * (ceil_div(p.K, BK) * c.step * (off_lines ? OFF_LINES : 1) + c.rest);
}

template <class T, Heights HEIGHTS = Heights::ON_LINES>
void gemm(const Gemm<T, T>& p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  const Configuration<T>* first = nullptr;  // to be done
  for (const Configuration<T>& c : CONFIGURATIONS<T>)
    if (!first || cost<HEIGHTS>(p, c) < cost<HEIGHTS>(p, *first)) first = &c;
  gemm_as(*first, p);
}

// ---- C by columns ------------------------------------------------------------------------------

// The product whose C, by rows, is p's C by columns: C^T = B^T * A^T. What p has by rows it has by
// columns, and nothing in memory changes.
template <class T>
Gemm<T, T> transposed(Gemm<T, T> p) {
  std::swap(p.M, p.N);
  std::swap(p.A, p.B);
  std::swap(p.lda, p.ldb);
  std::swap(p.transposed_a, p.transposed_b);
  p.transposed_a = !p.transposed_a;
  p.transposed_b = !p.transposed_b;
  return p;
}
// The same as gemm(), but C is stored by columns: N rows of M elements, ldc apart.
template <class T>
void gemm_to_columns(const Gemm<T, T>& p) {
  gemm(transposed(p));
}

#endif  // __CUDACC_RTC__

}  // namespace ladder::layouts
