#pragma once
// 16 fused_epilogue: C = activation(alpha * A * B + beta * addend + bias) + residual, row-major,
// fp16 in, fp32 accumulate, fp16 out.
// Idea    what follows a product is done to the sums before they are rounded and stored: it costs
//         instructions, and no byte of C is written, read and written again.
// vs 13   13's kernel with a function object for its sums, parts/epilogue.cuh; without pairs. The
//         kernel of its own that would otherwise follow, for all of it or for what is left.
// Step    the epilogue is a part of 13's kernel; what is new is what it is compared with.
// Limit   nothing is multiplied meanwhile; in turn it would be, with 41% more from L2 at 4096.
#include <algorithm>
#include <iterator>
#include <utility>

#include "13_fit_the_waves.cuh"
#include "13b_ping_pong.cuh"
#include "launch.cuh"
#include "parts/epilogue.cuh"
#include "parts/vector_halves.cuh"

namespace ladder::fused_epilogue {

// ---- A kernel of its own -----------------------------------------------------------------------

constexpr int WARPS = 8;
constexpr int ROWS = 4;        // of a warp, all of which it asks for before it needs the first
constexpr int STRIP = 8 * 32;  // columns of a warp: 16 bytes a lane

// What a lane has of a row: the first `valid` elements exist.
struct Eight {
  __align__(16) half v[8];
};
template <bool WHOLE>
__device__ __forceinline__ Eight load8(const half* matrix, int64_t ld, int m, int n, int valid) {
  Eight eight;
  if (WHOLE)
    as_uint4(*eight.v) = as_uint4(matrix[m * ld + n]);
  else
    copy8(eight.v, &matrix[m * ld + n], valid);
  return eight;
}

// A lane's eight columns of a warp's rows. WHOLE: all of them exist. Then no load is in a branch of
// its own, behind which it would be waited for.
template <bool WHOLE, class Function>
__device__ __forceinline__ void rows_of_warp(int m0, int n, int rows, int valid,
                                             const half* product, const Epilogue<half>& e,
                                             const Function activation, half* C, int64_t ldc) {
  const Eight bias = e.bias ? load8<WHOLE>(e.bias, 0, 0, n, valid) : Eight{};
  float factor[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    factor[i] = e.column_scale && i < valid ? e.alpha * e.column_scale[n + i] : e.alpha;
  const auto load = [&](Eight(&to)[ROWS], const half* matrix, int64_t ld) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      if (WHOLE || r < rows) to[r] = load8<WHOLE>(matrix, ld, m0 + r, n, valid);
  };
  Eight products[ROWS] = {}, addends[ROWS] = {}, residuals[ROWS] = {};
  if (product) load(products, product, ldc);
  if (e.beta != 0) load(addends, e.addend, e.ld_addend);
  if (e.residual) load(residuals, e.residual, e.ld_residual);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (!WHOLE && r >= rows) continue;
    const float row_factor = e.row_scale ? e.row_scale[m0 + r] : 1.0f;
    __align__(16) float v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      v[i] = __half2float(products[r].v[i]) * row_factor * factor[i] + __half2float(bias.v[i]);
      if (e.beta != 0) v[i] += e.beta * __half2float(addends[r].v[i]);
      v[i] = activation(v[i]);
      if (e.residual) v[i] += __half2float(residuals[r].v[i]);
    }
    store8(&C[(m0 + r) * ldc + n], v, valid);
  }
}

// C of a product that is in memory, where `product` may be C, or is null for one of zeros.
template <class Function>
__global__ void __launch_bounds__(WARPS * 32)
    epilogue_kernel(int M, int N, const half* product, const Epilogue<half> e,
                    const Function activation, half* C, int64_t ldc) {
  const int strips = ceil_div(N, STRIP);
  const int n = blockIdx.x % strips * STRIP + threadIdx.x % 32 * 8;
  const int m0 = (blockIdx.x / strips * WARPS + threadIdx.x / 32) * ROWS;
  const int valid = min(8, N - n), rows = min(ROWS, M - m0);
  if (valid == 8 && rows == ROWS)
    rows_of_warp<true>(m0, n, ROWS, 8, product, e, activation, C, ldc);
  else if (valid > 0)
    rows_of_warp<false>(m0, n, rows, valid, product, e, activation, C, ldc);
}

inline void launch_epilogue(const Gemm<half, half>& p, const half* product) {
  const int blocks = ceil_div(p.N, STRIP) * ceil_div(p.M, WARPS * ROWS);
  with_activation(p.epilogue.activation, [&](auto activation) {
    launch(epilogue_kernel<decltype(activation)>, dim3(blocks), dim3(WARPS * 32), 0, p.stream, p.M,
           p.N, product, p.epilogue, activation, p.C, p.ldc);
  });
}

// ---- The same within the kernel that multiplies ------------------------------------------------

