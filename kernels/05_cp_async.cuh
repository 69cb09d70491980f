#pragma once
// 05 cp_async: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    copy the tiles asynchronously, two of them ahead, while the FMAs run on the current one.
//         cp.async writes straight to shared memory: no registers hold what is in flight.
// vs 04   PIPE buffers instead of one. The barrier is split: a thread arrives in the middle of a
//         tile and waits at its end, by when all others have arrived as well. Operands for the next
//         k are read while this one is multiplied. Three shapes of tiles. The FMAs are unchanged.
// Limit   the FMA pipe itself: all other instructions of the loop take issue slots from FFMAs, and
//         two warps a scheduler cannot cover every stall. And the last wave of blocks does not fill
//         the GPU. Next: 05b.
#include <algorithm>

#include "launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"

namespace ladder::cp_async {

template <int BM_, int BN_, int BK_, int WM_, int WN_, int PIPE_ = 4>
struct Shape {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, PIPE = PIPE_;
  static constexpr int TM = WM / 4, TN = WN / 8;  // 4x8 lanes to a warp tile, as in 04
  static constexpr int THREADS = BM / WM * (BN / WN) * 32;
  // The k at which a thread arrives at the barrier of the next tile. Any in the middle will do;
  // ptxas schedules the loop differently for each, which makes up to 1% (4096^3, H200).
  static constexpr int ARRIVAL = BK / 2 - 1;
};
using Large = Shape<128, 256, 8, 64, 64>;
using Medium = Shape<64, 128, 16, 32, 64>;
using Small = Shape<32, 64, 16, 16, 32>;

constexpr int GROUP = 8;

// A is stored transposed; rows padded by 4 keep its quads aligned and the copies free of conflicts.
template <class S>
struct Shared {
  static constexpr int LDA = S::BM + 4;
  static constexpr int TILE = S::BK * (LDA + S::BN);
  float buffers[S::PIPE * TILE];
  uint64_t next_tile_landed;
};

__device__ __forceinline__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}

// The first `valid` of four consecutive elements of C.
__device__ __forceinline__ void store4(float* p, float4 v, int valid) {
  if (valid >= 4) {
    as_float4(*p) = v;
  } else {
    if (valid > 0) p[0] = v.x;
    if (valid > 1) p[1] = v.y;
    if (valid > 2) p[2] = v.z;
  }
}

// Buffers are addressed in bytes: an index of floats would be scaled anew in every tile.
__device__ __forceinline__ float* plus_bytes(float* p, unsigned bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(p) + bytes);
}

