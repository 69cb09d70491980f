#pragma once
// The kernels of build/pairs that use tensor cores: sums in fp16 or in fp32, and what WMMA can be
// told. As in pairs.cuh grids fit, and nothing is compared with an end.
#include <cuda_bf16.h>
#include <mma.h>

#include <type_traits>

#include "../../kernels/launch.cuh"
#include "../../kernels/ptx/mma.cuh"

namespace pairs {

// --- Sums in fp16, or in fp32 --------------------------------------------------------------------

// What a lane has of a square of 16x8 sums: two neighbours in row lane / 4, and two 8 rows below.
struct SumsInFp32 {
  float sums[4] = {};
  __device__ void add(const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    ladder::ptx::mma_m16n8k16_f32_f16(sums, a, b0, b1);
  }
  __device__ float2 neighbours(int i) const { return make_float2(sums[2 * i], sums[2 * i + 1]); }
};
#ifndef LADDER_CPU_DEVICE  // which has no such instruction
struct SumsInFp16 {
  uint32_t sums[2] = {};  // two halves each
  __device__ void add(const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
        "{%0, %1};"
        : "+r"(sums[0]), "+r"(sums[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  __device__ float2 neighbours(int i) const {
    return __half22float2(reinterpret_cast<const half2&>(sums[i]));
  }
};
#endif

// A and B lie in memory as mma.sync wants them, so that there is nothing to do but to load and to
// multiply: of each 16x16 the eight numbers of a lane side by side. `row` is a row of A, or a
// column of B.
__host__ __device__ inline int place_in_fragments(int row, int k, int steps) {
  const int lane = row % 8 * 4 + k % 8 / 2;
  // Registers of A, and of two squares of B: rows are its outer index there, k its inner one.
  return ((row / 16 * steps + k / 16) * 32 + lane) * 8 + k % 2;
}
__host__ __device__ inline int place_in_a(int m, int k, int steps) {
  return place_in_fragments(m, k, steps) + (k / 8 % 2 * 2 + m / 8 % 2) * 2;
}
__host__ __device__ inline int place_in_b(int n, int k, int steps) {
  return place_in_fragments(n, k, steps) + (n / 8 % 2 * 2 + k / 8 % 2) * 2;
}

constexpr int SUMS_M = 256, SUMS_N = 128;  // of C, that a block of 4x2 warps has
struct alignas(16) Fragment {
  uint32_t x[4];
};
struct Fragments {  // for a step of 16 along K, of a warp's 64 rows and columns
  Fragment a[4], b[4];
};

// C = A B in squares of 64x64 a warp. `across` blocks lie side by side. K is 16 * steps, and steps
// are even: while the multiplications of one step run, the fragments of the next are on their way.
template <class Sums>
__global__ void __launch_bounds__(256, 1)
    sums_kernel(const Fragment* a, const Fragment* b, int across, int steps, float* c) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int m0 = blockIdx.x / across * SUMS_M + warp / 2 * 64;
  const int n0 = blockIdx.x % across * SUMS_N + warp % 2 * 64;
  const auto load = [&](int step) {
    Fragments f;
    for (int i = 0; i < 4; ++i) f.a[i] = a[((m0 / 16 + i) * steps + step) * 32 + lane];
    for (int i = 0; i < 4; ++i) f.b[i] = b[((n0 / 16 + i) * steps + step) * 32 + lane];
    return f;
  };
  Sums sums[4][8];
  const auto multiply = [&](const Fragments& f) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j) {
        const auto& two = f.b[j / 2].x;
        sums[i][j].add(f.a[i].x, two[j % 2 * 2], two[j % 2 * 2 + 1]);
      }
  };
  Fragments even = load(0);
  for (int step = 0; step < steps; step += 2) {
    const Fragments odd = load(step + 1);
    multiply(even);
    if (step + 2 < steps) even = load(step + 2);
    multiply(odd);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      for (int lower = 0; lower < 2; ++lower) {
        const int m = m0 + i * 16 + lower * 8 + lane / 4, n = n0 + j * 8 + lane % 4 * 2;
        reinterpret_cast<float2&>(c[m * across * SUMS_N + n]) = sums[i][j].neighbours(lower);
      }
}

// --- What WMMA can be told -----------------------------------------------------------------------

namespace nv = nvcuda::wmma;

#ifndef LADDER_CPU_DEVICE
// load_matrix_sync of bf16 with an address of shared memory. CUDA 13.0's own has any address, and
// so becomes loads of 4 bytes.
template <class Use>
__device__ void load_from_shared(
    nv::fragment<Use, 16, 16, 16, __nv_bfloat16, nv::row_major>& fragment, const __nv_bfloat16* p,
    unsigned pitch) {
  auto& to = reinterpret_cast<uint32_t(&)[4]>(fragment.x);
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  if constexpr (std::is_same_v<Use, nv::matrix_a>)
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address), "r"(pitch)
                 : "memory");
  else
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address), "r"(pitch)
                 : "memory");
}
#endif
template <bool SHARED, class Fragment, class T>
__device__ void load_fragment(Fragment& fragment, const T* p, unsigned pitch) {
#ifndef LADDER_CPU_DEVICE
  if constexpr (SHARED) return load_from_shared(fragment, p, pitch);
#endif
  nv::load_matrix_sync(fragment, p, pitch);
}

