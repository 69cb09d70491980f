#pragma once
// 17c block_scaled: C[M,N] = A[M,K] * B[K,N], row-major but for B, which is stored transposed,
// N x K; fp8 in, each block of 1 x 128 of A and of 128 x 128 of B times a factor of its own; fp32
// accumulate, bf16 out.
// Idea    the sums of 128 of K, which go to fp32 anyway, are multiplied on their way, by the
//         factors of A's row and of B's columns in this part of K. So each block of the matrices
//         has all of e4m3's range for itself.
// vs 17b  the factors come with the tiles, by TMA, in boxes that are not swizzled; an FMA instead
//         of an addition; tiles in which a piece has one factor of B; every warp gives a buffer
//         back, for each has read factors there.
// Limit   the tensor pipe: busy in 80% of the clocks at 4096, where 17b's is in 86%.
#include "17_fp8.cuh"
#include "17b_promoted.cuh"
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/descriptors.cuh"
#include "parts/no_kernel.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "types.cuh"

namespace ladder::block_scaled {

using namespace fp8;  // 17 is where most of it is
using promoted::Configuration;

// A row of a box has 16 bytes or more, and begins at a multiple of 16.
constexpr int ALIGNED = 4;
template <int BM, int BN>
struct alignas(128) Scales {
  float a[BM];
  alignas(128) float b[BN / SCALED_N][ALIGNED];  // of the part, and of those beside it
};
// What TMA brings of it.
template <int BM, int BN>
constexpr int SCALES_BYTES = sizeof(Scales<BM, BN>::a) + sizeof(Scales<BM, BN>::b);

// With 17's tiles, pieces and barriers: `full` completes when the scales have landed, too, `empty`
// when all warps of the consumers are done.
template <class In, int BM, int BN>
struct Shared : fp8::Shared<In, bf16, BM, BN, sizeof(Scales<BM, BN>)> {
  static constexpr int WARPS = CONSUMERS<BM> * WARPGROUP / 32;
  Scales<BM, BN> scales[Shared::PIPE];
};

// 17's producer, which brings the scales as well.
template <class In, int BM, int BN>
__device__ __forceinline__ void produce(Shared<In, BM, BN>& s, const CUtensorMap& map_A,
                                        const CUtensorMap& map_B, const CUtensorMap& map_scales_A,
                                        const CUtensorMap& map_scales_B, Tile tile, int tiles,
                                        bool backwards, unsigned& step) {
  constexpr int PIPE = Shared<In, BM, BN>::PIPE;
  for (int t = 0; t < tiles; ++t, ++step) {
    const unsigned to = step % PIPE;
    ptx::mbarrier_wait_parity(&s.empty[to], (step / PIPE + 1) % 2);
    if (!ptx::elect_one()) continue;
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.tiles[to] + SCALES_BYTES<BM, BN>);
    const int part = backwards ? tiles - 1 - t : t, k0 = part * BK<In>;
    ptx::tma_load(s.tiles[to].A, &map_A, k0, tile.m0, &s.full[to]);
    ptx::tma_load(s.tiles[to].B, &map_B, k0, tile.n0, &s.full[to]);
    ptx::tma_load(s.scales[to].a, &map_scales_A, tile.m0, part, &s.full[to]);
    ptx::tma_load(s.scales[to].b, &map_scales_B, part / ALIGNED * ALIGNED, tile.n0 / SCALED_N,
                  &s.full[to]);
  }
}

// Columns of a piece: what is multiplied into one set of accumulators, 64 rows of it.
// They have one factor of B.
constexpr int PIECE = SCALED_N;

// A consumer, a warpgroup: multiplies its rows, from group_m on, of STEPS tiles, the parts of K
// from `part` on, up or down, and adds them to `sum`, scaled, piece by piece. With two sets of
// accumulators the tensor core has the next piece while one is added. In the end nothing is on its
// way: ptxas does not let wgmmas run past the end of a loop in which their accumulators are read.
template <int STEPS, int SETS, class In, int BM, int BN>
__device__ __forceinline__ void multiply(Shared<In, BM, BN>& s, int group_m, unsigned part,
                                         bool down, float (&sum)[PARTS<BM>][BN / 2],
                                         unsigned& step) {
  static_assert(BK<In> == SCALED_K);
  constexpr int PIPE = Shared<In, BM, BN>::PIPE;
  constexpr int ACROSS = BN / PIECE, OF_STEP = PARTS<BM> * ACROSS, PIECES = STEPS * OF_STEP;
  const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
  const auto& first = s.tiles[0];
  const uint64_t first_a = descriptor_along_k(first.A, group_m, 0),
                 first_b = descriptor_along_k(first.B, 0, 0);
  float acc[SETS][PIECE / 2];
  float scale[SETS][2];  // of a lane's two rows of a piece
#pragma unroll
  for (int next = 0; next < PIECES + SETS - 1; ++next) {
    if (next < PIECES) {
      const unsigned at = (step + next / OF_STEP) % PIPE;
      const int i = next % OF_STEP / ACROSS, n = next % ACROSS * PIECE;
      // Phase step / PIPE of a buffer's barrier is over when the tile has landed.
      if (next % OF_STEP == 0)
        ptx::mbarrier_wait_parity(&s.full[at], (step + next / OF_STEP) / PIPE % 2);
      const uint64_t a = further(first_a, at * sizeof first + i * MMA_M * sizeof first.A[0]),
                     b = further(first_b, at * sizeof first + n * sizeof first.B[0]);
      ptx::wgmma_fence();  // what was done to acc before comes first
#pragma unroll
      for (int k = 0; k < BK<In>; k += MMA_K<In>)
        ptx::wgmma_m64k32_f32_fp8<In>(acc[next % SETS], further(a, k * sizeof(In)),
                                      further(b, k * sizeof(In)), k > 0);
      ptx::wgmma_commit_group();
      const unsigned of_part = down ? part - next / OF_STEP : part + next / OF_STEP;
#pragma unroll
      for (int h = 0; h < 2; ++h)
        scale[next % SETS][h] = s.scales[at].a[group_m + i * MMA_M + warp * 16 + lane / 4 + h * 8] *
                                s.scales[at].b[n / PIECE][of_part % ALIGNED];
    }
    const int done = next - (SETS - 1);
    if (done < 0) continue;
    if (next < PIECES)
      ptx::wgmma_wait_group<SETS - 1>();
    else
      ptx::wgmma_wait_group<0>();
    // The buffer of a tile goes back to the producer when all lanes have read its scales.
    if (done % OF_STEP == OF_STEP - 1) {
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(&s.empty[(step + done / OF_STEP) % PIPE]);
    }
#pragma unroll
    for (int e = 0; e < PIECE / 2; ++e) {
      float& to = sum[done % OF_STEP / ACROSS][done % ACROSS * PIECE / 2 + e];
      to = fmaf(acc[done % SETS][e], scale[done % SETS][e / 2 % 2], to);
    }
  }
  step += STEPS;
}