struct Tile {
  int m0, n0;
};
template <class S>
__device__ __forceinline__ Tile tile_of_block(int M, int N) {
  const int tiles_m = ceil_div(M, S::BM), tiles_n = ceil_div(N, S::BN);
  const int first_m = blockIdx.x / (GROUP * tiles_n) * GROUP;
  const int height = min(GROUP, tiles_m - first_m);
  const int rest = blockIdx.x % (GROUP * tiles_n);
  return {(first_m + rest % height) * S::BM, rest / height * S::BN};
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, 1)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  constexpr int BM = S::BM, BN = S::BN, BK = S::BK, TM = S::TM, TN = S::TN, PIPE = S::PIPE;
  constexpr int LDA = Shared<S>::LDA, TILE_BYTES = Shared<S>::TILE * sizeof(float);
  Shared<S>& s = dynamic_shared<Shared<S>>();
  const Tile tile = tile_of_block<S>(M, N);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % (BM / S::WM) * S::WM, warp_n = warp / (BM / S::WM) * S::WN;
  const int lane_m = lane / 2 % 4 * 4, lane_n = (lane / 8 * 2 + lane % 2) * 4;

  // A thread copies single elements of A (they are transposed on the way) and quads of B. Rows past
  // M and quads past N repeat valid ones: what comes of them is not stored.
  constexpr int A_STEP = S::THREADS / 8, A_ROWS = BM / A_STEP, A_COPIES = A_ROWS * (BK / 8);
  constexpr int B_STEP = S::THREADS / (BN / 4), B_COPIES = BK / B_STEP;
  const int a_m = threadIdx.x / 8, a_k = threadIdx.x % 8;
  const int b_k = threadIdx.x / (BN / 4), b_n = threadIdx.x % (BN / 4) * 4;
  const int b_valid = max(0, min(4, N - tile.n0 - b_n));
  float* const a_to = &s.buffers[a_k * LDA + a_m];
  float* const b_to = &s.buffers[BK * LDA + b_k * BN + b_n];
  const float* a_from[A_ROWS];
  for (int i = 0; i < A_ROWS; ++i)
    a_from[i] = &A[min(tile.m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const float* b_from = &B[b_k * ldb + (b_valid > 0 ? tile.n0 + b_n : 0)];

  // The last tile along K, which K may cut, is multiplied first: the others are copied unchecked.
  const int tiles = ceil_div(K, BK), last_k0 = max(0, (tiles - 1) * BK);
  for (int i = 0; i < A_COPIES; ++i) {
    const int row = i % A_ROWS, k = i / A_ROWS * 8;
    ptx::cp_async_ca_4(a_to + k * LDA + row * A_STEP, a_from[row] + last_k0 + k,
                       last_k0 + k + a_k < K ? 4 : 0);
  }
  for (int i = 0; i < B_COPIES; ++i) {
    const int k = last_k0 + i * B_STEP;
    ptx::cp_async_cg_16(b_to + i * B_STEP * BN, b_from + k * ldb, k + b_k < K ? b_valid * 4 : 0);
  }
  ptx::cp_async_commit_group();

  // From here on copies go round the buffers. Past the last tile, zeros are filled in.
  constexpr int AHEAD = PIPE - 2;
  int copy_k0 = 0;
  unsigned copy_buffer = TILE_BYTES;
  const auto copy_next = [&](bool exists) {
    for (int i = 0; i < A_COPIES; ++i) {
      const int row = i % A_ROWS, k = i / A_ROWS * 8;
      ptx::cp_async_ca_4(plus_bytes(a_to, copy_buffer) + k * LDA + row * A_STEP,
                         a_from[row] + copy_k0 + k, exists ? 4 : 0);
    }
    for (int i = 0; i < B_COPIES; ++i) {
      const int k = i * B_STEP;
      ptx::cp_async_cg_16_ignore_src(plus_bytes(b_to, copy_buffer) + k * BN, b_from + k * ldb,
                                     !exists);
    }
    ptx::cp_async_commit_group();
    copy_k0 += BK;
    b_from += BK * ldb;
    copy_buffer = (copy_buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
  };
  for (int t = 1; t < AHEAD; ++t) copy_next(t < tiles);

  float* const a_fragment = &s.buffers[warp_m + lane_m];
  float* const b_fragment = &s.buffers[BK * LDA + warp_n + lane_n];
  float rA[2][TM], rB[2][TN];
  const auto load_fragments = [&](int to, unsigned buffer, int k) {
    for (int j = 0; j < TN; j += 4)
      as_float4(rB[to][j]) = as_float4(plus_bytes(b_fragment, buffer)[k * BN + j * 8]);
    for (int i = 0; i < TM; i += 4)
      as_float4(rA[to][i]) = as_float4(plus_bytes(a_fragment, buffer)[k * LDA + i * 4]);
  };
  if (threadIdx.x == 0) ptx::mbarrier_init(&s.next_tile_landed, S::THREADS);
  ptx::cp_async_wait_group<AHEAD - 1>();
  __syncthreads();
  load_fragments(0, 0, 0);

  float acc[TM][TN] = {};
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      // This thread's copies of the next tile have landed, and it is done with the tile before this
      // one, whose buffer is filled next once everyone has said so.
      if (k == S::ARRIVAL) {
        ptx::cp_async_wait_group<AHEAD - 1>();
        ptx::mbarrier_arrive(&s.next_tile_landed);
      }
      if (k == BK - 1) {
        while (!ptx::mbarrier_test_wait_parity(&s.next_tile_landed, t % 2)) {
        }
        buffer = (buffer + TILE_BYTES) % (PIPE * TILE_BYTES);
      }
      load_fragments((k + 1) % 2, buffer, (k + 1) % BK);
      if (k == 0) copy_next(t + AHEAD < tiles);

      // There and back along the rows of acc, for the register banks: see 04.
      for (int i = 0; i < TM; ++i)
        for (int step = 0; step < TN; ++step) {
          const int j = i % 2 == 0 ? step : TN - 1 - step;
          acc[i][j] += rA[k % 2][i] * rB[k % 2][j];
        }
    }
  }

  // As in 04 through shared memory, in quads (1, 0, 3, 2), but read and stored 16 bytes at a time.
  ptx::cp_async_wait_group<0>();  // zeros may still be on their way
  __syncthreads();
  constexpr int LDC = 32 + 4;
  float* const sC = &s.buffers[warp * 16 * LDC];
  const int c_row = lane / 8, c_col = lane % 8 * 4;
#pragma unroll
  for (int i = 0; i < TM; i += 4)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      for (int r = 0; r < 4; ++r) {
        const float(&row)[TN] = acc[i + r];
        as_float4(sC[(lane_m + r) * LDC + lane_n]) =
            make_float4(row[j + 1], row[j], row[j + 3], row[j + 2]);
      }
      __syncwarp();
      const int row0 = tile.m0 + warp_m + i * 4, col = tile.n0 + warp_n + j * 8 + c_col;
      for (int r = c_row; r < 16; r += 4) {
        const float4 v = as_float4(sC[r * LDC + c_col]);
        if (row0 + r < M)
          store4(&C[(row0 + r) * ldc + col], make_float4(v.y, v.x, v.w, v.z), N - col);
      }
      __syncwarp();
    }
}

template <class S>
void gemm_shape(const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return;
  launch(gemm_kernel<S>, dim3(ceil_div(p.M, S::BM) * ceil_div(p.N, S::BN)), dim3(S::THREADS),
         sizeof(Shared<S>), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc);
}

// Elements of C that the busiest multiprocessor computes.
template <class S>
double busiest(const Gemm<float, float>& p, int multiprocessors) {
  return 1.0 * ceil_div(ceil_div(p.M, S::BM) * ceil_div(p.N, S::BN), multiprocessors) * S::BM *
         S::BN;
}

// A small problem has too few large tiles for all multiprocessors; small tiles are slower (to 0.97
// and 0.70 of Large, measured at 4096^3 on an H200). Takes the shape that promises the least time.
inline void gemm(const Gemm<float, float>& p) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const double large = busiest<Large>(p, multiprocessors);
  const double medium = busiest<Medium>(p, multiprocessors) / 0.97;
  const double small = busiest<Small>(p, multiprocessors) / 0.70;
  if (large <= std::min(medium, small))
    gemm_shape<Large>(p);
  else if (medium <= small)
    gemm_shape<Medium>(p);
  else
    gemm_shape<Small>(p);
}

inline void gemm_bk_16(const Gemm<float, float>& p) {
  gemm_shape<Shape<128, 256, 16, 64, 64>>(p);
}
inline void gemm_eight_buffers(const Gemm<float, float>& p) {
  gemm_shape<Shape<128, 256, 8, 64, 64, 8>>(p);
}

}  // namespace ladder::cp_async
