#pragma once
// What 13c's launcher chooses among: tiles, and whether those that fill no wave are divided.
#include <algorithm>
#include <array>
#include <utility>

#include "13c_stream_k.cuh"

namespace ladder::stream_k {

// A tile with 13's kernel, `launch`, and with 13c's.
template <class T>
struct Divisible : Configuration<T> {
  void (*launch_divided)(const Gemm<T, T>&);
  uint64_t (*bytes)(const Gemm<T, T>&);  // that it needs to work in
};

template <class T, int BM, int BN, Pairs PAIRS>
uint64_t workspace_bytes_of(const Gemm<T, T>& p) {
  constexpr int CLUSTER = cluster_of(PAIRS);
  const int all = tiles(p, Tiling{BM, BN, PAIRS}), steps = ceil_div(p.K, BK);
  return Parts<BM, BN>::bytes(clusters_of(all, steps, CLUSTER) * CLUSTER);
}
template <class T, int BM, int BN, Pairs PAIRS>
void launch_divided(const Gemm<T, T>& p) {
  launch_and_finish<T, BM, BN, PAIRS>(p, ProductAlone{});
}
template <class T, int BM, int BN, Pairs PAIRS = Pairs::NONE>
constexpr Divisible<T> divisible() {
  return {configuration<T, BM, BN, PAIRS>(), launch_divided<T, BM, BN, PAIRS>,
          workspace_bytes_of<T, BM, BN, PAIRS>};
}
inline constexpr Tiling TILINGS[] = {
    // clang-format off
    {88, 128}, {120, 128}, {176, 128}, {256, 128},
    {120, 256}, {176, 256},

    {120, 128, Pairs::SHARE_B}, {176, 128, Pairs::SHARE_B}, {200, 128, Pairs::SHARE_B},
    {256, 128, Pairs::SHARE_B}};
// clang-format on
template <class T, size_t... I>
constexpr std::array<Divisible<T>, sizeof...(I)> divisible(std::index_sequence<I...>) {
  return {divisible<T, TILINGS[I].BM, TILINGS[I].BN, TILINGS[I].pairs>()...};
}
template <class T>
inline constexpr auto CONFIGURATIONS = divisible<T>(std::make_index_sequence<std::size(TILINGS)>());

// What sums cost, in the unit of 13's cost, about a nanosecond: to leave them and to wait for those
// of others, and each part that is added, for an element (fitted to an H100).
constexpr double SUMS_LEFT = 5000, SUM_ADDED = 0.06;

template <class T>
double cost_divided(const Gemm<T, T>& p, const Tiling& c) {
  const int all = tiles(p, c), steps = ceil_div(p.K, BK);
  const int clusters = clusters_of(all, steps, cluster_of(c.pairs));
  const Division d = divided(all, steps, clusters);
  const double step = fit_the_waves::cost(p, c) / waves(p, c);
  const double steps_of_whole = static_cast<double>(d.whole / clusters) * steps;
  if (d.divided == 0) return step * steps_of_whole;
  const auto in_ranges =
      static_cast<double>(ceil_div(d.begin(clusters, clusters), int64_t{clusters}));
  return step * (steps_of_whole + in_ranges) + SUMS_LEFT +
         SUM_ADDED * c.BM * c.BN * ceil_div(clusters, d.divided);
}

template <class T>
struct Choice {
  const Divisible<T>* tile;
  bool divides;
  double cost;
};

// The one with the least cost, of each tile undivided and, if `may_divide`, divided. Pairs where
// they pay in 13.
template <class T>
Choice<T> chosen(const Gemm<T, T>& p, bool may_divide) {
  Choice<T> best{};
  for (const Divisible<T>& c : CONFIGURATIONS<T>) {
    if ((c.pairs != Pairs::NONE) != pairs_pay(p)) continue;
    const double whole = fit_the_waves::cost(p, c) * ceil_div(p.K, BK);
    const double divided = may_divide ? cost_divided(p, c) : whole;
    const Choice<T> its{&c, divided < whole, std::min(divided, whole)};
    if (!best.tile || its.cost < best.cost) best = its;
  }
  return best;
}

// Divided, whatever it costs.
template <class T>
void gemm_as(const Divisible<T>& c, const Gemm<T, T>& p) {
  if (!done_without_kernel(p)) c.launch_divided(p);
}

// What Gemm::workspace has to have.
template <class T>
uint64_t workspace_bytes(const Gemm<T, T>& p) {
  if (p.M == 0 || p.N == 0 || p.K == 0) return 0;
  const Choice<T> c = chosen(p, true);
  return c.divides ? c.tile->bytes(p) : 0;
}

template <class T>
void gemm_or_whole(const Gemm<T, T>& p, bool may_divide) {
  if (done_without_kernel(p)) return;
  const Choice<T> c = chosen(p, may_divide);
  c.divides ? c.tile->launch_divided(p) : launch_in_waves(*c.tile, p);
}
// The same tiles, none of which is divided.
template <class T>
void gemm_of_whole_tiles(const Gemm<T, T>& p) {
  gemm_or_whole(p, false);
}
template <class T>
void gemm(const Gemm<T, T>& p) {
  gemm_or_whole(p, true);
}

}  // namespace ladder::stream_k
