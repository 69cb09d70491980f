// The library's own kernels: those for an A or a B by columns, and tiles that no stage has.
#include "14_few_rows.cuh"
#include "library/launch.h"
#include "library/plan.h"
#include "library/tiles.cuh"
#include "tunables.h"

namespace ladder::tune {
namespace {

using tuned::Candidate;
using tuned::Kernel;

// With so many blocks on a multiprocessor, of the number I of LINEAR_TILES.
template <size_t I>
int buffers(int blocks) {
  constexpr library::LinearTile TILE = library::LINEAR_TILES[I];
  return few_rows::buffers_of<few_rows::Shared<half, TILE.BM, TILE.BN, TILE.split>>(blocks);
}
template <size_t... I>
std::vector<Candidate> linear_candidates(std::index_sequence<I...>) {
  constexpr int (*BUFFERS[])(int blocks) = {buffers<I>...};
  std::vector<Candidate> all;
  for (size_t i = 0; i < std::size(library::LINEAR_TILES); ++i)
    for (const int resident : few_rows::BLOCKS) {
      const library::LinearTile& tile = library::LINEAR_TILES[i];
      // Copies are well ahead of multiplications, as in 15, or the block is alone.
      const bool is_alone = resident == 1 && BUFFERS[i](1) >= 3;
      if (is_alone || (BUFFERS[i](resident) >= 4 && (tile.split == 1 || tile.BM <= 32)))
        all.push_back({Kernel::FEW_ROWS, tile.BM, tile.BN, 1, 1, tile.split, resident});
    }
  return all;
}

}  // namespace

std::vector<Tunable> tunables_of_library() {
  std::vector<Tunable> all;
  for (const Candidate& c : library::TILES)
    all.push_back(
        {c, [c](const Gemm<half, half>& p) { library::launch_b_by_columns(c, p); }, Layout::NT});
  for (const Candidate& c : library::A_BY_COLUMNS)
    all.push_back(
        {c, [c](const Gemm<half, half>& p) { library::launch_a_by_columns(c, p); }, Layout::TN});
  for (const Candidate& c : tuned::MORE_HEIGHTS)
    all.push_back({c, [c](const Gemm<half, half>& p) { library::launch_product(c, p); }});
  for (const Candidate& c :
       linear_candidates(std::make_index_sequence<std::size(library::LINEAR_TILES)>())) {
    const auto gemm = [c](const Gemm<half, half>& p) { library::launch_linear(c, p); };
    all.push_back({c, gemm, Layout::NT});
    if (tuned::is_large(c)) all.push_back({c, gemm});
  }
  return all;
}

}  // namespace ladder::tune
