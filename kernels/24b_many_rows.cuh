#pragma once
// 24b many_rows: C[M,N] = A[M,K] * W[K,N], fp16 or bf16, W of numbers of four bits, fp32
// accumulate.
// Idea    with many rows wgmma takes the time, and nothing should wait for the sums of a group. So
//         the scales multiply the numbers, and what wgmma adds up stays in its accumulators.
// vs 24   scaled numbers, rounded to T once more. Tiles of 64, 128 or 192 rows, steps of one group,
//         tiles in bands.
// Limit   the tensor cores. With tiles of 64 rows, what else a group takes (unpacking) adds to it.
#include "24_four_bits.cuh"

namespace ladder::many_rows {

using few_rows::WARPGROUP;
using four_bits::Half, four_bits::Pair, four_bits::twice, four_bits::zeros;

template <class T, int BM, int BN, class P>
struct Tiles : four_bits::Tiles<T, BM, BN, GROUP, P> {
  // A wave reads 1024 rows of A again and again, from L2: 4096 of 8192 numbers would be 67 MB. At
  // 4096x8192x8192 that is 3% of the time (H200), for memory takes power from the tensor cores.
  static constexpr int BAND = ceil_div(1024, BM);
};

template <class T>
__device__ __forceinline__ void scale(Half<T>& half, Pair<uint32_t> by) {
#pragma unroll
  for (auto& of_step : half.weights)
#pragma unroll
    for (int i = 0; i < 4; ++i) of_step[i] = ptx::multiply_pairs<T>(of_step[i], by.of_row[i % 2]);
}

// A consumer, a warpgroup: multiplies its 64 columns of every group as soon as it has landed. What
// it unpacks while nothing of its own is multiplied, products of the other warpgroups hide.
template <class T, int BM, int BN, class P, int SPLIT>
__device__ __forceinline__ void consume(few_rows::SharedOf<Tiles<T, BM, BN, P>, SPLIT>& s,
                                        few_rows::Steps steps, Ring ring, float (&acc)[BM / 2]) {
  const int warpgroup = warpgroup_of_block(), thread = threadIdx.x % WARPGROUP, lane = thread % 32;
  const int row = thread / 32 * 16 + lane / 4;  // of wgmma's A: a column of W
  const auto& first = s.tiles[0];
  const uint64_t first_a = first.A[0].descriptor(0, 0);
#pragma unroll 1
  for (int t = 0; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const P& W = s.tiles[ring.buffer].W[warpgroup][0];
    const uint64_t a = further(first_a, ring.buffer * sizeof first);
    const auto zero = zeros(W, row);
    const Pair<uint32_t> factor = {twice(W.scale[row]), twice(W.scale[row + 8])};
    Half<T> left, right;
    unpack(left, W, 0, thread, zero);
    scale(left, factor);
    left.multiply(acc, a, true);
    unpack(right, W, 1, thread, zero);
    scale(right, factor);
    right.multiply(acc, further(a, sizeof first.A[0]), true);
    ptx::wgmma_wait_group<0>();
    __syncwarp();  // all lanes have read W
    if (lane == 0) ptx::mbarrier_arrive(&s.empty[ring.buffer]);
  }
}

template <class Problem>
struct Configuration : four_bits::Configuration<Problem> {};
template <class T, class P, int BM, int BN, int SPLIT, int BLOCKS>
constexpr Configuration<PackedProduct<T, P>> configuration() {
  return {four_bits::configuration_of<T, Tiles<T, BM, BN, P>, SPLIT, BLOCKS>()};
}
template <class T, class P>
inline constexpr Configuration<PackedProduct<T, P>> CONFIGURATIONS[] = {
    configuration<T, P, 64, 128, 1, 2>(),  configuration<T, P, 64, 128, 2, 2>(),
    configuration<T, P, 64, 128, 4, 2>(),  configuration<T, P, 128, 128, 1, 1>(),
    configuration<T, P, 128, 128, 2, 1>(), configuration<T, P, 128, 128, 4, 1>(),
    configuration<T, P, 192, 128, 1, 1>(), configuration<T, P, 192, 128, 2, 1>(),
    configuration<T, P, 128, 192, 1, 1>()};

// What the busiest multiprocessor does. A group takes as long as 40 rows and those of a tile of 128
// columns with as many elements, whether one block is there or two in turn: 0.45, 0.75, 1.02 and
// 1.02 us for 64x128, 128x128, 192x128 and 128x192 (H200, 4096x8192x8192). Blocks that add their
// sums up take as long for it as for three groups (512x28672x8192).
template <class T, class P>
double cost(const PackedProduct<T, P>& p, const Configuration<PackedProduct<T, P>>& c) {
  constexpr int ROWS_TO_UNPACK = 40, GROUPS_TO_ADD_UP = 3;
  const double all = static_cast<double>(ceil_div(p.M, c.BM)) * ceil_div(p.N, c.BN) * c.split;
  const int groups = ceil_div(ceil_div(p.K, GROUP), c.split) + (c.split > 1 ? GROUPS_TO_ADD_UP : 0);
  return std::ceil(all / four_bits::multiprocessors()) * groups *
         (ROWS_TO_UNPACK + c.BM * c.BN / 128);
}

template <class T, class P>
void gemm(const PackedProduct<T, P>& p) {
  constexpr int FEW_ROWS = 32;
  if (p.M <= FEW_ROWS) return four_bits::gemm(p);
  if (!done_without_kernel(p)) first_done(CONFIGURATIONS<T, P>, p).launch(p);
}

}  // namespace ladder::many_rows
