#pragma once
// A linear layer of few rows, or of a long K: C = activation(alpha * A * B + beta * addend + bias)
// + residual, B by rows or by columns, fp16 or bf16, fp32 accumulate. Idea    a layer's weights are
// B by columns. To wgmma that is a bit, to TMA one box in place of
//         several; and who adds up the parts of a sum has all that an epilogue asks for.
// vs 14   B in either of 18's forms; between a sum and its store 16's epilogue, in one kernel for
//         every kind of it; larger tiles, whose sums come to where the buffers were; none of 14's
//         other ways for the sums to come together.
// Limit   14's.
#include <algorithm>
#include <cstddef>

#include "14_few_rows.cuh"
#include "16_fused_epilogue.cuh"
#include "parts/epilogue.cuh"
#include "parts/operand.cuh"

namespace ladder::linear_layer {

using few_rows::BK;
using few_rows::BOX;
using few_rows::MMA_K;
using few_rows::MOST_BUFFERS;
using few_rows::Steps;
using few_rows::UNIT;
using few_rows::WARPGROUP;
using ptx::Major;

// A tile of BM rows and BN columns of C, of a cluster of SPLIT blocks.
template <class T, int BM, int BN, int SPLIT, Major MAJOR_B>
struct Shared {
  static constexpr int CONSUMERS = BN / BOX;  // warpgroups that multiply
  static constexpr int THREADS = CONSUMERS * WARPGROUP + 32;
  static constexpr int UNITS = BM / UNIT;
  // Units that one block adds up, at most; who is alone adds nothing up.
  static constexpr int OWNED = SPLIT == 1 ? 1 : ceil_div(UNITS, SPLIT);
  using OperandA = Operand<T, BM, Major::K>;
  using OperandB = Operand<T, BN, MAJOR_B>;
  struct Tiles {
    OperandB B;
    OperandA A;
  };
  // Of the units that this block owns, by rank. Those of a large tile have no room beside the
  // buffers: they come to where the last tiles were.
  using Sums = float4[OWNED][SPLIT][CONSUMERS * WARPGROUP];
  static constexpr bool OVER_TILES = SPLIT > 1 && BN > BOX;
  float4 beside[OVER_TILES ? 1 : OWNED][SPLIT][CONSUMERS * WARPGROUP];
  uint64_t full[MOST_BUFFERS];   // completes when a tile has landed
  uint64_t empty[MOST_BUFFERS];  // completes when all consumers have multiplied it
  uint64_t received;             // completes when the sums of all blocks are there
  alignas(1024) Tiles tiles[1];  // and as many more as the launch asks memory for

  __device__ __forceinline__ Sums& sums() {
    if constexpr (OVER_TILES) return reinterpret_cast<Sums&>(tiles);
    return reinterpret_cast<Sums&>(beside);
  }
  static constexpr size_t bytes(int buffers) {
    const size_t tiles_bytes = static_cast<size_t>(buffers) * sizeof(Tiles);
    return offsetof(Shared, tiles) +
           (OVER_TILES && tiles_bytes < sizeof(Sums) ? sizeof(Sums) : tiles_bytes);
  }
};

template <class Shared>
__device__ __forceinline__ void load(Shared& s, const CUtensorMap& map_A, const CUtensorMap& map_B,
                                     Tile tile, Steps steps, int t, int buffer) {
  auto& to = s.tiles[buffer];
  uint64_t* const full = &s.full[buffer];
  ptx::mbarrier_arrive_expect_tx(full, sizeof to);
  const int k0 = (steps.first + t * steps.stride) * BK;
  to.B.load(map_B, tile.n0, k0, full);
  to.A.load(map_A, tile.m0, k0, full);
}

// The producer, a warp, of which an elected lane orders the copies: first to all buffers, each as
// soon as its barrier is prepared, and then to every buffer as soon as it is empty.
template <class Shared>
__device__ __forceinline__ void fill(Shared& s, const CUtensorMap& map_A, const CUtensorMap& map_B,
                                     Tile tile, Steps steps, int buffers) {
#pragma unroll 1
  for (int t = 0; t < min(buffers, steps.count); ++t) {
    if (!ptx::elect_one()) continue;
    ptx::mbarrier_init(&s.full[t], 1);
    ptx::fence_mbarrier_init();  // TMA sees it, too
    load(s, map_A, map_B, tile, steps, t, t);
  }
}
template <class Shared>
__device__ __forceinline__ void refill(Shared& s, const CUtensorMap& map_A,
                                       const CUtensorMap& map_B, Tile tile, Steps steps,
                                       Ring ring) {
#pragma unroll 1
  for (int t = ring.buffers; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.empty[ring.buffer], ring.parity);
    if (ptx::elect_one()) load(s, map_A, map_B, tile, steps, t, ring.buffer);
  }
}

