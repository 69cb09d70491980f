#pragma once
// What a launcher does with the configurations that its stage is compiled for. Of a problem p and a
// configuration c the stage says cost(p, c), tiles(p, c) and waves(p, c).
#include "../launch.cuh"

#ifndef __CUDACC_RTC__
  #include "clusters_held.h"

namespace ladder {

// The one with the least cost of those that are allowed, of which there is one.
template <class Configurations, class Problem, class Allowed>
const auto& first_done(const Configurations& all, const Problem& p, const Allowed& is_allowed) {
  decltype(&all[0]) first = nullptr;
  for (const auto& c : all)
    if (is_allowed(c) && (!first || cost(p, c) < cost(p, *first))) first = &c;
  return *first;
}
template <class Configurations, class Problem>
const auto& first_done(const Configurations& all, const Problem& p) {
  return first_done(all, p, [](const auto&) { return true; });
}

// Clusters of so many blocks that run at the same time, with one block on a multiprocessor.
inline int clusters_at_once(int blocks) {
  return clusters_held(blocks, device_attribute(cudaDevAttrMultiProcessorCount));
}

// No more blocks, or clusters, than it takes to be done in as many waves.
template <class Configuration, class Problem>
void launch_in_waves(const Configuration& c, const Problem& p) {
  const int all = tiles(p, c);
  c.launch(p, all, ceil_div(all, waves(p, c)));
}

}  // namespace ladder
#endif  // __CUDACC_RTC__
