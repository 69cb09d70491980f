#pragma once
// 17 and 17b with scales and a bias: C = alpha * scale_a * scale_b * (A * B) + bias, of numbers of
// 8 bits, with a factor for A and one for B, or one for each row of A and each column of B. It is
// what PyTorch's operator takes, as torch._scaled_mm does, and the library; the factors but for
// alpha are in device memory.
#include "17b_promoted.cuh"
#include "scaled.h"

namespace ladder::scaled {

using namespace fp8;  // 17 is where most of it is

// Factors of the columns of a tile, and the bias, which a warp has among its lanes: of each piece
// each lane has a pair of columns. They are loaded before the tile is multiplied, so that nobody
// waits for them, and go from lane to lane when a piece is stored.
template <int BN>
struct Columns {
  static constexpr int PIECES = (BN + BOX<bf16> - 1) / BOX<bf16>;
  float2 factor[PIECES];
  uint32_t added[PIECES];  // two of the bias

  __device__ __forceinline__ Columns(const Factors& from, int n0, int N, int lane) {
#pragma unroll
    for (int j = 0; j < PIECES; ++j) {
      const int n = min(n0 + min(j * BOX<bf16>, BN - BOX<bf16>) + 2 * lane, N - 2);
      factor[j] =
          from.of_rows && from.b ? *reinterpret_cast<const float2*>(&from.b[n]) : make_float2(1, 1);
      added[j] = from.bias ? *reinterpret_cast<const uint32_t*>(&from.bias[n]) : 0;
    }
  }
};

// For 17's store(): the factors of columns, the bias, and what is rounded. Those of rows are in the
// sums.
template <int BN>
struct Finish {
  const Columns<BN>& columns;
  int n0;  // the tile's first column

