#pragma once
// Which candidate of a GPU's table is done first, by the model, and why: the choice of 15 and of
// the library. Plain C++.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gpus.h"
#include "model.h"

namespace ladder::tuned {

// The table of a GPU by its name; where nobody has measured its constants, the first.
inline const Gpu& table_of(const std::string& name) {
  for (const Gpu* gpu : GPUS)
    if (name == gpu->name) return *gpu;
  return *GPUS[0];
}
// "", or a line: that the constants are not the GPU's own.
inline std::string remark(const std::string& name) {
  const Gpu& table = table_of(name);
  if (name == table.name) return "";
  return "no constants for " + name + ": those of " + table.name +
         " are taken; ./ladder tune measures its own";
}

// What the library has and no stage. More heights of 13: without the first four products as users
// have them take 1.6% longer in geometric mean (224 shapes, H100); the others are for numbers of
// rows that fit none of these (327x5120x32768: 165 us with 120 rows, 238 with 128). And of 13b with
// 192 columns, of which a third of the usual weights have a multiple.
inline constexpr Candidate MORE_HEIGHTS[] = {
    {Kernel::FIT_THE_WAVES, 88, 128, 1, 1, 1, 1},  {Kernel::FIT_THE_WAVES, 112, 128, 1, 1, 1, 1},
    {Kernel::FIT_THE_WAVES, 88, 256, 1, 1, 1, 1},  {Kernel::FIT_THE_WAVES, 136, 256, 1, 1, 1, 1},
    {Kernel::FIT_THE_WAVES, 80, 128, 1, 1, 1, 1},  {Kernel::FIT_THE_WAVES, 120, 128, 1, 1, 1, 1},
    {Kernel::FIT_THE_WAVES, 232, 128, 1, 1, 1, 1}, {Kernel::FIT_THE_WAVES, 120, 256, 1, 1, 1, 1},
    {Kernel::PING_PONG, 64, 192, 1, 1, 1, 1},      {Kernel::PING_PONG, 72, 192, 1, 1, 1, 1},
    {Kernel::PING_PONG, 80, 192, 1, 1, 1, 1},      {Kernel::PING_PONG, 88, 192, 1, 1, 1, 1},
    {Kernel::PING_PONG, 96, 192, 1, 1, 1, 1},      {Kernel::PING_PONG, 104, 192, 1, 1, 1, 1},
    {Kernel::PING_PONG, 112, 192, 1, 1, 1, 1},     {Kernel::PING_PONG, 120, 192, 1, 1, 1, 1}};
// And tiles of 14 whose K a cluster divides, and which the stage has not: large ones, where
// products are what takes the time, and one for the first rows beyond 64.
constexpr bool is_large(const Candidate& c) {
  return c.split > 1 && c.BM > 64 && (c.BN > 64 || c.BM == 72);
}
constexpr bool is_of_library(const Candidate& c) {
  for (const Candidate& more : MORE_HEIGHTS)
    if (more == c) return true;
  return is_large(c);
}

// A row of a table, and what the model says of it.
struct Choice {
  const Row* row = nullptr;
  Estimate estimate{};
};

struct AsMeasured {
  const Constants& operator()(const Row& row) const { return row.constants; }
};
// The row that is done first, of those with an allowed candidate. A variant of 15 has constants of
// its own.
template <class In, class Out, class Allowed, class ConstantsOf = AsMeasured>
Choice first_done(const Gemm<In, Out>& p, const Gpu& table, int multiprocessors,
                  const Allowed& is_allowed, const ConstantsOf& constants_of = {}) {
  Choice first;
  first.estimate.total = std::numeric_limits<double>::infinity();
  for (const Row& row : rows_of(table, p)) {
    if (!is_allowed(row.candidate)) continue;
    const Estimate e = estimate(p, row.candidate, constants_of(row), multiprocessors);
    if (e.less_than(first.estimate)) first = {&row, e};
  }
  return first;
}

// All of them, and those first that are done first.
template <class In, class Out, class Allowed>
std::vector<Choice> in_order(const Gemm<In, Out>& p, const Gpu& table, int multiprocessors,
                             const Allowed& is_allowed) {
  std::vector<Choice> all;
  for (const Row& row : rows_of(table, p))
    if (is_allowed(row.candidate))
      all.push_back({&row, estimate(p, row.candidate, row.constants, multiprocessors)});
  std::stable_sort(all.begin(), all.end(), [](const Choice& a, const Choice& b) {
    return a.estimate.less_than(b.estimate);
  });
  return all;
}

// Of these the first ones, in a line each.
inline std::string describe(const std::vector<Choice>& all, size_t lines,
                            const std::string& before = "") {
  std::string text;
  for (size_t i = 0; i < std::min(lines, all.size()); ++i)
    text += before + describe(all[i].row->candidate, all[i].row->constants, all[i].estimate) + "\n";
  return text;
}

}  // namespace ladder::tuned
