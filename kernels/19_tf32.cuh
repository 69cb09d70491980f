#pragma once
// 19 tf32: C[M,N] = A[M,K] * B[K,N] of floats, by tensor cores that read 19 bits of each; fp32
// accumulate, fp32 out. C by rows; A and B each by rows or by columns.
// Idea    a float in memory is a tf32 to a tensor core: it does not read the lower 13 bits of the
//         fraction. TMA can round to the nearest on the way, and what is lost can be multiplied by
//         itself: three products give the accuracy of fp32 back. An operand is read along K alone:
//         what is not stored so is turned first.
// vs 17   tf32, and C of fp32, whose pieces are filled by plain stores; the maps of up to three
//         products, the pass that makes the small parts for them, and sums of 128 of K that are
//         added in fp32; the pass that transposes; two tiles.
// Step    half of it is what is done with an operand before the kernel: turned, or split in two.
// Limit   17's.
#include <utility>

#include "17_fp8.cuh"
#include "launch.cuh"
#include "parts/block_order.cuh"
#include "parts/configurations.cuh"
#include "parts/no_kernel.cuh"
#include "parts/store_halves.cuh"
#include "parts/transpose.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "types.cuh"

namespace ladder::tf32_products {

using namespace fp8;  // 17 is where most of it is

constexpr int PART = 4;  // tiles of operands, 128 of K

template <int BM, int BN>
using Shared = fp8::Shared<tf32, float, BM, BN>;

// What is multiplied: A * B, or small A * B + A * small B + A * B, where `small` is what a tensor
// core does not read of a float. The small products come first, while the sum they are added to is
// small as well.
struct Operands {
  CUtensorMap A, B, small_A, small_B;
  int products;  // 1 or 3
};

// 17's producer, for every product.
template <int BM, int BN>
__device__ __forceinline__ void produce(Shared<BM, BN>& s, const Operands& from, Tile tile,
                                        int tiles, bool backwards, unsigned& step) {
  for (int left = from.products; left > 0; --left)
    fp8::produce(s, left == 3 ? from.small_A : from.A, left == 2 ? from.small_B : from.B, tile,
                 tiles, backwards, step);
}

// 17's consumer, for three products, with the sums of each PART of tiles added in fp32: a tensor
// core cuts a sum towards zero whenever it adds to it.
template <int BM, int BN>
__device__ __forceinline__ void multiply_in_parts(Shared<BM, BN>& s, int tiles, int group_m,
                                                  float (&total)[PARTS<BM>][BN / 2],
                                                  unsigned& step) {
#pragma unroll
  for (float& sum : total[0]) sum = 0;
#pragma unroll 1
  for (int left = 3; left > 0; --left) {
#pragma unroll 1
    for (int t = 0; t < tiles; t += PART) {
      float acc[PARTS<BM>][BN / 2];
      multiply(s, min(PART, tiles - t), group_m, acc, step);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) total[0][i] += acc[0][i];
    }
    // An infinity has no small part, and times one that is 0 it is no number. What comes of it, and
    // of NaN, is what A * B says.
    if (left == 2)
#pragma unroll
      for (float& sum : total[0]) sum = fabsf(sum) < __builtin_huge_valf() ? sum : 0;
  }
}

