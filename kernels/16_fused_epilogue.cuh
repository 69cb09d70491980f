#pragma once
// 16 fused_epilogue: C = activation(alpha * A * B + beta * addend + bias) + residual, row-major,
// fp16 or bf16, fp32 accumulate.
// Idea    what follows a product is done to the sums before they are rounded and stored: it costs
//         instructions, and no byte of C is written, read and written again.
// vs 13   13's kernel with a function object for its sums, parts/epilogue.cuh; without pairs. The
//         kernel of its own that would otherwise follow, for all of it or for what is left.
// Step    the epilogue is a part of 13's kernel; what is new is what it is compared with.
// Limit   nothing is multiplied meanwhile; in turn it would be, with 41% more from L2 at 4096.
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
template <class T>
struct Eight {
  __align__(16) T v[8];
};
template <bool WHOLE, class T>
__device__ __forceinline__ Eight<T> load8(const T* matrix, int64_t ld, int m, int n, int valid) {
  Eight<T> eight;
  if (WHOLE)
    as_uint4(*eight.v) = as_uint4(matrix[m * ld + n]);
  else
    copy8(eight.v, &matrix[m * ld + n], valid);
  return eight;
}

// A lane's eight columns of a warp's rows. WHOLE: all of them exist. Then no load is in a branch of
// its own, behind which it would be waited for.
template <bool WHOLE, class T, class Function>
__device__ __forceinline__ void rows_of_warp(int m0, int n, int rows, int valid, const T* product,
                                             const Epilogue<T>& e, const Function activation, T* C,
                                             int64_t ldc) {
  const Eight<T> bias = e.bias ? load8<WHOLE>(e.bias, 0, 0, n, valid) : Eight<T>{};
  float factor[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    factor[i] = e.column_scale && i < valid ? e.alpha * e.column_scale[n + i] : e.alpha;
  const auto load = [&](Eight<T>(&to)[ROWS], const T* matrix, int64_t ld) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      if (WHOLE || r < rows) to[r] = load8<WHOLE>(matrix, ld, m0 + r, n, valid);
  };
  Eight<T> products[ROWS] = {}, addends[ROWS] = {}, residuals[ROWS] = {};
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
      v[i] = as_float(products[r].v[i]) * row_factor * factor[i] + as_float(bias.v[i]);
      if (e.beta != 0) v[i] += e.beta * as_float(addends[r].v[i]);
      v[i] = activation(v[i]);
      if (e.residual) v[i] += as_float(residuals[r].v[i]);
    }
    store8(&C[(m0 + r) * ldc + n], v, valid);
  }
}

// C of a product that is in memory, where `product` may be C, or is null for one of zeros.
template <class T, class Function>
__global__ void __launch_bounds__(WARPS * 32)
    epilogue_kernel(int M, int N, const T* product, const Epilogue<T> e, const Function activation,
                    T* C, int64_t ldc) {
  const int strips = ceil_div(N, STRIP);
  const int n = blockIdx.x % strips * STRIP + threadIdx.x % 32 * 8;
  const int m0 = (blockIdx.x / strips * WARPS + threadIdx.x / 32) * ROWS;
  const int valid = min(8, N - n), rows = min(ROWS, M - m0);
  if (valid == 8 && rows == ROWS)
    rows_of_warp<true>(m0, n, ROWS, 8, product, e, activation, C, ldc);
  else if (valid > 0)
    rows_of_warp<false>(m0, n, rows, valid, product, e, activation, C, ldc);
}

template <class T>
void launch_epilogue(const Gemm<T, T>& p, const T* product) {
  const int blocks = ceil_div(p.N, STRIP) * ceil_div(p.M, WARPS * ROWS);
  with_activation(p.epilogue.activation, [&](auto activation) {
    launch(epilogue_kernel<T, decltype(activation)>, dim3(blocks), dim3(WARPS * 32), 0, p.stream,
           p.M, p.N, product, p.epilogue, activation, p.C, p.ldc);
  });
}

// ---- The same within the kernel that multiplies ------------------------------------------------

// Calls with(function object) for an epilogue.
template <class T, class With>
void with_finish(const Epilogue<T>& e, With with) {
  if (is_product_alone(e)) return with(ProductAlone{});
  with_activation(e.activation, [&](auto activation) {
    using Function = decltype(activation);
    if (e.row_scale || e.beta != 0 || e.residual)
      with(Fused<T, Function, true>{e, activation});
    else
      with(Fused<T, Function, false>{e, activation});
  });
}

