#pragma once
// 16 fused_epilogue: C = activation(alpha * A * B + beta * addend + bias) + residual, row-major,
// fp16 or bf16, fp32 accumulate.
// Idea    what follows a product is done to the sums before they are rounded and stored: it costs
//         instructions, and no byte of C is written, read and written again.
// vs 13   13's kernel with a function object for its sums, parts/epilogue.cuh; without pairs. The
//         kernel of its own that would otherwise follow is parts/epilogue_pass.cuh: here for a K of
//         0, and in a variant for all of it or for what is left.
// Limit   nothing is multiplied meanwhile; in turn it would be, with 41% more from L2 at 4096.
#include "13_fit_the_waves.cuh"
#include "13b_ping_pong.cuh"
#include "launch.cuh"
#include "parts/configurations.cuh"
#include "parts/epilogue.cuh"
#include "parts/epilogue_pass.cuh"

namespace ladder::fused_epilogue {

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
  epilogue_pass::launch_epilogue<T>(p, nullptr);
  return true;
}

// No more blocks than it takes to be done in as many waves; or one for each tile, as before 11.
enum class Blocks { THAT_STAY, ONE_A_TILE };

template <class Configuration, class T>
void launch_as(const Configuration& c, const Gemm<T, T>& p, Blocks blocks) {
  if (blocks == Blocks::THAT_STAY) return launch_in_waves(c, p);
  const int all = tiles(p, c);
  c.launch(p, all, all);
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
