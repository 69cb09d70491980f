#pragma once
// 24b equal_shares: C[M,N] = A[M,K] * W[K,N], fp16 or bf16, W of numbers of four bits; fp32
// accumulate.
// Idea    tiles hardly ever fill whole waves: with 112 of them, 20 of 132 multiprocessors read
//         nothing. Here the steps of all tiles stand in a row, and each block has an equal share of
//         them, even if that is the end of one tile and the beginning of another.
// vs 24   one block a multiprocessor, which goes on to the next tile without emptying its buffers.
//         Who begins in the middle of a tile leaves its sums in the workspace; who has the tile's
//         first step adds them and stores.
// Limit   device memory.
#include "24_four_bits.cuh"

namespace ladder::equal_shares {

using few_rows::part_of, few_rows::store_unit;
using four_bits::BOX, four_bits::WARPGROUP;

// Steps in a row.
struct Share {
  int first, end;
};
__device__ __forceinline__ Share share_of(int block, int blocks, int steps) {
  const auto first = [&](int b) { return static_cast<int>(int64_t{steps} * b / blocks); };
  return {first(block), first(block + 1)};
}

// How a tile's steps and the tiles stand in the row: tiles of the same columns of W beside each
// other, so that W comes from memory once.
template <class Tiles>
struct Row {
  int tiles_m, tiles, groups;
  __host__ __device__ Row(int M, int N, int K)
      : tiles_m(ceil_div(M, Tiles::BM)),
        tiles(tiles_m * ceil_div(N, Tiles::BN)),
        groups(ceil_div(K, Tiles::BK)) {}
  __host__ __device__ int steps() const { return tiles * groups; }
  __device__ __forceinline__ Tile tile(int number) const {
    return {number % tiles_m * Tiles::BM, number / tiles_m * Tiles::BN};
  }
};

template <class S>
constexpr int CONSUMER_THREADS = S::CONSUMERS* WARPGROUP;

// A block's sums, in the workspace.
template <class S>
struct Sums {
  float of_thread[S::BM / 2][CONSUMER_THREADS<S>];
};
// Whether they are there: 1, or 0 as between two launches. In front of the sums, so that launches
// of different shapes find them at the same place.
constexpr int MOST_BLOCKS = 1024;
struct AreThere {
  unsigned of_block[MOST_BLOCKS];
};

template <class S>
__device__ __forceinline__ void leave(const float (&acc)[S::BM / 2], Sums<S>& to,
                                      unsigned* is_there) {
#pragma unroll
  for (int i = 0; i < S::BM / 2; ++i) to.of_thread[i][threadIdx.x] = acc[i];
  __threadfence();
  ptx::named_barrier_sync(1, CONSUMER_THREADS<S>);
  if (threadIdx.x == 0) atomicExch(is_there, 1u);
}
template <class S>
__device__ __forceinline__ void add(float (&acc)[S::BM / 2], const Sums<S>& from,
                                    unsigned* is_there) {
  if (threadIdx.x == 0)
    while (atomicExch(is_there, 0u) == 0) {
    }
  __threadfence();
  ptx::named_barrier_sync(1, CONSUMER_THREADS<S>);
#pragma unroll
  for (int i = 0; i < S::BM / 2; ++i) acc[i] += from.of_thread[i][threadIdx.x];
}

template <class S, class T>
__global__ void __launch_bounds__(S::THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ typename S::Tiles::SourceB from_W, T* C, int64_t ldc,
                int buffers, AreThere* are_there, Sums<S>* sums) {
  using Tiles = typename S::Tiles;
  S& s = dynamic_shared<S>();
  const Row<Tiles> row(M, N, K);
  const int blocks = gridDim.x;
  // A block waits for those behind it in the row. They have started before, for their number is
  // lower.
  const int block = blocks - 1 - static_cast<int>(blockIdx.x);
  const Share share = share_of(block, blocks, row.steps());
  if (threadIdx.x == 0) {
    for (int i = 0; i < buffers; ++i) {
      ptx::mbarrier_init(&s.full[i], 1);
      ptx::mbarrier_init(&s.empty[i], S::CONSUMERS * Tiles::EMPTIED_BY);
    }
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();
  Ring ring{static_cast<unsigned>(buffers)};

  if (warp_of_block() == CONSUMER_THREADS<S> / 32) {
#pragma unroll 1
    for (int step = share.first; step < share.end; ++step, ring.next()) {
      ptx::mbarrier_wait_parity(&s.empty[ring.buffer], ring.parity ^ 1);
      if (!ptx::elect_one()) continue;
      uint64_t* const full = &s.full[ring.buffer];
      ptx::mbarrier_arrive_expect_tx(full, Tiles::BYTES);
      const int number = step / row.groups;
      s.tiles[ring.buffer].load(map_A, from_W, row.tile(number),
                                (step - number * row.groups) * Tiles::BK, full);
    }
    return;
  }
#pragma unroll 1
  for (int step = share.first; step < share.end;) {
    const int number = step / row.groups, first = number * row.groups, end = first + row.groups;
    const int count = min(end, share.end) - step;
    float acc[S::BM / 2] = {};
    four_bits::multiply_groups(s, count, ring, acc);
    if (step > first) {
      leave<S>(acc, sums[block], &are_there->of_block[block]);
    } else {
      for (int b = block + 1; share_of(b, blocks, row.steps()).first < end; ++b)
        add<S>(acc, sums[b], &are_there->of_block[b]);
      const Tile tile = row.tile(number);
      const int warp_n = tile.n0 + threadIdx.x / 32 * 16;
#pragma unroll
      for (int unit = 0; unit < S::UNITS; ++unit)
        store_unit(part_of(acc, unit), C, ldc, tile.m0 + unit * few_rows::UNIT, warp_n, M, N);
    }
    step += count;
  }
}

#ifndef __CUDACC_RTC__
// Rows of A and columns of W in a tile.
template <class T, int BM, int BN>
struct Configuration {
  using Tiles = four_bits::Tiles<T, BM, BN>;
  using S = few_rows::SharedOf<Tiles, 1>;
  static int blocks(const FourBits<T>& p) {
    return std::min({MOST_BLOCKS, device_attribute(cudaDevAttrMultiProcessorCount),
                     Row<Tiles>(p.M, p.N, p.K).steps()});
  }
  static uint64_t workspace_bytes(const FourBits<T>& p) {
    return sizeof(AreThere) + static_cast<uint64_t>(blocks(p)) * sizeof(Sums<S>);
  }
  static void launch(const FourBits<T>& p) {
    constexpr int BUFFERS = few_rows::buffers_of<S>(1);
    auto* const are_there = static_cast<AreThere*>(p.workspace);
    ladder::launch(
        gemm_kernel<S, T>, dim3(blocks(p)), dim3(S::THREADS), S::bytes(BUFFERS), p.stream, p.M, p.N,
        p.K, Tiles::OperandA::map(p.A, p.M, p.K, p.lda),
        typename Tiles::SourceB{p.packed, ceil_div(p.N, PACKED_COLUMNS), ceil_div(p.K, GROUP)}, p.C,
        p.ldc, BUFFERS, are_there, reinterpret_cast<Sums<S>*>(are_there + 1));
  }
};

// Calls with(configuration).
template <class T, class With>
auto with_configuration(const FourBits<T>& p, const With& with) {
  if (p.M <= 8) return with(Configuration<T, 8, 256>());
  if (p.M <= 16) return with(Configuration<T, 16, 256>());
  if (p.M <= 32) return with(Configuration<T, 32, 256>());
  return with(Configuration<T, 64, 192>());
}

// What FourBits::workspace has to have, all of it 0 before the first launch. A launch leaves it
// ready for the next one; only one at a time may use it.
template <class T>
uint64_t workspace_bytes(const FourBits<T>& p) {
  return with_configuration(p, [&](auto c) { return c.workspace_bytes(p); });
}

// Throws CudaError where there is no TMA.
template <class T>
void gemm(const FourBits<T>& p) {
  if (done_without_kernel(p)) return;
  require_workspace(p, workspace_bytes(p));
  with_configuration(p, [&](auto c) { c.launch(p); });
}
#endif  // __CUDACC_RTC__

}  // namespace ladder::equal_shares
