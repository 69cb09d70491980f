// Right kernels as others write them: in warps that keep together, with flags, tickets, atomics,
// counters of tiles, named barriers and mbarriers in many ways. What ./ladder prove looks at finds
// nothing in them: no race, no other order that ends differently, the same accesses with other
// data.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu_device/digest.h"
#include "cpu_device/symbols.h"
#include "launch.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/tma.cuh"

namespace ladder {
namespace {

constexpr int M = 32, N = 32, K = 64, BK = 16, TILES = K / BK, ELEMENTS = M * N;

// C = A * B, row-major; C and the words are zeros before each launch.
struct Args {
  const float *A, *B;
  float *C, *parts;
  unsigned* words;
};

__device__ float product(const Args& p, int m, int n, int k_begin, int k_end) {
  float sum = 0;
  for (int k = k_begin; k < k_end; ++k) sum += p.A[m * K + k] * p.B[k * N + n];
  return sum;
}

// --- Warps that keep together -------------------------------------------------------------------

// A warp for each element; each step halves the lanes that add.
__global__ void warp_tree_kernel(Args p) {
  __shared__ float sums[8][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int at = blockIdx.x * 8 + warp, m = at / N, n = at % N;
  sums[warp][lane] = product(p, m, n, lane * 2, lane * 2 + 2);
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (lane < half) sums[warp][lane] += sums[warp][lane + half];
    __syncwarp();
  }
  if (lane == 0) p.C[at] = sums[warp][0];
}
__global__ void shuffle_down_kernel(Args p) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int at = blockIdx.x * 8 + warp, m = at / N, n = at % N;
  float sum = product(p, m, n, lane * 2, lane * 2 + 2);
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(~0u, sum, delta);
  if (lane == 0) p.C[at] = sum;
}
// Each lane holds two of A's row, and gives them to the others in turn.
__global__ void shuffle_broadcast_kernel(Args p) {
  const int m = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float low = p.A[m * K + lane], high = p.A[m * K + 32 + lane];
  float sum = 0;
  for (int k = 0; k < K; ++k)
    sum += __shfl_sync(~0u, k < 32 ? low : high, k % 32) * p.B[k * N + lane];
  p.C[m * N + lane] = sum;
}
// Half warps work by themselves, and meet where their mask says.
__global__ void half_warps_kernel(Args p) {
  __shared__ float row[16][16];
  const int half = threadIdx.x / 16, lane = threadIdx.x % 16;
  const unsigned mask = half % 2 == 0 ? 0xFFFFu : 0xFFFF0000u;
  const int m = blockIdx.x * 16 + half;
  float low = 0, high = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    row[half][lane] = p.A[m * K + k0 + lane];
    __syncwarp(mask);
    for (int k = 0; k < 16; ++k) {
      low += row[half][k] * p.B[(k0 + k) * N + lane];
      high += row[half][k] * p.B[(k0 + k) * N + lane + 16];
    }
    __syncwarp(mask);
  }
  p.C[m * N + lane] = low;
  p.C[m * N + lane + 16] = high;
}
// Warps of a block each take a part of K; the first warp adds what the others leave.
__global__ void warps_along_k_kernel(Args p) {
  __shared__ float parts[8][N];
  const int m = blockIdx.x, warp = threadIdx.x / 32, n = threadIdx.x % 32;
  parts[warp][n] = product(p, m, n, warp * 8, warp * 8 + 8);
  __syncthreads();
  if (warp > 0) return;
  float sum = 0;
  for (const auto& part : parts) sum += part[n];
  p.C[m * N + n] = sum;
}

// --- Atomics, tickets, flags
// ----------------------------------------------------------------------

