#pragma once
// 05e with an epilogue, and what it leaves to 05d and 05c.
#include <array>
#include <iterator>
#include <utility>

#include "../05e_few_rows.cuh"
#include "finish_split_k.cuh"

namespace ladder::library {

template <size_t I>
void finish_few_rows(const Gemm<float, float>& p) {
  using namespace few_rows_fp32;
  constexpr Configuration C = CONFIGURATIONS[I];
  launch_and_finish<Tiling<C.rows, C.BN, C.pipe>>(p, finish_of(p));
}
template <size_t I>
void finish_split_in_cluster(const Gemm<float, float>& p) {
  using namespace split_in_cluster;
  constexpr Configuration C = CONFIGURATIONS[I];
  using Tiles = Tiling<C.BM, C.slices, C.split>;
  with_finish(p,
              [&](const auto& finish) { split_in_cluster::launch_and_finish<Tiles>(p, finish); });
}

// By each of the configurations among which 05e and 05d choose.
using Launch = void (*)(const Gemm<float, float>&);
template <size_t... I>
constexpr auto all_of_few_rows(std::index_sequence<I...>) {
  return std::array<Launch, sizeof...(I)>{finish_few_rows<I>...};
}
template <size_t... I>
constexpr auto all_of_split_in_cluster(std::index_sequence<I...>) {
  return std::array<Launch, sizeof...(I)>{finish_split_in_cluster<I>...};
}
inline constexpr auto FEW_ROWS_AND_FINISH =
    all_of_few_rows(std::make_index_sequence<std::size(few_rows_fp32::CONFIGURATIONS)>());
inline constexpr auto SPLIT_IN_CLUSTER_AND_FINISH = all_of_split_in_cluster(
    std::make_index_sequence<std::size(split_in_cluster::CONFIGURATIONS)>());

// Of rows of A, B and C that begin on 16 bytes. Where 05c divides K, what the epilogue reads must
// not be C, which has parts of sums first.
inline void launch_and_finish(const Gemm<float, float>& p) {
  if (const auto* const c = few_rows_fp32::chosen(p))
    return FEW_ROWS_AND_FINISH[c - few_rows_fp32::CONFIGURATIONS](p);
  if (const auto* const c =
          split_in_cluster::chosen(p, split_in_cluster::LeftOut::NOTHING).configuration)
    return SPLIT_IN_CLUSTER_AND_FINISH[c - split_in_cluster::CONFIGURATIONS](p);
  launch_split_k_and_finish(p);
}

}  // namespace ladder::library
