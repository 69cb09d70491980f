#pragma once
// C in pieces that a warpgroup stages together: each of its four warps writes a part of a piece,
// and one thread sends all of it to TMA. What 11b's warps do, each for itself.
#include "../launch.cuh"
#include "../ptx/named_barrier.cuh"
#include "../ptx/stmatrix.cuh"
#include "../ptx/tma.cuh"
#include "sixteen_bits.cuh"
#include "store_halves.cuh"
#include "warpgroup.cuh"

namespace ladder {

// Before a piece is staged, in one of STAGED places. The piece that was here before is on its way;
// of the others, one may still wait.
template <int STAGED>
__device__ __forceinline__ void wait_for_place(int group) {
  constexpr int WARPGROUP = 128;
  if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<STAGED - 1>();
  ptx::named_barrier_sync(1 + group, WARPGROUP);  // for all four warps' part of it
}
// Before it is sent.
__device__ __forceinline__ void wait_for_warps(int group) {
  constexpr int WARPGROUP = 128;
  ptx::fence_proxy_async();                       // TMA sees what this lane has written
  ptx::named_barrier_sync(1 + group, WARPGROUP);  // and all lanes have
}

// ---- The sums of a transposed product -----------------------------------------------------------

// C, to TMA in pieces, of which a tile's last may be lower; and to lanes.
template <class T>
struct PiecesOfC {
  static constexpr int COLS = 64;  // that a piece has
  const CUtensorMap &pieces, &last_pieces;
  T* C;
  int64_t ldc;
  int M, N;
  int rows;  // of C in a tile

  // Whether TMA would write past the end of a row, of a piece from column n on. (21 asks for the
  // row behind the piece, too.)
  __device__ __forceinline__ bool is_cut(int /* end_m */, int n) const {
    return n + COLS > N && N % 8 != 0;
  }
};

// The rows from `row0` on of a warp's 16 columns of C, which it has as columns of `acc`: turned, to
// the rows of a piece. A stmatrix turns 8 rows by 16 columns, or two of these.
template <int PIECE, int COLS, int SUMS, class T>
__device__ __forceinline__ void stage_transposed(T (*staged)[COLS], const float (&acc)[SUMS],
                                                 int row0, int warp, int lane) {
  constexpr int BM = 2 * SUMS;
  const int col = warp * 16 + lane / 8 % 2 * 8;
#pragma unroll
  for (int row = 0; row < PIECE && row0 + row < BM; row += 16) {
    const float* const a = &acc[(row0 + row) / 2];
    const uint32_t upper[2] = {as_pair<T>(a[0], a[1]), as_pair<T>(a[2], a[3])};
    if (row0 + row + 8 < BM) {
      const uint32_t both[4] = {upper[0], upper[1], as_pair<T>(a[4], a[5]), as_pair<T>(a[6], a[7])};
      ptx::stmatrix_x4_trans(&staged[row + lane / 16 * 8 + lane % 8][swizzled(lane, col)], both);
    } else {
      ptx::stmatrix_x2_trans(&staged[row + lane % 8][swizzled(lane, col)], upper);
    }
  }
}

// A warpgroup's sums of a tile, BOXES times 64 columns, to C, from its row m0 and column n0 on. Of
// `places` each warpgroup has STAGED; `piece` counts those that it has filled. `finish` is what is
// done with the sums first: for a product alone nothing, in 16 an epilogue.
template <class T, int GROUPS, int STAGED, int PIECE, int COLS, int BOXES, int SUMS, class Pieces,
          class Finish>
__device__ __forceinline__ void store_transposed(T (&places)[GROUPS][STAGED][PIECE][COLS],
                                                 float (&acc)[BOXES][SUMS],
                                                 const typename Finish::Columns (&columns)[BOXES],
                                                 const Finish& finish, const Pieces& to, int m0,
                                                 int n0, unsigned& piece) {
  constexpr int BM = 2 * SUMS, WARPGROUP = 128;
  const int group = warpgroup_of_block();
  const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x % 32;
  const bool sends = threadIdx.x % WARPGROUP == 0;
  const int end = min(m0 + to.rows, to.M);
#pragma unroll
  for (int w = 0; w < BOXES; ++w)
#pragma unroll
    for (int row0 = 0; row0 < BM; row0 += PIECE) {
      if (row0 >= to.rows) break;
      const int m = m0 + row0, n = n0 + w * COLS;
      finish.template piece<PIECE>(&acc[w][row0 / 2], row0, BM - row0, columns[w], m0,
                                   n + warp * 16, end, to.N, lane);
      T(*const staged)[COLS] = places[group][piece % STAGED];
      wait_for_place<STAGED>(group);
      stage_transposed<PIECE>(staged, acc[w], row0, warp, lane);
      wait_for_warps(group);
      if (to.is_cut(m0 + min(row0 + PIECE, to.rows), n))  // TMA would write past the end
        for (int row = warp * 8; row < PIECE && row0 + row < BM; row += WARPGROUP / 32 * 8)
          store_staged<8>(&staged[row], to.C, to.ldc, m + row, n, end, to.N, lane);
      else if (sends)
        ptx::tma_store(row0 + PIECE <= to.rows ? &to.pieces : &to.last_pieces, n, m, staged);
      // A group for each piece, an empty one for what the warps have stored: the wait above counts
      // them.
      if (sends) ptx::bulk_commit_group();
      ++piece;
    }
}

}  // namespace ladder