__global__ void atomic_sums_kernel(Args p) {
  const int m = threadIdx.x / N, n = threadIdx.x % N, k = blockIdx.x * BK;
  atomicAdd(&p.C[m * N + n], product(p, m, n, k, k + BK));
}
__global__ void atomics_in_shared_memory_kernel(Args p) {
  __shared__ float sums[N];
  const int m = blockIdx.x, n = threadIdx.x % N, part = threadIdx.x / N;
  if (part == 0) sums[n] = 0;
  __syncthreads();
  atomicAdd(&sums[n], product(p, m, n, part * 8, part * 8 + 8));
  __syncthreads();
  if (part == 0) p.C[m * N + n] = sums[n];
}
// Whoever takes the last ticket adds up what all have left.
__global__ void last_block_adds_kernel(Args p) {
  __shared__ unsigned ticket;
  const int at = threadIdx.x, m = at / N, n = at % N;
  p.parts[blockIdx.x * M * N + at] = product(p, m, n, blockIdx.x * BK, blockIdx.x * BK + BK);
  __threadfence();
  __syncthreads();
  if (at == 0) ticket = atomicInc(&p.words[0], TILES - 1);
  __syncthreads();
  if (ticket != TILES - 1) return;
  __threadfence();
  float sum = 0;
  for (int part = 0; part < TILES; ++part) sum += p.parts[part * M * N + at];
  p.C[at] = sum;
}
// Blocks add to C one after the other, in the order of their numbers.
__global__ void in_turn_kernel(Args p) {
  const int at = threadIdx.x, m = at / N, n = at % N;
  const float sum = product(p, m, n, blockIdx.x * BK, blockIdx.x * BK + BK);
  if (at == 0)
    while (atomicAdd(&p.words[0], 0) != blockIdx.x) __nanosleep(20);
  __syncthreads();
  p.C[at] = p.C[at] + sum;
  __threadfence();
  __syncthreads();
  if (at == 0) atomicExch(&p.words[0], blockIdx.x + 1);
}
// The first block turns B, the others read it when its flag is up.
__global__ void flag_kernel(Args p) {
  const int at = threadIdx.x;
  if (blockIdx.x == 0) {
    for (int i = at; i < K * N; i += blockDim.x) p.parts[i % N * K + i / N] = p.B[i];
    __threadfence();
    __syncthreads();
    if (at == 0) atomicExch(&p.words[0], 1);
    return;
  }
  if (at == 0)
    while (atomicAdd(&p.words[0], 0) == 0) __nanosleep(20);
  __syncthreads();
  const int m = (blockIdx.x - 1) * 8 + at / N, n = at % N;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += p.A[m * K + k] * p.parts[n * K + k];
  p.C[m * N + n] = sum;
}
// Blocks take tiles from a counter until there are no more.
__global__ void counter_of_tiles_kernel(Args p) {
  __shared__ unsigned next;
  for (;;) {
    if (threadIdx.x == 0) next = atomicAdd(&p.words[0], 1);
    __syncthreads();
    const unsigned tile = next;
    __syncthreads();
    if (tile >= M / 4) return;
    const int m = static_cast<int>(tile) * 4 + threadIdx.x / N, n = threadIdx.x % N;
    p.C[m * N + n] = product(p, m, n, 0, K);
  }
}

// --- Barriers of blocks
// ---------------------------------------------------------------------------

