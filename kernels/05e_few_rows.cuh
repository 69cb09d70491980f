#pragma once
// 05e few_rows: C[M,N] = A[M,K] * B[K,N], row-major fp32.
// Idea    where C has few rows, the limit is reading B once. A lane multiplies what it has copied
//         itself, for all rows of C: no barrier of the block, no tile of B that others wait for,
//         and as many bytes on their way as shared memory holds.
// vs 05d  a warp has a ring of buffers of its own and steps along K of its own; A is copied as it
//         lies. The warps' sums are added in the block, then the blocks' in the cluster.
// Step    another kernel, not a change of the one before.
// Limit   to be measured. Next: 06, tensor cores.
#include "05d_split_in_cluster.cuh"

namespace ladder::few_rows_fp32 {

// A block has C's ROWS rows of BN columns; K is divided among its WARPS and the SPLIT blocks of a
// cluster. A lane has four columns. Where BN is less than a warp's 128, the lanes are GROUPS that
// take different k.
template <int ROWS_, int BN_, int WARPS_, int PIPE_, int SPLIT_>
struct Tiling {
  static constexpr int ROWS = ROWS_, BN = BN_, WARPS = WARPS_, PIPE = PIPE_, SPLIT = SPLIT_;
  static constexpr int THREADS = 32 * WARPS, GROUPS = 128 / BN;
  static constexpr int DEPTH = 8, BK = DEPTH * GROUPS;  // of a lane's step along K, of its warp's
  static constexpr int SHARE = ROWS * BN / 4 / SPLIT;   // quads of C that a block adds
  static constexpr int A_FLOATS = ROWS * BK, TILE_FLOATS = A_FLOATS + BK * BN;
  struct Shared {
    float buffers[WARPS][PIPE * TILE_FLOATS];  // in the end the sums of a warp's groups
    float parts[SPLIT][SHARE * 4];             // in the order of the blocks
  };
  static_assert(128 % BN == 0 && ROWS * BN / 4 % SPLIT == 0);
  static_assert(GROUPS * ROWS * BN <= PIPE * TILE_FLOATS);
};

template <class T>
__global__ void __launch_bounds__(T::THREADS)
    gemm_kernel(int M, int N, int K, const float* A, int64_t lda, const float* B, int64_t ldb,
                float* C, int64_t ldc) {
  constexpr int ROWS = T::ROWS, BN = T::BN, BK = T::BK, DEPTH = T::DEPTH, PIPE = T::PIPE;
  auto& s = dynamic_shared<typename T::Shared>();
  if (T::SPLIT > 1) ptx::cluster_arrive_relaxed();
  const int rank = blockIdx.x % T::SPLIT, tile = blockIdx.x / T::SPLIT;
  const int m0 = tile / ceil_div(N, BN) * ROWS, n0 = tile % ceil_div(N, BN) * BN;
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

  // The warp's steps along K: all of them are divided among the warps of the cluster. Step 0 is the
  // last along K, which K may cut: it is multiplied first, and the others are copied unchecked.
  // Step t > 0 begins at (t - 1) * BK.
  const int64_t steps = ceil_div(K, BK);
  const int slice = rank * T::WARPS + warp, slices = T::SPLIT * T::WARPS;
  const int begin = steps * slice / slices, end = steps * (slice + 1) / slices;
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
  const auto add = [](float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  };
  const auto store = [&](int quad, float4 sum) {
    const int m = m0 + quad / (BN / 4), n = n0 + quad % (BN / 4) * 4;
    if (m < M) store4(&C[m * ldc + n], make_float4(sum.y, sum.x, sum.w, sum.z), N - n);
  };
  if (T::SPLIT > 1) ptx::cluster_wait();  // the other blocks have begun and have shared memory
  for (int quad = threadIdx.x; quad < ROWS * BN / 4; quad += T::THREADS) {
    float4 sum = {};
    for (int w = 0; w < T::WARPS; ++w)
      for (int g = 0; g < T::GROUPS; ++g)
        sum = add(sum, as_float4(s.buffers[w][g * ROWS * BN + quad * 4]));
    if (T::SPLIT == 1)
      store(quad, sum);
    else  // to the block that adds it
      as_float4(*ptx::shared_of_block(&s.parts[rank][quad % T::SHARE * 4], quad / T::SHARE)) = sum;
  }
  if (T::SPLIT == 1) return;
  ptx::cluster_sync();
  for (int quad = threadIdx.x; quad < T::SHARE; quad += T::THREADS) {
    float4 sum = as_float4(s.parts[0][quad * 4]);
    for (int i = 1; i < T::SPLIT; ++i) sum = add(sum, as_float4(s.parts[i][quad * 4]));
    store(rank * T::SHARE + quad, sum);
  }
}

template <class T>
void launch_tiling(const Gemm<float, float>& p) {
  const int tiles = ceil_div(p.M, T::ROWS) * ceil_div(p.N, T::BN);
  launch_clusters(T::SPLIT, gemm_kernel<T>, dim3(tiles * T::SPLIT), dim3(T::THREADS),
                  sizeof(typename T::Shared), p.stream, p.M, p.N, p.K, p.A, p.lda, p.B, p.ldb, p.C,
                  p.ldc);
}

// What the launcher chooses among.
struct Configuration {
  int rows, BN, warps, pipe, split, resident;
  void (*launch)(const Gemm<float, float>&);
};
template <int ROWS, int BN, int WARPS, int PIPE, int SPLIT>
constexpr Configuration configuration() {
  using T = Tiling<ROWS, BN, WARPS, PIPE, SPLIT>;
  // Blocks that share a multiprocessor's 227 KB of shared memory and its 64 K registers.
  constexpr int BY_MEMORY = 227 * 1024 / (sizeof(typename T::Shared) + 1024);
  constexpr int BY_REGISTERS = 64 * 1024 / ((ROWS < 32 ? 168 : 248) * T::THREADS);
  return {ROWS, BN, WARPS, PIPE, SPLIT, std::min(BY_MEMORY, BY_REGISTERS), launch_tiling<T>};
}
inline constexpr Configuration CONFIGURATIONS[] = {
    configuration<1, 64, 8, 4, 2>(),  configuration<1, 32, 8, 4, 1>(),
    configuration<1, 64, 4, 4, 2>(),  configuration<4, 64, 8, 4, 2>(),
    configuration<4, 32, 8, 4, 1>(),  configuration<4, 64, 4, 4, 2>(),
    configuration<8, 64, 8, 4, 2>(),  configuration<8, 32, 8, 4, 1>(),
    configuration<8, 64, 4, 3, 2>(),  configuration<16, 64, 8, 4, 2>(),
    configuration<16, 32, 8, 4, 1>(), configuration<16, 128, 4, 4, 4>(),
    configuration<16, 64, 4, 3, 2>(), configuration<32, 64, 8, 4, 2>(),
    configuration<32, 64, 8, 4, 1>(), configuration<16, 64, 8, 2, 2>(),
    configuration<16, 32, 8, 2, 1>()};

inline std::string name(const Configuration& c) {
  return std::to_string(c.rows) + "x" + std::to_string(c.BN) + "_warps_" + std::to_string(c.warps) +
         "_buffers_" + std::to_string(c.pipe) + "_cluster_" + std::to_string(c.split);
}

// How many clocks a configuration takes: as long as all of them read, as the busiest multiprocessor
// reads, or as it multiplies.
inline double clocks(const Gemm<float, float>& p, const Configuration& c, int multiprocessors) {
  constexpr double START = 3000, CLUSTER = 1500;
  constexpr double MEMORY = 2170;  // bytes a clock from device memory (H200),
  constexpr double READ = 40;      // of which to one multiprocessor,
  constexpr double RATE = 80;      // where as many FMAs are done in a clock
  const double tiles_m = ceil_div(p.M, c.rows), tiles_n = ceil_div(p.N, c.BN);
  const double blocks = tiles_m * tiles_n * c.split;
  const int used = split_in_cluster::usable(multiprocessors, c.split);
  const double places = used * c.resident;
  const double waves = std::ceil(blocks / places);
  // Where there is more than one wave, the last one reads with fewer blocks.
  const double all =
      tiles_m * p.N * p.K * sizeof(float) / MEMORY * (waves > 1 ? waves * places / blocks : 1);
  const double busiest = std::ceil(blocks / used) * c.BN * ceil_div(p.K, c.split);  // of B
  return START + (c.split > 1 ? CLUSTER : 0) +
         std::max({all, busiest * sizeof(float) / READ, busiest * c.rows / RATE});
}

// A variant leaves out one part of the idea.
enum class LeftOut { NOTHING, CLUSTERS, AHEAD };

// The configuration that is done first; none where that is one of 05d.
inline const Configuration* chosen(const Gemm<float, float>& p, LeftOut left_out) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  double first = split_in_cluster::chosen(p, split_in_cluster::LeftOut::NOTHING).clocks;
  const Configuration* configuration = nullptr;
  for (const Configuration& c : CONFIGURATIONS) {
    if ((left_out == LeftOut::AHEAD) != (c.pipe == 2) ||
        (left_out == LeftOut::CLUSTERS && c.split > 1))
      continue;
    const double needed = clocks(p, c, multiprocessors);
    if (needed >= first) continue;
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

template <LeftOut LEFT_OUT>
void gemm_without(const Gemm<float, float>& p) {
  require_valid(p);
  const Configuration* const c = chosen(p, LEFT_OUT);
  c ? gemm_as(*c, p) : split_in_cluster::gemm(p);
}
template <LeftOut LEFT_OUT>
uint64_t workspace_bytes_without(const Gemm<float, float>& p) {
  return chosen(p, LEFT_OUT) ? 0 : split_in_cluster::workspace_bytes(p);
}

inline void gemm(const Gemm<float, float>& p) {
  gemm_without<LeftOut::NOTHING>(p);
}
inline uint64_t workspace_bytes(const Gemm<float, float>& p) {
  return workspace_bytes_without<LeftOut::NOTHING>(p);
}

}  // namespace ladder::few_rows_fp32
