#pragma once
// 05e few_rows: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    where C has few rows, the limit is reading B once. A lane multiplies what it has copied
//         itself, for all rows of C: no barrier of the block, no tile of B that others wait for,
//         and many bytes on their way.
// vs 05d  a warp has a ring of buffers of its own and steps along K of its own; A is copied as it
//         lies. The warps' sums are added in the block. No cluster: the tiles are narrow enough to
//         give all multiprocessors work.
// Step    another kernel, not a change of the one before.
// Limit   device memory, up to 16 rows: 72% of its rate from begin to end. Next: 06, tensor cores.
#include "05d_split_in_cluster.cuh"

namespace ladder::few_rows_fp32 {

using split_in_cluster::BLOCK, split_in_cluster::START, split_in_cluster::SumsAlone,
    split_in_cluster::THREADS;
constexpr int WARPS = THREADS / 32;
constexpr int DEPTH = 8;  // of a lane's step along K

// A block has C's ROWS rows of BN columns; K is divided among its warps. A lane has four columns,
// so the lanes of a warp are GROUPS that take different k.
template <int ROWS_, int BN_, int PIPE_>
struct Tiling {
  static constexpr int ROWS = ROWS_, BN = BN_, PIPE = PIPE_;
  static constexpr int GROUPS = 128 / BN, BK = DEPTH * GROUPS;  // a warp's step
  static constexpr int A_FLOATS = ROWS * BK, TILE_FLOATS = A_FLOATS + BK * BN;
  struct Shared {
    float buffers[WARPS][PIPE * TILE_FLOATS];  // in the end the sums of a warp's groups
  };
  static_assert(GROUPS * ROWS * BN <= PIPE * TILE_FLOATS);
};

template <class T, class Finish>
__global__ void __launch_bounds__(THREADS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc, const Finish finish) {
  constexpr int ROWS = T::ROWS, BN = T::BN, BK = T::BK, PIPE = T::PIPE;
  auto& s = dynamic_shared<typename T::Shared>();
  const int tile = static_cast<int>(blockIdx.x), tiles_n = ceil_div(N, BN);
  const int m0 = tile / tiles_n * ROWS, n0 = tile % tiles_n * BN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group = lane / (BN / 4), lane_n = lane % (BN / 4) * 4;

  // A lane copies its own quads of B, and one or several of A, which lies in shared memory as in
  // global memory. Rows past M and quads past N repeat valid ones: what comes of them is not
  // stored.
  constexpr int A_STEP = 32 / (BK / 4), A_ROWS = ceil_div(ROWS, A_STEP);
  const int a_m = lane / (BK / 4), a_k = lane % (BK / 4) * 4;
  const int b_k = group * DEPTH, b_valid = max(0, min(4, N - n0 - lane_n));
  float* to = &s.buffers[warp][lane * 4];
  const float* a_from[A_ROWS];
  for (int i = 0; i < A_ROWS; ++i) a_from[i] = &A[min(m0 + a_m + i * A_STEP, M - 1) * lda + a_k];
  const float* b_from = &B[b_k * ldb + (b_valid > 0 ? n0 + lane_n : 0)];
  const auto copy = [&](int k0, int a_bytes, int b_rows, int b_bytes) {
    for (int i = 0; i < A_ROWS; ++i)
      if (a_m + i * A_STEP < ROWS) ptx::cp_async_cg_16(to + i * 128, a_from[i] + k0, a_bytes);
    for (int k = 0; k < DEPTH; ++k)
      ptx::cp_async_cg_16(to + T::A_FLOATS + k * 128, b_from + (k0 + k) * ldb,
                          k < b_rows ? b_bytes : 0);
    ptx::cp_async_commit_group();
  };

  // The warp's steps along K, of which step 0 is the last along K, which K may cut: it is
  // multiplied first, and the others are copied unchecked. Step t > 0 begins at (t - 1) * BK.
  const int64_t steps = ceil_div(K, BK);
  const int begin = steps * warp / WARPS, end = steps * (warp + 1) / WARPS;
  const int first_k0 = max(0, (begin > 0 ? begin : static_cast<int>(steps)) - 1) * BK;
  copy(first_k0, max(0, min(4, K - first_k0 - a_k)) * 4, K - first_k0 - b_k, b_valid * 4);

  // From here on copies go round the buffers, and so do the pointers.
  const auto next_buffer = [](unsigned& buffer, auto*& pointer) {
    buffer = (buffer + 1) % PIPE;
    pointer += buffer > 0 ? T::TILE_FLOATS : -(PIPE - 1) * T::TILE_FLOATS;
  };
  for (const float*& from : a_from) from += begin * BK;
  b_from += begin * BK * ldb;
  unsigned copy_buffer = 0;
  const auto copy_next = [&](bool exists) {
    next_buffer(copy_buffer, to);
    if (exists)
      copy(0, 16, DEPTH, 16);
    else
      ptx::cp_async_commit_group();
    for (const float*& from : a_from) from += BK;
    b_from += BK * ldb;
  };
  for (int t = 1; t < PIPE - 1; ++t) copy_next(begin + t < end);

  constexpr int FEW = ROWS < 4 ? ROWS : 4;  // rows at a time
  const float* fragment = s.buffers[warp];
  float acc[ROWS][4] = {};
  unsigned buffer = 0;
#pragma unroll 1
  for (int t = begin; t < end; ++t) {
    // This step's copies have landed for all lanes, which share A; and all are done with the step
    // before, whose buffer is filled next.
    ptx::cp_async_wait_group<PIPE - 2>();
    __syncwarp();
    copy_next(t + PIPE - 1 < end);
#pragma unroll
    for (int k0 = 0; k0 < DEPTH; k0 += 4) {
      float rB[4][4];
      for (int k = 0; k < 4; ++k)
        as_float4(rB[k][0]) = as_float4(fragment[T::A_FLOATS + (k0 + k) * 128 + lane * 4]);
      for (int row0 = 0; row0 < ROWS; row0 += FEW) {
        float rA[FEW][4];
        for (int i = 0; i < FEW; ++i)
          as_float4(rA[i][0]) = as_float4(fragment[(row0 + i) * BK + b_k + k0]);
        for (int k = 0; k < 4; ++k)
          for (int i = 0; i < FEW; ++i)
            for (int step = 0; step < 4; ++step) {
              const int j = i % 2 == 1 ? 3 - step : step;
              acc[row0 + i][j] += rA[i][k] * rB[k][j];
            }
      }
    }
    next_buffer(buffer, fragment);
  }
  ptx::cp_async_wait_group<0>();
  __syncwarp();  // all lanes are done with the buffers

  // The sums, by quads of the order (1, 0, 3, 2), for the register banks.
#pragma unroll
  for (int row = 0; row < ROWS; ++row) {
    const float* const quad = acc[row];
    as_float4(s.buffers[warp][(group * ROWS + row) * BN + lane_n]) =
        make_float4(quad[1], quad[0], quad[3], quad[2]);
  }
  __syncthreads();
  for (int quad = threadIdx.x; quad < ROWS * BN / 4; quad += THREADS) {
    float4 sum = {};
    for (int w = 0; w < WARPS; ++w)
      for (int g = 0; g < T::GROUPS; ++g) {
        const float4 next = as_float4(s.buffers[w][g * ROWS * BN + quad * 4]);
        sum = make_float4(sum.x + next.x, sum.y + next.y, sum.z + next.z, sum.w + next.w);
      }
    const int m = m0 + quad / (BN / 4), n = n0 + quad % (BN / 4) * 4;
    if (m < M)
      store4(&C[m * ldc + n], finish(make_float4(sum.y, sum.x, sum.w, sum.z), m, n), N - n);
  }
}

template <class T, class Finish>
void launch_and_finish(const Gemm<float, float>& p, const Finish& finish) {
  launch(gemm_kernel<T, Finish>, dim3(ceil_div(p.M, T::ROWS) * ceil_div(p.N, T::BN)), dim3(THREADS),
         sizeof(typename T::Shared), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C, p.ldc,
         finish);
}
template <class T>
void launch_tiling(const Gemm<float, float>& p) {
  launch_and_finish<T>(p, SumsAlone{});
}

// What the launcher chooses among.
struct Configuration {
  int rows, BN, pipe;
  void (*launch)(const Gemm<float, float>&);
};
template <int ROWS, int BN, int PIPE>
constexpr Configuration configuration() {
  return {ROWS, BN, PIPE, launch_tiling<Tiling<ROWS, BN, PIPE>>};
}
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<1, 32, 4>(),  configuration<4, 32, 4>(),  configuration<8, 32, 4>(),
    configuration<16, 32, 3>(), configuration<32, 64, 4>(), configuration<16, 32, 2>()};