__device__ void copy_tile(const Args& p, int tile, float (&a)[M][BK], float (&b)[BK][N]) {
  const int at = threadIdx.x, k0 = tile * BK;
  if (at < M * BK)
    a[at / BK][at % BK] = p.A[at / BK * K + k0 + at % BK];
  else
    b[(at - M * BK) / N][at % N] = p.B[(k0 + (at - M * BK) / N) * N + at % N];
}
__device__ float of_tile(const float (&a)[M][BK], const float (&b)[BK][N]) {
  float sum = 0;
  for (int k = 0; k < BK; ++k) sum += a[threadIdx.x / N][k] * b[k][threadIdx.x % N];
  return sum;
}
// One barrier a tile: the other buffer is filled while this one is read.
__global__ void two_buffers_kernel(Args p) {
  __shared__ float a[2][M][BK], b[2][BK][N];
  float sum = 0;
  copy_tile(p, 0, a[0], b[0]);
  for (int t = 0; t < TILES; ++t) {
    __syncthreads();
    if (t + 1 < TILES) copy_tile(p, t + 1, a[(t + 1) % 2], b[(t + 1) % 2]);
    sum += of_tile(a[t % 2], b[t % 2]);
  }
  p.C[threadIdx.x] = sum;
}
// A loop that goes on while any thread has something left.
__global__ void while_any_kernel(Args p) {
  __shared__ float a[M][BK], b[BK][N];
  float sum = 0;
  int t = 0;
  while (__syncthreads_or(t < TILES)) {
    copy_tile(p, t, a, b);
    __syncthreads();
    sum += of_tile(a, b);
    ++t;
  }
  p.C[threadIdx.x] = sum;
}
// Everybody reads what is there, waits, and overwrites it.
__global__ void in_place_kernel(Args p) {
  __shared__ float c[M][N];
  const int m = threadIdx.x / N, n = threadIdx.x % N;
  c[n][m] = product(p, m, n, 0, K);
  __syncthreads();
  const float turned = c[m][n];
  __syncthreads();
  c[n][m] = turned;
  __syncthreads();
  p.C[m * N + n] = c[m][n];
}
__global__ void ring_of_copies_kernel(Args p) {
  constexpr int PIPE = 3;
  __shared__ __align__(16) float a[PIPE][M][BK], b[PIPE][BK][N];
  const auto copy = [&](int t) {
    const int at = threadIdx.x % 128, k0 = t * BK, to = t % PIPE;
    if (t >= TILES) {
    } else if (threadIdx.x < 128) {
      ptx::cp_async_cg_16(&a[to][at / 4][at % 4 * 4], &p.A[at / 4 * K + k0 + at % 4 * 4], 16);
    } else if (threadIdx.x < 256) {
      ptx::cp_async_cg_16(&b[to][at / 8][at % 8 * 4], &p.B[(k0 + at / 8) * N + at % 8 * 4], 16);
    }
    ptx::cp_async_commit_group();
  };
  for (int t = 0; t < PIPE - 1; ++t) copy(t);
  float sum = 0;
  for (int t = 0; t < TILES; ++t) {
    ptx::cp_async_wait_group<PIPE - 2>();
    __syncthreads();
    copy(t + PIPE - 1);
    sum += of_tile(a[t % PIPE], b[t % PIPE]);
  }
  p.C[threadIdx.x] = sum;
}

// --- Named barriers, mbarriers, clusters
// ----------------------------------------------------------