  __device__ __forceinline__ void operator()(bf16 (*staged)[BOX<bf16>], const float* sums, int n,
                                             int, int lane) const {
    const int piece = (n - n0 + BOX<bf16> - 1) / BOX<bf16>;
    const float2 factor = columns.factor[piece];
    const uint32_t added = columns.added[piece];
#pragma unroll
    for (int col = 0; col < BOX<bf16>; col += 16) {
      uint32_t block[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int from = (col + i * 8) / 2 + lane % 4;  // the lane that has this one's columns
        const float x = __shfl_sync(~0u, factor.x, from), y = __shfl_sync(~0u, factor.y, from);
        const uint32_t a = __shfl_sync(~0u, added, from);
        const float b = __uint_as_float(a << 16), c = __uint_as_float(a & 0xFFFF0000u);
        const float* const rows = &sums[col / 2 + i * 4];
        block[i * 2] = as_pair<bf16>(rows[0] * x + b, rows[1] * y + c);
        block[i * 2 + 1] = as_pair<bf16>(rows[2] * x + b, rows[3] * y + c);
      }
      ptx::stmatrix_x4(&staged[lane % 16][swizzled(lane % 16, col + lane / 16 * 8)], block);
    }
  }
};

// 17's kernel, or 17b's with SETS sets of accumulators.
template <Adds ADDS, int BM, int BN, int SETS>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, bf16* C, int64_t ldc,
                const Factors factors) {
  auto& s = dynamic_shared<Shared<e4m3, bf16, BM, BN>>();
  const int tiles = ceil_div(K, BK<e4m3>);
  prepare(s, CONSUMERS<BM>);

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS<BM> * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (warp_of_block() == CONSUMERS<BM> * WARPGROUP / 32) {
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
        produce(s, map_A, map_B, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS<BM>>();
    const int group = warpgroup_of_block(), group_m = group * PARTS<BM> * MMA_M;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    const Result<bf16> to{map_C, C, ldc};
    unsigned piece = 0;
    const int lane = threadIdx.x % 32, warp = threadIdx.x % WARPGROUP / 32;
    const float of_all = factors.alpha * (factors.of_rows ? 1 : factors.a[0] * factors.b[0]);
    const float* const of_row = factors.of_rows ? factors.a : nullptr;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      // Of this lane's two rows of each part: loaded long before they are needed, too.
      float factor[PARTS<BM>][2];
      const int row = tile.m0 + group_m + warp * 16 + lane / 4;
#pragma unroll
      for (int i = 0; i < PARTS<BM>; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          factor[i][h] = of_row ? of_row[min(row + i * MMA_M + h * 8, M - 1)] : 1;
      const Columns<BN> columns(factors, tile.n0, N, lane);
      float sum[PARTS<BM>][BN / 2] = {};
      if constexpr (ADDS == Adds::FAST) {
        fp8::multiply(s, tiles, group_m, sum, step);
      } else {
        constexpr int STEPS = SETS == 1 ? 1 : 4 * promoted::PIECE<BN> / BN;  // as in 17b
        int t = 0;
#pragma unroll 1
        for (; t + STEPS <= tiles; t += STEPS)
          promoted::multiply<STEPS, SETS>(s, group_m, sum, step);
#pragma unroll 1
        for (; t < tiles; ++t) promoted::multiply<1, SETS>(s, group_m, sum, step);
      }
#pragma unroll
      for (int i = 0; i < PARTS<BM>; ++i)
#pragma unroll
        for (int e = 0; e < BN / 2; ++e) sum[i][e] *= of_all * factor[i][e / 2 % 2];
      store(s, group, sum, Finish<BN>{columns, tile.n0}, to, M, N, tile, piece);
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// What the launcher chooses among: tiles, and nanoseconds of a step along K.
struct Configuration {
  int BM, BN;
  double step;
  void (*launch)(const Problem&, int tiles_of_C, int blocks);
};
// Throws CudaError where there is no TMA.
template <Adds ADDS, int BM, int BN, int SETS>
void launch_configuration(const Problem& p, int tiles_of_C, int blocks) {
  launch_kernel<BM, BN>(gemm_kernel<ADDS, BM, BN, SETS>, p, tiles_of_C, blocks, p.factors);
}
template <Adds ADDS, int BM, int BN, int SETS = 1>
constexpr Configuration configuration(double step) {
  return {BM, BN, step, launch_configuration<ADDS, BM, BN, SETS>};
}
// Five tiles, with times fitted to what each takes at nine shapes (H200).
inline constexpr Configuration FAST[] = {
    configuration<Adds::FAST, 128, 112>(305), configuration<Adds::FAST, 128, 128>(336),
    configuration<Adds::FAST, 128, 224>(554), configuration<Adds::FAST, 128, 256>(617),
    configuration<Adds::FAST, 192, 128>(496)};
inline constexpr Configuration PROMOTED[] = {
    configuration<Adds::PROMOTED, 128, 112, 2>(321),
    configuration<Adds::PROMOTED, 128, 128, 2>(357), configuration<Adds::PROMOTED, 128, 224>(635),
    configuration<Adds::PROMOTED, 128, 256>(681), configuration<Adds::PROMOTED, 192, 128>(507)};

inline int tiles(const Problem& p, const Configuration& c) {
  return ceil_div(p.M, c.BM) * ceil_div(p.N, c.BN);
}
inline int waves(const Problem& p, const Configuration& c) {
  return ceil_div(tiles(p, c), device_attribute(cudaDevAttrMultiProcessorCount));
}
// In nanoseconds, but for what all take.
inline double cost(const Problem& p, const Configuration& c) {
  constexpr double WAVE = 900, ELEMENT = 0.07;  // of a tile, beside its steps along K
  return waves(p, c) * (ceil_div(p.K, BK<e4m3>) * c.step + WAVE + ELEMENT * c.BM * c.BN);
}

inline void gemm_as(const Configuration& c, const Problem& p) {
  require_size("K", p.K, 1);
  require_multiple("N", p.N, 2);
  if (p.factors.of_rows)
    require_multiple("the address of b's factors", reinterpret_cast<uintptr_t>(p.factors.b), 8);
  require_multiple("the address of the bias", reinterpret_cast<uintptr_t>(p.factors.bias), 4);
  if (!done_without_kernel(p)) launch_in_waves(c, p);
}
inline const Configuration& chosen(const Problem& p, Adds adds) {
  return adds == Adds::FAST ? first_done(FAST, p) : first_done(PROMOTED, p);
}

}  // namespace ladder::scaled