template <int BM, int BN, bool IN_PARTS>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ Operands from,
                const __grid_constant__ CUtensorMap map_C, float* C, int64_t ldc) {
  auto& s = dynamic_shared<Shared<BM, BN>>();
  const int tiles = ceil_div(K, BK<tf32>);
  prepare(s, CONSUMERS<BM>);

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS<BM> * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (warp_of_block() == CONSUMERS<BM> * WARPGROUP / 32) {
      bool backwards = false;
      for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
        const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
        produce(s, from, tile, tiles, backwards, step);
        backwards = !backwards;
      }
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS<BM>>();
    const int group = warpgroup_of_block(), group_m = group * PARTS<BM> * MMA_M;
    const bool sends = threadIdx.x % WARPGROUP == 0;
    const Result<float> to{map_C, C, ldc};
    const auto finish = [](float(*staged)[BOX<float>], const float* sums, int, int, int lane) {
      stage_pairs(staged, sums, lane,
                  [](const float* two, int) { return make_float2(two[0], two[1]); });
    };
    unsigned piece = 0;
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      float acc[PARTS<BM>][BN / 2];
      if constexpr (IN_PARTS)
        multiply_in_parts(s, tiles, group_m, acc, step);
      else
        multiply(s, from.products * tiles, group_m, acc, step);
      store(s, group, acc, finish, to, M, N, tile, piece);
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// ---- What is done with an operand first ---------------------------------------------------------

// How numbers become tf32: as they are, of which 13 bits are not read; rounded by TMA; and as they
// are, with what is not read in two more products.
enum class Way { CUT, ROUNDED, THREE };

constexpr int SPLIT_THREADS = 256;

// What a tensor core does not read of a float: exact in a float, and rounded to tf32 on its way.
__device__ __forceinline__ float small_part(float x) {
  constexpr uint32_t READ = ~uint32_t{0x1FFF};
  const uint32_t read = reinterpret_cast<const uint32_t&>(x) & READ;
  return x - reinterpret_cast<const float&>(read);
}

// The small parts of a row's next 4 columns a thread.
static __global__ void __launch_bounds__(SPLIT_THREADS)
    split_kernel(int quads, const float* from, int64_t ld_from, float* to, int64_t ld_to) {
  const int blocks = ceil_div(quads, SPLIT_THREADS);
  const int64_t row = blockIdx.x / blocks;
  const int quad = blockIdx.x % blocks * SPLIT_THREADS + threadIdx.x;
  if (quad >= quads) return;
  const float4 x = *reinterpret_cast<const float4*>(&from[row * ld_from + quad * 4]);
  *reinterpret_cast<float4*>(&to[row * ld_to + quad * 4]) =
      make_float4(small_part(x.x), small_part(x.y), small_part(x.z), small_part(x.w));
}

// M rows of A or N columns of B, each K elements in memory, and their small parts.
struct AlongK {
  int rows, K;
  const float* matrix;
  int64_t ld;
  const float* small = nullptr;

  int64_t packed_ld() const { return (K + 3) / 4 * 4; }
  uint64_t packed_bytes() const {
    return sizeof(float) * static_cast<uint64_t>(rows * packed_ld());
  }

  // By how much of the workspace each pass makes it longer.
  template <class Take>
  void prepare(bool turn, bool split, const Take& take, cudaStream_t stream) {
    if (turn) {
      float* const turned = take(packed_bytes());
      transpose(K, rows, matrix, ld, turned, packed_ld(), stream);
      matrix = turned, ld = packed_ld();
    }
    if (split) {
      float* const parts = take(packed_bytes());
      const int quads = ceil_div(K, 4);
      launch(split_kernel, dim3(rows * ceil_div(quads, SPLIT_THREADS)), dim3(SPLIT_THREADS), 0,
             stream, quads, matrix, ld, parts, packed_ld());
      small = parts;
    }
  }
  // With `rounds` TMA rounds to tf32.
  CUtensorMap map(bool rounds, int box_rows) const {
    return rounds ? ptx::tensor_map(reinterpret_cast<const tf32*>(matrix), rows, K, ld, box_rows)
                  : ptx::tensor_map(matrix, rows, K, ld, box_rows);
  }
  CUtensorMap map_of_small(int box_rows) const {
    return ptx::tensor_map(reinterpret_cast<const tf32*>(small), rows, K, packed_ld(), box_rows);
  }
};

// ---- The launcher ------------------------------------------------------------------------------

using Problem = Gemm<tf32, float>;

inline AlongK operand_a(const Problem& p) {
  return {p.M, p.K, reinterpret_cast<const float*>(p.A), p.lda};
}
inline AlongK operand_b(const Problem& p) {
  return {p.N, p.K, reinterpret_cast<const float*>(p.B), p.ldb};
}

// A copy of what is not stored along K, and of three products one of both.
template <Way WAY>
uint64_t workspace_bytes(const Problem& p) {
  constexpr int SMALL = WAY == Way::THREE;
  return (p.transposed_a + SMALL) * operand_a(p).packed_bytes() +
         (!p.transposed_b + SMALL) * operand_b(p).packed_bytes();
}

using Configuration = fp8::Configuration<tf32, float>;

// Throws CudaError where there is no TMA.
template <Way WAY, int BM, int BN, bool IN_PARTS>
void launch_configuration(const Problem& p, int tiles_of_C, int blocks) {
  constexpr bool ROUNDS = WAY == Way::ROUNDED, THREE = WAY == Way::THREE;
  static_assert(!IN_PARTS || (THREE && PARTS<BM> == 1));
  require_workspace(p, workspace_bytes<WAY>(p));
  char* free = static_cast<char*>(p.workspace);
  const auto take = [&](uint64_t bytes) {
    return reinterpret_cast<float*>(std::exchange(free, free + bytes));
  };
  AlongK A = operand_a(p), B = operand_b(p);
  A.prepare(p.transposed_a, THREE, take, p.stream);
  B.prepare(!p.transposed_b, THREE, take, p.stream);
  Operands from{A.map(ROUNDS, BM), B.map(ROUNDS, BN), {}, {}, THREE ? 3 : 1};
  if (THREE) from.small_A = A.map_of_small(BM), from.small_B = B.map_of_small(BN);
  launch(gemm_kernel<BM, BN, IN_PARTS>, dim3(blocks), dim3(THREADS<BM>), sizeof(Shared<BM, BN>),
         p.stream, p.M, p.N, p.K, tiles_of_C, from, ptx::tensor_map(p.C, p.M, p.N, p.ldc, MMA_M),
         p.C, p.ldc);
}
template <Way WAY, int BM, int BN, bool IN_PARTS = false>
constexpr Configuration configuration() {
  return {BM, BN, 0, launch_configuration<WAY, BM, BN, IN_PARTS>};
}
template <Way WAY>
inline constexpr Configuration CONFIGURATIONS[] = {configuration<WAY, 128, 128>(),
                                                   configuration<WAY, 128, 256>()};

inline void gemm_as(const Configuration& c, const Problem& p) {
  if (!done_without_kernel(p, Layouts::ANY)) launch_in_waves(c, p);
}

template <Way WAY = Way::ROUNDED>
void gemm(const Problem& p) {
  if (done_without_kernel(p, Layouts::ANY)) return;
  // Two sums an element: for 128x256 there are not the registers.
  if constexpr (WAY == Way::THREE) return gemm_as(configuration<WAY, 128, 128, true>(), p);
  // Steps of 128x256 take 1.86 times those of 128x128: 17's, measured on an H200.
  const Configuration &small = CONFIGURATIONS<WAY>[0], &large = CONFIGURATIONS<WAY>[1];
  gemm_as(waves(p, large) * 1.86 <= waves(p, small) ? large : small, p);
}

}  // namespace ladder::tf32_products