// Calls with(function object) for an epilogue.
template <class With>
void with_finish(const Epilogue<half>& e, With with) {
  if (is_product_alone(e)) return with(ProductAlone{});
  with_activation(e.activation, [&](auto activation) {
    using Function = decltype(activation);
    if (e.row_scale || e.beta != 0 || e.residual)
      with(Fused<Function, true>{e, activation});
    else
      with(Fused<Function, false>{e, activation});
  });
}

template <int BM, int BN>
void launch_together(const Gemm<half, half>& p, int tiles_of_C, int clusters) {
  with_finish(p.epilogue, [&](const auto& finish) {
    using fit_the_waves::Pairs;
    fit_the_waves::launch_and_finish<BM, BN, Pairs::NONE>(p, tiles_of_C, clusters, finish);
  });
}
template <int BM, int BN>
void launch_in_turn(const Gemm<half, half>& p, int tiles_of_C, int clusters) {
  with_finish(p.epilogue, [&](const auto& finish) {
    using namespace ping_pong;
    launch_and_finish<BM, BN, Pairs::NONE, Order::IN_TURN>(p, tiles_of_C, clusters, finish);
  });
}

// Some of 13's tiles and of 13b's: each of these is compiled for every kind of epilogue.
template <int BM, int BN>
constexpr fit_the_waves::Configuration together() {
  return {BM, BN, fit_the_waves::Pairs::NONE, launch_together<BM, BN>};
}
template <int BM, int BN>
constexpr ping_pong::Configuration in_turn() {
  return {BM, BN, ping_pong::Pairs::NONE, launch_in_turn<BM, BN>};
}
inline constexpr fit_the_waves::Configuration TOGETHER[] = {
    together<64, 128>(), together<104, 256>(), together<128, 256>(), together<168, 256>(),
    together<176, 256>()};
inline constexpr ping_pong::Configuration IN_TURN[] = {in_turn<128, 128>(), in_turn<176, 128>()};

// Whether C is done without a product: it is empty, or K is 0.
inline bool done_without_product(const Gemm<half, half>& p) {
  require_valid_epilogue(p);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return true;
  if (p.K > 0) return false;
  launch_epilogue(p, nullptr);
  return true;
}

// No more blocks than it takes to be done in as many waves; or one for each tile, as before 11.
enum class Blocks { THAT_STAY, ONE_A_TILE };

template <class Configuration>
void launch_as(const Configuration& c, const Gemm<half, half>& p, Blocks blocks) {
  const int all = tiles(p, c);
  c.launch(p, all, blocks == Blocks::THAT_STAY ? ceil_div(all, waves(p, c)) : all);
}
template <class Configuration>
void gemm_of_tiles(const Configuration& c, const Gemm<half, half>& p) {
  if (!done_without_product(p)) launch_as(c, p, Blocks::THAT_STAY);
}

template <class Configuration, size_t COUNT>
const Configuration& first_done(const Configuration (&configurations)[COUNT],
                                const Gemm<half, half>& p) {
  const auto less = [&](const auto& x, const auto& y) { return cost(p, x) < cost(p, y); };
  return *std::min_element(std::begin(configurations), std::end(configurations), less);
}
// Of 13's tiles and 13b's, by the cost that both have.
inline void launch_chosen(const Gemm<half, half>& p, Blocks blocks) {
  const auto& together = first_done(TOGETHER, p);
  const auto& in_turn = first_done(IN_TURN, p);
  if (cost(p, in_turn) < cost(p, together))
    launch_as(in_turn, p, blocks);
  else
    launch_as(together, p, blocks);
}

// How much of it is done within the kernel that multiplies. What is left takes another kernel, and
// C is what goes from one to the other, rounded.
enum class Within { NOTHING, BIAS };

template <Within WITHIN>
void gemm_and_epilogue(const Gemm<half, half>& p) {
  if (done_without_product(p)) return;
  if (p.epilogue.beta != 0 && p.epilogue.addend == p.C)
    throw std::invalid_argument("the addend is C, which the product would overwrite");
  Gemm<half, half> first = p, then = p;
  first.epilogue = {};
  if (WITHIN == Within::BIAS) {
    std::swap(first.epilogue.alpha, then.epilogue.alpha);
    std::swap(first.epilogue.row_scale, then.epilogue.row_scale);
    std::swap(first.epilogue.column_scale, then.epilogue.column_scale);
    std::swap(first.epilogue.bias, then.epilogue.bias);
  }
  launch_chosen(first, Blocks::THAT_STAY);
  if (!is_product_alone(then.epilogue)) launch_epilogue(then, p.C);
}

inline void gemm_one_block_a_tile(const Gemm<half, half>& p) {
  if (!done_without_product(p)) launch_chosen(p, Blocks::ONE_A_TILE);
}
inline void gemm_in_turn(const Gemm<half, half>& p) {
  if (!done_without_product(p)) launch_as(first_done(IN_TURN, p), p, Blocks::THAT_STAY);
}
inline void gemm(const Gemm<half, half>& p) {
  if (!done_without_product(p)) launch_chosen(p, Blocks::THAT_STAY);
}

}  // namespace ladder::fused_epilogue