inline std::string name(const Configuration& c) {
  return std::to_string(c.rows) + "x" + std::to_string(c.BN) + "_buffers_" + std::to_string(c.pipe);
}

// How many clocks a configuration takes: waves of blocks, each of which multiplies its rows or
// reads its columns of B, whichever takes longer.
inline double clocks(const Gemm<float, float>& p, const Configuration& c, int multiprocessors) {
  constexpr double RATE = 85;    // FMAs a clock of a multiprocessor (H200),
  constexpr double READ = 17.5;  // and bytes of B, when all of them read device memory
  const int blocks = ceil_div(p.M, c.rows) * ceil_div(p.N, c.BN);
  const double tile = std::max(c.rows / RATE, sizeof(float) / READ) * c.BN * p.K;
  return START + ceil_div(blocks, multiprocessors) * (BLOCK + tile);
}

// The configuration that is done first; none where that is one of 05d. With fewer buffers a warp
// orders one step ahead.
inline const Configuration* chosen(const Gemm<float, float>& p, bool one_step_ahead = false) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  double first = split_in_cluster::chosen(p, split_in_cluster::LeftOut::NOTHING).clocks;
  const Configuration* configuration = nullptr;
  for (const Configuration& c : CONFIGURATIONS) {
    const double needed = clocks(p, c, multiprocessors);
    if (one_step_ahead != (c.pipe == 2) || needed >= first) continue;
    first = needed;
    configuration = &c;
  }
  return configuration;
}

inline void gemm_as(const Configuration& c, const Gemm<float, float>& p) {
  require_valid(p);
  require_aligned_rows(p);
  if (p.M > 0 && p.N > 0) c.launch(p);
}

template <bool ONE_STEP_AHEAD>
void gemm_with(const Gemm<float, float>& p) {
  const Configuration* const c = chosen(p, ONE_STEP_AHEAD);
  c ? gemm_as(*c, p) : split_in_cluster::gemm(p);
}
template <bool ONE_STEP_AHEAD>
uint64_t workspace_bytes_with(const Gemm<float, float>& p) {
  return chosen(p, ONE_STEP_AHEAD) ? 0 : split_in_cluster::workspace_bytes(p);
}
inline void gemm(const Gemm<float, float>& p) {
  gemm_with<false>(p);
}
inline uint64_t workspace_bytes(const Gemm<float, float>& p) {
  return workspace_bytes_with<false>(p);
}

}  // namespace ladder::few_rows_fp32