constexpr int WMMA_ROWS = 128, WMMA_DEPTH = 64, WMMA_REPEATS = 64;

// A block multiplies its own 128x64 numbers of A by B, 64xCOLUMNS, and adds the same product
// WMMA_REPEATS times, as if the next tile were there each time. Fragments of C are M x 256 / M.
// Where they are wider than COLUMNS, B has zeros there. SHARED: load_from_shared.
template <class T, int M, int COLUMNS, bool SHARED = false>
__global__ void __launch_bounds__(128) wmma_kernel(const float* a, const float* b, float* c) {
  constexpr int N = 256 / M, WIDTH = COLUMNS < N ? N : COLUMNS;
  constexpr int PITCH_A = WMMA_DEPTH + 8, PITCH_B = WIDTH + 8;
  __shared__ __align__(32) T sA[WMMA_ROWS][PITCH_A], sB[WMMA_DEPTH][PITCH_B];
  const int row0 = blockIdx.x * WMMA_ROWS, of_warp = threadIdx.x / 32 * 32;
  for (int i = threadIdx.x; i < WMMA_ROWS * WMMA_DEPTH; i += 128)
    sA[i / WMMA_DEPTH][i % WMMA_DEPTH] = T(a[row0 * WMMA_DEPTH + i]);
  for (int i = threadIdx.x; i < WMMA_DEPTH * WIDTH; i += 128) {
    const int k = i / WIDTH, n = i % WIDTH;
    sB[k][n] = T(n < COLUMNS ? b[k * COLUMNS + n] : 0.0f);
  }
  nv::fragment<nv::accumulator, M, N, 16, float> sums[32 / M][WIDTH / N];
  for (auto& row : sums)
    for (auto& fragment : row) nv::fill_fragment(fragment, 0.0f);
#pragma unroll 1
  for (int repeat = 0; repeat < WMMA_REPEATS; ++repeat) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < WMMA_DEPTH; k += 16) {
      nv::fragment<nv::matrix_a, M, N, 16, T, nv::row_major> of_a[32 / M];
      nv::fragment<nv::matrix_b, M, N, 16, T, nv::row_major> of_b[WIDTH / N];
      for (int i = 0; i < 32 / M; ++i)
        load_fragment<SHARED>(of_a[i], &sA[of_warp + i * M][k], PITCH_A);
      for (int j = 0; j < WIDTH / N; ++j) load_fragment<SHARED>(of_b[j], &sB[k][j * N], PITCH_B);
      for (int i = 0; i < 32 / M; ++i)
        for (int j = 0; j < WIDTH / N; ++j) nv::mma_sync(sums[i][j], of_a[i], of_b[j], sums[i][j]);
    }
  }
  float* const to = c + (row0 + of_warp) * COLUMNS;
  if constexpr (WIDTH == COLUMNS) {
    for (int i = 0; i < 32 / M; ++i)
      for (int j = 0; j < WIDTH / N; ++j)
        nv::store_matrix_sync(to + i * M * COLUMNS + j * N, sums[i][j], COLUMNS, nv::mem_row_major);
  } else {  // not all of a fragment is stored
    __shared__ __align__(32) float staged[WMMA_ROWS][WIDTH];
    for (int i = 0; i < 32 / M; ++i)
      nv::store_matrix_sync(staged[of_warp + i * M], sums[i][0], WIDTH, nv::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x % 32; i < 32 * COLUMNS; i += 32)
      to[i] = staged[of_warp + i / COLUMNS][i % COLUMNS];
  }
}

}  // namespace pairs