// A consumer, a warpgroup: multiplies its 64 columns of every tile as soon as it has landed.
template <class T, int BM, int BN, int SPLIT, Major MAJOR_B>
__device__ __forceinline__ void consume(Shared<T, BM, BN, SPLIT, MAJOR_B>& s, Steps steps,
                                        Ring ring, float (&acc)[BM / 2]) {
  constexpr uint32_t TILES = sizeof s.tiles[0];
  const auto& first = s.tiles[0];
  const uint64_t first_a = first.A.descriptor(0, 0),
                 first_b = first.B.descriptor(warpgroup_of_block() * BOX, 0);
  unsigned before = 0;
#pragma unroll 1
  for (int t = 0; t < steps.count; ++t, ring.next()) {
    ptx::mbarrier_wait_parity(&s.full[ring.buffer], ring.parity);
    const uint64_t a = further(first_a, ring.buffer * TILES),
                   b = further(first_b, ring.buffer * TILES);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K)
      ptx::wgmma_m64k16_f32<T, MAJOR_B, Major::K>(acc, further(b, first.B.bytes_to(0, k)),
                                                  further(a, first.A.bytes_to(0, k)), true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();  // while these run, those of the tile before are done
    if (t > 0 && threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[before]);
    before = ring.buffer;
  }
  ptx::wgmma_wait_group<0>();  // no buffer is needed again
}

template <class T, int BM, int BN, int SPLIT, Major MAJOR_B, class Finish>
__global__ void __launch_bounds__(Shared<T, BM, BN, SPLIT, MAJOR_B>::THREADS, 1)
    gemm_kernel(int M, int N, int K, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B, T* C, int64_t ldc, int buffers,
                const Finish finish) {
  using S = Shared<T, BM, BN, SPLIT, MAJOR_B>;
  constexpr bool CLUSTER = SPLIT > 1;
  constexpr int CONSUMER_THREADS = S::CONSUMERS * WARPGROUP;
  S& s = dynamic_shared<S>();
  const int rank = blockIdx.x % SPLIT;
  const int tile_n = tile_column();
  const Tile tile = {static_cast<int>(blockIdx.x / SPLIT) * BM, tile_n * BN};
  if (tile_n >= ceil_div(N, BN)) return;
  const Steps steps = few_rows::steps_of<SPLIT>(rank, K, {});
  const int owned = (S::UNITS - rank + SPLIT - 1) / SPLIT;  // units: every SPLIT-th
  const bool is_producer = warp_of_block() == CONSUMER_THREADS / 32;

  ptx::let_next_grid_start();    // without Gemm::starts_early these two do nothing
  ptx::wait_for_grids_before();  // from here on, matrices are read and written
  if (is_producer) fill(s, map_A, map_B, tile, steps, buffers);
  if (threadIdx.x == 0) {  // meanwhile, the other barriers
    for (int i = 0; i < buffers; ++i) ptx::mbarrier_init(&s.empty[i], S::CONSUMERS);
    if (CLUSTER) {
      ptx::mbarrier_init(&s.received, 1);
      ptx::fence_mbarrier_init();  // the other blocks see it, too
      ptx::mbarrier_arrive_expect_tx(&s.received, owned * sizeof s.sums()[0]);
    }
  }
  __syncthreads();  // all barriers are there
  if (CLUSTER && !S::OVER_TILES)
    ptx::cluster_arrive_relaxed();  // and does not wait for the other blocks yet
  if (is_producer) {
    refill(s, map_A, map_B, tile, steps, Ring{static_cast<unsigned>(buffers)});
    if (S::OVER_TILES) ptx::cluster_arrive();
    if (CLUSTER) ptx::cluster_wait();
    return;
  }
  const int warp_n = tile.n0 + threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
  const auto columns = finish.columns(tile.m0, warp_n, N, lane);  // on their way, while B is
  float acc[BM / 2] = {};
  consume(s, steps, Ring{static_cast<unsigned>(buffers)}, acc);

  const auto part = [&](int unit) {
    const float* const a = &acc[unit * UNIT / 2];
    return make_float4(a[0], a[1], a[2], a[3]);
  };
  const auto store = [&](int unit, float4 sum) {
    float v[] = {sum.x, sum.y, sum.z, sum.w};
    finish.template piece<UNIT>(v, unit * UNIT, UNIT, columns, tile.m0, warp_n, M, N, lane);
    few_rows::store_unit(make_float4(v[0], v[1], v[2], v[3]), C, ldc, tile.m0 + unit * UNIT, warp_n,
                         M, N);
  };
  if constexpr (!CLUSTER) {
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit) store(unit, part(unit));
  } else {
    if (S::OVER_TILES) ptx::cluster_arrive();  // nothing reads this block's tiles any more
    ptx::cluster_wait();                       // the other blocks' barriers are there
#pragma unroll
    for (int unit = 0; unit < S::UNITS; ++unit)
      ptx::store_async(&s.sums()[unit / SPLIT][rank][threadIdx.x], part(unit), &s.received,
                       unit % SPLIT);
    // Who owns nothing may leave: nobody sends to it.
    if (owned > 0) ptx::mbarrier_wait_parity_cluster(&s.received, 0);
    for (int i = 0; i < owned; ++i)
      store(rank + i * SPLIT,
            few_rows::added<SPLIT>([&](int from) { return s.sums()[i][from][threadIdx.x]; }));
  }
}

