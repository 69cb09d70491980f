#pragma once
// 17b promoted: C[M,N] = A[M,K] * B[K,N], row-major but for B, which is stored transposed, N x K;
// fp8 in, fp32 accumulate, bf16 out.
// Idea    the tensor core adds up no more than 128 of K, which 14 bits are enough for. These sums
//         are added up in fp32 by the threads, in registers of their own.
// vs 17   the sums of a tile, and accumulators for a piece of it, one or two, that are added to
//         them after each step; tiles for which both fit into the registers.
// Limit   e4m3 ends at 448, and what is small beside the largest of a matrix is zero: 17c.
#include <string>

#include "17_fp8.cuh"
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

namespace ladder::promoted {

using namespace fp8;  // 17 is where most of it is

// Columns of a piece: what is multiplied into one set of accumulators, 64 rows of it.
template <int BN>
constexpr int PIECE = BN > 128 ? BN / 2 : BN;

// A consumer, a warpgroup: multiplies its rows, from group_m on, of STEPS tiles, and adds them to
// `sum`, piece by piece. With two sets of accumulators the tensor core has the next piece while one
// is added. In the end nothing is on its way: ptxas does not let wgmmas run past the end of a loop
// in which their accumulators are read.
template <int STEPS, int SETS, class In, int BM, int BN>
__device__ __forceinline__ void multiply(Shared<In, bf16, BM, BN>& s, int group_m,
                                         float (&sum)[PARTS<BM>][BN / 2], unsigned& step) {
  constexpr int PIPE = Shared<In, bf16, BM, BN>::PIPE;
  constexpr int ACROSS = BN / PIECE<BN>, OF_STEP = PARTS<BM> * ACROSS, PIECES = STEPS * OF_STEP;
  const auto& first = s.tiles[0];
  const uint64_t first_a = descriptor_along_k(first.A, group_m, 0),
                 first_b = descriptor_along_k(first.B, 0, 0);
  float acc[SETS][PIECE<BN> / 2];
#pragma unroll
  for (int next = 0; next < PIECES + SETS - 1; ++next) {
    if (next < PIECES) {
      const unsigned at = (step + next / OF_STEP) % PIPE;
      const int i = next % OF_STEP / ACROSS, n = next % ACROSS * PIECE<BN>;
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
    }
    const int done = next - (SETS - 1);
    if (done < 0) continue;
    if (next < PIECES)
      ptx::wgmma_wait_group<SETS - 1>();
    else
      ptx::wgmma_wait_group<0>();
    // The buffer of a tile goes back to the producer.
    if (done % OF_STEP == OF_STEP - 1 && threadIdx.x % WARPGROUP == 0)
      ptx::mbarrier_arrive(&s.empty[(step + done / OF_STEP) % PIPE]);
#pragma unroll
    for (int e = 0; e < PIECE<BN> / 2; ++e)
      sum[done % OF_STEP / ACROSS][done % ACROSS * PIECE<BN> / 2 + e] += acc[done % SETS][e];
  }
  step += STEPS;
}

template <class In, int BM, int BN, int SETS>
__global__ void __launch_bounds__(THREADS<BM>, 1)
    gemm_kernel(int M, int N, int K, int tiles_of_C, const __grid_constant__ CUtensorMap map_A,
                const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, bf16* C, int64_t ldc) {
  auto& s = dynamic_shared<Shared<In, bf16, BM, BN>>();
  const int tiles = ceil_div(K, BK<In>);
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
    for (int index = blockIdx.x; index < tiles_of_C; index += gridDim.x) {
      const Tile tile = tile_of<BM, BN, BAND / BM>(index, M, N);
      float sum[PARTS<BM>][BN / 2] = {};
      // Two sets pay where several pieces follow each other without a pause.
      constexpr int STEPS = SETS == 1 ? 1 : 4 * PIECE<BN> / BN;
      int t = 0;
#pragma unroll 1
      for (; t + STEPS <= tiles; t += STEPS) multiply<STEPS, SETS>(s, group_m, sum, step);
#pragma unroll 1
      for (; t < tiles; ++t) multiply<1, SETS>(s, group_m, sum, step);
      store(s, group, sum, Rounded{}, to, M, N, tile, piece);
    }
    if (sends) ptx::bulk_wait_group_read<0>();  // the last pieces are still read
  }
}

// And sets of accumulators.
template <class In>
struct Configuration : fp8::Configuration<In> {
  int sets;
};

template <class In, int BM, int BN, int SETS>
void launch_configuration(const Gemm<In, bf16>& p, int tiles_of_C, int blocks) {
  launch_kernel<BM, BN>(gemm_kernel<In, BM, BN, SETS>, p, tiles_of_C, blocks);
}
template <class In, int BM, int BN, int SETS = 1>
constexpr Configuration<In> configuration(double step = 0) {
  return {{BM, BN, step, launch_configuration<In, BM, BN, SETS>}, SETS};
}
// Steps as measured on an H200: the time by waves and steps of each, the mean of 8192^3 and
// 4096x7168x16384.
template <class In>
inline constexpr Configuration<In> CONFIGURATIONS[] = {
    configuration<In, 128, 128, 2>(374), configuration<In, 128, 176, 2>(518),
    configuration<In, 128, 256>(735),    configuration<In, 192, 128>(564),
    configuration<In, 192, 176>(754),    configuration<In, 256, 128>(740)};

// "128x256", "128x128_two_sets".
template <class In>
std::string name(const Configuration<In>& c) {
  return fp8::name(c) + (c.sets == 2 ? "_two_sets" : "");
}

// Always 128x128, with one set of accumulators or with two.
template <class In, int SETS>
void gemm_128x128(const Gemm<In, bf16>& p) {
  gemm_as(configuration<In, 128, 128, SETS>(), p);
}
template <class In>
void gemm(const Gemm<In, bf16>& p) {
  if (!done_without_kernel(p)) gemm_as(first_done(CONFIGURATIONS<In>, p), p);
}

}  // namespace ladder::promoted