template <class T, int BM, int BN>
void launch_together(const Gemm<T, T>& p, int tiles_of_C, int clusters) {
  with_finish(p.epilogue, [&](const auto& finish) {
    using fit_the_waves::Pairs;
    fit_the_waves::launch_and_finish<T, BM, BN, Pairs::NONE>(p, tiles_of_C, clusters, finish);
  });
}
template <class T, int BM, int BN>
void launch_in_turn(const Gemm<T, T>& p, int tiles_of_C, int clusters) {
  with_finish(p.epilogue, [&](const auto& finish) {
    using namespace ping_pong;
    launch_and_finish<T, BM, BN, Pairs::NONE, Order::IN_TURN>(p, tiles_of_C, clusters, finish);
  });
}

// Some of 13's tiles and of 13b's: each of these is compiled for every kind of epilogue.
template <class T, int BM, int BN>
constexpr fit_the_waves::Configuration<T> together() {
  return {{BM, BN}, launch_together<T, BM, BN>};
}
template <class T, int BM, int BN>
constexpr ping_pong::Configuration<T> in_turn() {
  return {{BM, BN}, launch_in_turn<T, BM, BN>};
}
template <class T>
inline constexpr fit_the_waves::Configuration<T> TOGETHER[] = {
    together<T, 64, 128>(), together<T, 104, 256>(), together<T, 128, 256>(),
    together<T, 168, 256>(), together<T, 176, 256>()};
template <class T>
inline constexpr ping_pong::Configuration<T> IN_TURN[] = {in_turn<T, 128, 128>(),
                                                          in_turn<T, 176, 128>()};

// Whether C is done without a product: it is empty, or K is 0.
template <class T>
bool done_without_product(const Gemm<T, T>& p, Layouts layouts = Layouts::USUAL) {
  require_valid_epilogue(p, layouts);
  require_aligned_rows(p);
  if (p.M == 0 || p.N == 0) return true;
  if (p.K > 0) return false;
  launch_epilogue<T>(p, nullptr);
  return true;
}

// No more blocks than it takes to be done in as many waves; or one for each tile, as before 11.
enum class Blocks { THAT_STAY, ONE_A_TILE };

template <class Configuration, class T>
void launch_as(const Configuration& c, const Gemm<T, T>& p, Blocks blocks) {
  const int all = tiles(p, c);
  c.launch(p, all, blocks == Blocks::THAT_STAY ? ceil_div(all, waves(p, c)) : all);
}
template <class Configuration, class T>
void gemm_of_tiles(const Configuration& c, const Gemm<T, T>& p) {
  if (!done_without_product(p)) launch_as(c, p, Blocks::THAT_STAY);
}

// Of 13's tiles and 13b's, by the cost that both have, and what 13's blocks wait for each tile but
// the last to be stored: about a microsecond (H200), which 13b hides.
template <class T>
void launch_chosen(const Gemm<T, T>& p, Blocks blocks) {
  constexpr double STORE = 1000;
  const auto& together = first_done(TOGETHER<T>, p);
  const auto& in_turn = first_done(IN_TURN<T>, p);
  const double steps = ceil_div(p.K, fit_the_waves::BK), stores = waves(p, together) - 1;
  if (cost(p, in_turn) * steps < cost(p, together) * steps + STORE * stores)
    launch_as(in_turn, p, blocks);
  else
    launch_as(together, p, blocks);
}

// How much of it is done within the kernel that multiplies. What is left takes another kernel, and
// C is what goes from one to the other, rounded.
enum class Within { NOTHING, BIAS };

template <Within WITHIN, class T>
void gemm_and_epilogue(const Gemm<T, T>& p) {
  if (done_without_product(p)) return;
  if (p.epilogue.beta != 0 && p.epilogue.addend == p.C)
    throw std::invalid_argument("the addend is C, which the product would overwrite");
  Gemm<T, T> first = p, then = p;
  first.epilogue = {};
  if (WITHIN == Within::BIAS) {
    std::swap(first.epilogue.alpha, then.epilogue.alpha);
    std::swap(first.epilogue.row_scale, then.epilogue.row_scale);
    std::swap(first.epilogue.column_scale, then.epilogue.column_scale);
    std::swap(first.epilogue.bias, then.epilogue.bias);
  }
  launch_chosen(first, Blocks::THAT_STAY);
  if (!is_product_alone(then.epilogue)) launch_epilogue<T>(then, p.C);
}

template <class T>
void gemm_one_block_a_tile(const Gemm<T, T>& p) {
  if (!done_without_product(p)) launch_chosen(p, Blocks::ONE_A_TILE);
}
template <class T>
void gemm_in_turn(const Gemm<T, T>& p) {
  if (!done_without_product(p)) launch_as(first_done(IN_TURN<T>, p), p, Blocks::THAT_STAY);
}
template <class T>
void gemm(const Gemm<T, T>& p) {
  if (!done_without_product(p)) launch_chosen(p, Blocks::THAT_STAY);
}

}  // namespace ladder::fused_epilogue