// ---- The launcher ------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__
template <class T, int BM, int BN, int SPLIT, Major MAJOR_B>
void launch_form(const Gemm<T, T>& p, int buffers) {
  using S = Shared<T, BM, BN, SPLIT, MAJOR_B>;
  using Finish = FusedAny<T>;
  launch_clusters(SPLIT, gemm_kernel<T, BM, BN, SPLIT, MAJOR_B, Finish>,
                  tile_grid(ceil_div(p.M, BM) * SPLIT, ceil_div(p.N, BN)), dim3(S::THREADS),
                  S::bytes(buffers), {p.stream, p.starts_early}, p.M, p.N, p.K,
                  S::OperandA::map(p.A, p.M, p.K, p.lda), S::OperandB::map(p.B, p.N, p.K, p.ldb),
                  p.C, p.ldc, buffers, Finish{p.epilogue});
}

// As 14 has it, but where the sums come over the tiles: there all shared memory is for buffers.
template <class T, int BM, int BN, int SPLIT>
constexpr int buffers_of(int blocks) {
  using S = Shared<T, BM, BN, SPLIT, Major::K>;  // of either form as many bytes
  using few_rows::MOST_BYTES, few_rows::MULTIPROCESSOR_BYTES, few_rows::RESERVED_BYTES;
  const size_t all = MULTIPROCESSOR_BYTES / blocks - RESERVED_BYTES;
  const size_t bytes = S::OVER_TILES ? all : std::min(all, MOST_BYTES);
  int buffers = 0;
  while (buffers < MOST_BUFFERS && S::bytes(buffers + 1) <= bytes) ++buffers;
  return buffers;
}

template <class T>
struct Configuration {
  int BM, BN, split;
  int (*buffers)(int blocks);                         // with so many blocks on a multiprocessor
  void (*launch[2])(const Gemm<T, T>&, int buffers);  // of a B by rows, and by columns
};
template <class T, int BM, int BN, int SPLIT>
constexpr Configuration<T> configuration() {
  return {BM,
          BN,
          SPLIT,
          buffers_of<T, BM, BN, SPLIT>,
          {launch_form<T, BM, BN, SPLIT, Major::MN>, launch_form<T, BM, BN, SPLIT, Major::K>}};
}

// Throws std::invalid_argument for an A by columns, and else what 16 throws.
template <class T>
void gemm_as(const Configuration<T>& c, const Gemm<T, T>& p, int blocks) {
  if (p.transposed_a)
    throw std::invalid_argument("A is transposed, K x M, but this kernel needs M x K");
  if (!fused_epilogue::done_without_product(p, Layouts::ANY))
    c.launch[p.transposed_b](p, c.buffers(blocks));
}
#endif  // __CUDACC_RTC__

}  // namespace ladder::linear_layer