template <class In, int BM, int BN, int SETS>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_scales_A,
                const __grid_constant__ CUtensorMap map_scales_B,
                const __grid_constant__ CUtensorMap map_C, bf16* C, int64_t ldc) {
  auto& s = dynamic_shared<Shared<In, BM, BN>>();
  const int tiles = ceil_div(K, BK<In>);
  prepare(s, Shared<In, BM, BN>::WARPS);

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS<BM> * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (warp_of_block() == CONSUMERS<BM> * WARPGROUP / 32) {
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
        produce(s, map_A, map_B, map_scales_A, map_scales_B, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS<BM>>();
    const int group = warpgroup_of_block(), group_m = group * PARTS<BM> * MMA_M;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    const Result<bf16> to{map_C, C, ldc};
    unsigned piece = 0;
    bool backwards = false;  // as the producer has it
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      float sum[PARTS<BM>][BN / 2] = {};
      // Two sets pay where several pieces follow each other without a pause.
      constexpr int STEPS = SETS == 1 ? 1 : 4 * PIECE / BN;
      const auto part = [&](int t) { return backwards ? tiles - 1 - t : t; };
      int t = 0;
#pragma unroll 1
      for (; t + STEPS <= tiles; t += STEPS)
        multiply<STEPS, SETS>(s, group_m, part(t), backwards, sum, step);
#pragma unroll 1
      for (; t < tiles; ++t) multiply<1, SETS>(s, group_m, part(t), backwards, sum, step);
      backwards = !backwards;
      store(s, group, sum, Rounded{}, to, M, N, tile, piece);
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// Throws CudaError where there is no TMA.
template <class In, int BM, int BN, int SETS>
void launch_configuration(const Gemm<In, bf16>& p, int tiles_of_C, int blocks) {
  require_scales(p);
  launch(
      gemm_kernel<In, BM, BN, SETS>, dim3(blocks), dim3(THREADS<BM>), sizeof(Shared<In, BM, BN>),
      p.stream, p.M, p.N, p.K, tiles_of_C, ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
      ptx::tensor_map(p.B, p.N, p.K, p.ldb, BN),
      ptx::tensor_map_not_swizzled(p.scales.a, ceil_div(p.K, SCALED_K), p.M, p.scales.lda, 1, BM),
      ptx::tensor_map_not_swizzled(p.scales.b, ceil_div(p.N, SCALED_N), ceil_div(p.K, SCALED_K),
                                   p.scales.ldb, BN / SCALED_N, ALIGNED),
      ptx::tensor_map(p.C, p.M, p.N, p.ldc, MMA_M), p.C, p.ldc);
}
template <class In, int BM, int BN, int SETS = 1>
constexpr Configuration<In> configuration(double step = 0) {
  return {{BM, BN, step, launch_configuration<In, BM, BN, SETS>}, SETS};
}
// Steps as measured on an H200: the time by waves and steps of each, the mean of 8192^3 and
// 4096x7168x16384.
template <class In>
inline constexpr Configuration<In> CONFIGURATIONS[] = {
    configuration<In, 128, 128, 2>(403), configuration<In, 128, 256>(839),
    configuration<In, 192, 128>(579), configuration<In, 256, 128>(799)};

// Always 192x128.
template <class In>
void gemm_192x128(const Gemm<In, bf16>& p) {
  gemm_as(configuration<In, 192, 128>(), p);
}
template <class In>
void gemm(const Gemm<In, bf16>& p) {
  if (!done_without_kernel(p)) gemm_as(first_done(CONFIGURATIONS<In>, p), p);
}

}  // namespace ladder::block_scaled