// Warps 0 and 1 copy, 2 and 3 multiply: "full" is barrier 1 or 2, "empty" 3 or 4.
__global__ void named_barriers_kernel(Args p) {
  __shared__ float rows[2][8][BK];
  const int m0 = blockIdx.x * 8, at = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int t = 0; t < TILES; ++t) {
      if (t >= 2) ptx::named_barrier_sync(3 + t % 2, 128);
      for (int i = at; i < 8 * BK; i += 64)
        rows[t % 2][i / BK][i % BK] = p.A[(m0 + i / BK) * K + t * BK + i % BK];
      ptx::named_barrier_arrive(1 + t % 2, 128);
    }
    return;
  }
  float sums[4] = {};
  for (int t = 0; t < TILES; ++t) {
    ptx::named_barrier_sync(1 + t % 2, 128);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < BK; ++k)
        sums[i] += rows[t % 2][at / 32 * 4 + i][k] * p.B[(t * BK + k) * N + at % 32];
    if (t + 2 < TILES) ptx::named_barrier_arrive(3 + t % 2, 128);
  }
  for (int i = 0; i < 4; ++i) p.C[(m0 + at / 32 * 4 + i) * N + at % 32] = sums[i];
}
template <int COUNT>
__device__ void prepare(uint64_t (&barriers)[COUNT], unsigned arrivals) {
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : barriers) ptx::mbarrier_init(&barrier, arrivals);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
}
// An mbarrier in the place of __syncthreads.
__global__ void mbarrier_of_all_kernel(Args p) {
  __shared__ float a[M][BK], b[BK][N];
  __shared__ uint64_t barriers[1];
  prepare(barriers, blockDim.x);
  unsigned phase = 0;
  const auto meet = [&] {
    ptx::mbarrier_arrive(&barriers[0]);
    while (!ptx::mbarrier_test_wait_parity(&barriers[0], phase % 2)) {
    }
    ++phase;
  };
  float sum = 0;
  for (int t = 0; t < TILES; ++t) {
    copy_tile(p, t, a, b);
    meet();
    sum += of_tile(a, b);
    meet();
  }
  p.C[threadIdx.x] = sum;
}
// A warp copies, four multiply. A buffer is given back by each of their lanes, or by a lane for its
// warp.
template <bool BY_ONE_LANE>
__global__ void mbarrier_ring_kernel(Args p) {
  __shared__ float rows[2][8][BK];
  __shared__ uint64_t full[2], empty[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m0 = blockIdx.x * 8;
  prepare(full, 32);
  prepare(empty, BY_ONE_LANE ? 4 : 128);
  if (warp == 0) {
    for (int t = 0; t < TILES; ++t) {
      if (t >= 2) ptx::mbarrier_wait_parity(&empty[t % 2], (t / 2 - 1) % 2);
      for (int i = lane; i < 8 * BK; i += 32)
        rows[t % 2][i / BK][i % BK] = p.A[(m0 + i / BK) * K + t * BK + i % BK];
      ptx::mbarrier_arrive(&full[t % 2]);
    }
    return;
  }
  const int row = (warp - 1) * 2;
  float sums[2] = {};
  for (int t = 0; t < TILES; ++t) {
    ptx::mbarrier_wait_parity(&full[t % 2], t / 2 % 2);
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < BK; ++k)
        sums[i] += rows[t % 2][row + i][k] * p.B[(t * BK + k) * N + lane];
    if (BY_ONE_LANE) __syncwarp();
    if (!BY_ONE_LANE || lane == 0) ptx::mbarrier_arrive(&empty[t % 2]);
  }
  for (int i = 0; i < 2; ++i) p.C[(m0 + row + i) * N + lane] = sums[i];
}
// Nobody waits at "read", and a barrier tells all that its phase is over: some keep it for later.
__global__ void nobody_waits_kernel(Args p) {
  __shared__ float row[K];
  __shared__ uint64_t read[1];
  prepare(read, N);
  for (int i = 0; i < 8; ++i) {
    const int m = blockIdx.x * 8 + i;
    for (int k = threadIdx.x; k < K; k += blockDim.x) row[k] = p.A[m * K + k];
    __syncthreads();
    if (threadIdx.x < N) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += row[k] * p.B[k * N + threadIdx.x];
      p.C[m * N + threadIdx.x] = sum;
      ptx::mbarrier_arrive(&read[0]);
    }
    __syncthreads();
  }
}
// TMA brings a row of bytes; one thread waits for it, and a barrier tells the others.
__global__ void one_thread_waits_kernel(Args p) {
  __shared__ __align__(128) float row[2][K];
  __shared__ uint64_t barriers[2];
  prepare(barriers, 1);
  const auto copy = [&](int i) {
    ptx::mbarrier_arrive_expect_tx(&barriers[i % 2], sizeof row[0]);
    ptx::bulk_load(row[i % 2], &p.A[(blockIdx.x * 8 + i) * K], sizeof row[0], &barriers[i % 2]);
  };
  if (threadIdx.x == 0) copy(0);
  for (int i = 0; i < 8; ++i) {
    if (threadIdx.x == 0) ptx::mbarrier_wait_parity(&barriers[i % 2], i / 2 % 2);
    __syncthreads();
    if (threadIdx.x == 0 && i + 1 < 8) copy(i + 1);
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += row[i % 2][k] * p.B[k * N + threadIdx.x];
    p.C[(blockIdx.x * 8 + i) * N + threadIdx.x] = sum;
  }
}
// Each block of a pair copies half of B, and reads the other half where it is.
__global__ void pair_of_blocks_kernel(Args p) {
  float* const half = &dynamic_shared<float>();
  const int rank = blockIdx.x % 2, at = threadIdx.x;
  for (int i = at; i < K / 2 * N; i += blockDim.x) half[i] = p.B[rank * K / 2 * N + i];
  ptx::cluster_sync();
  const int m = blockIdx.x * 8 + at / N, n = at % N;
  float sum = 0;
  for (int part = 0; part < 2; ++part) {
    const float* const there = ptx::shared_of_block(half, part);
    for (int k = 0; k < K / 2; ++k) sum += p.A[m * K + part * K / 2 + k] * there[k * N + n];
  }
  p.C[m * N + n] = sum;
  ptx::cluster_sync();
}

