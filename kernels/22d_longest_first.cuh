#pragma once
// 22d longest first: attention, O = softmax(scale * Q * K^T) * V for each head, bf16 in and out.
// Idea    a causal block has as many pieces of keys as its place in the sequence. Blocks start in
//         the order of their numbers, a new one whenever one ends. So the longest get the first
//         numbers, and the last wave is made of the shortest. Heads come in groups whose keys and
//         values fit the L2 cache together, one group after the other.
// vs 22c  the order of the tiles alone.
// Limit   one query has one tile: where there are few queries and many keys, most multiprocessors
//         have nothing to do. Next: 22e.
#include <algorithm>
#include <cmath>

#include "22c_roles.cuh"
#include "attention.cuh"
#include "launch.cuh"

namespace ladder::longest_first {

using attention_roles::Place;

// Groups of `group` heads, the last one perhaps of fewer. Within a group the last tile of each head
// comes first: its queries see the most keys.
struct LongestFirst {
  int group;

  __device__ __forceinline__ Place operator()(int block, int tiles, int heads) const {
    const int first = block / (group * tiles) * group;  // head of this block's group
    const int count = min(group, heads - first);
    const int within = block - first * tiles;
    return {first + within % count, tiles - 1 - within / count};
  }
};

// How many heads of queries are a group: about as many as have keys and values that take half of
// the L2 cache, at least one, and so that all groups are as large, or a small last one would end
// with long tiles on few multiprocessors. The heads that share keys are in one group.
inline int heads_in_group(const Attention& p) {
  const double bytes = 2.0 * p.keys * p.width * sizeof(bf16);
  const double fit = device_attribute(cudaDevAttrL2CacheSize) / 2 / bytes;
  const double kv_heads = static_cast<double>(p.batch) * p.kv_heads;
  const double groups = std::max(1.0, std::floor(kv_heads / std::max(1.0, fit)));
  return static_cast<int>(std::ceil(kv_heads / groups)) * (p.heads / p.kv_heads);
}

// All heads are one group.
inline void attention_in_one_group(const Attention& p) {
  if (!done_without_kernel(p)) attention_roles::attention_in(LongestFirst{p.heads_in_all()}, p);
}
inline void attention(const Attention& p) {
  if (!done_without_kernel(p)) attention_roles::attention_in(LongestFirst{heads_in_group(p)}, p);
}

}  // namespace ladder::longest_first