struct Style {
  const char* name;
  void (*kernel)(Args);
  unsigned blocks, threads, cluster = 1;
};
const Style STYLES[] = {
    {"warp_tree", warp_tree_kernel, M* N / 8, 256},
    {"shuffle_down", shuffle_down_kernel, M* N / 8, 256},
    {"shuffle_broadcast", shuffle_broadcast_kernel, M / 8, 256},
    {"half_warps", half_warps_kernel, M / 16, 256},
    {"warps_along_k", warps_along_k_kernel, M, 256},
    {"atomic_sums", atomic_sums_kernel, TILES, ELEMENTS},
    {"atomics_in_shared_memory", atomics_in_shared_memory_kernel, M, 256},
    {"last_block_adds", last_block_adds_kernel, TILES, ELEMENTS},
    {"in_turn", in_turn_kernel, TILES, ELEMENTS},
    {"flag", flag_kernel, 1 + M / 8, 256},
    {"counter_of_tiles", counter_of_tiles_kernel, 3, 128},
    {"two_buffers", two_buffers_kernel, 1, ELEMENTS},
    {"while_any", while_any_kernel, 1, ELEMENTS},
    {"in_place", in_place_kernel, 1, ELEMENTS},
    {"ring_of_copies", ring_of_copies_kernel, 1, ELEMENTS},
    {"named_barriers", named_barriers_kernel, M / 8, 128},
    {"mbarrier_of_all", mbarrier_of_all_kernel, 1, ELEMENTS},
    {"mbarrier_ring", mbarrier_ring_kernel<false>, M / 8, 160},
    {"mbarrier_ring_one_lane", mbarrier_ring_kernel<true>, M / 8, 160},
    {"nobody_waits", nobody_waits_kernel, M / 8, 64},
    {"one_thread_waits", one_thread_waits_kernel, M / 8, 32},
    {"pair_of_blocks", pair_of_blocks_kernel, M / 8, 256, 2},
};

class OtherStyles : public testing::TestWithParam<Style> {};

TEST_P(OtherStyles, AreRightAndNothingIsFound) {
  const Style& style = GetParam();
  cpu_device::settings() = {};
  cpu_device::settings().os_threads = 1;
  cpu_device::settings().digest = true;
  float *A, *B, *C, *parts;
  unsigned* words;
  LADDER_CUDA_CHECK(cudaMalloc(&A, M * K * sizeof(float)));
  LADDER_CUDA_CHECK(cudaMalloc(&B, K * N * sizeof(float)));
  LADDER_CUDA_CHECK(cudaMalloc(&C, M * N * sizeof(float)));
  LADDER_CUDA_CHECK(cudaMalloc(&parts, TILES * M * N * sizeof(float)));
  LADDER_CUDA_CHECK(cudaMalloc(&words, 4 * sizeof(unsigned)));
  cpu_device::take_digest();
  std::vector<uint64_t> digests;
  for (const int scale : {0, 1, 37}) {
    for (int i = 0; i < M * K; ++i) A[i] = static_cast<float>(i % 11 * scale - scale);
    for (int i = 0; i < K * N; ++i) B[i] = static_cast<float>(i % 7 * scale - 2 * scale);
    for (int i = 0; i < M * N; ++i) C[i] = 0;
    for (int i = 0; i < 4; ++i) words[i] = 0;
    launch_clusters(style.cluster, style.kernel, dim3(style.blocks), dim3(style.threads), 8192,
                    nullptr, Args{A, B, C, parts, words});
    for (const cpu_device::Finding& finding : cpu_device::take_findings())
      ADD_FAILURE() << finding.text()
                    << " at: " << cpu_device::source_text(cpu_device::source_line(finding.place));
    for (int i = 0; i < M * N; ++i) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += A[i / N * K + k] * B[k * N + i % N];
      ASSERT_EQ(sum, C[i]) << "scale " << scale << ", element " << i;
    }
    digests.push_back(cpu_device::take_digest().digest);
    EXPECT_EQ(digests.front(), digests.back()) << "scale " << scale;
  }
  cudaFree(A), cudaFree(B), cudaFree(C), cudaFree(parts), cudaFree(words);
}
INSTANTIATE_TEST_SUITE_P(All, OtherStyles, testing::ValuesIn(STYLES),
                         [](const auto& style) { return std::string(style.param.name); });

}  // namespace
}  // namespace ladder
