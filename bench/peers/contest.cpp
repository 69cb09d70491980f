#include "contest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "harness/schedule.h"

namespace ladder::peers {

std::vector<Burst> draw_bursts(const std::vector<double>& ms, int rounds, std::mt19937_64& random) {
  std::vector<size_t> round(ms.size());
  std::iota(round.begin(), round.end(), size_t{0});
  std::vector<Burst> bursts;
  double taken = 0;
  for (int i = 0; i < rounds; ++i) {
    std::shuffle(round.begin(), round.end(), random);
    for (const size_t contender : round) {
      const bool full = bursts.empty() || bursts.back().size() == LONGEST_BURST ||
                        taken + ms[contender] > harness::BURST_MS;
      if (full) {
        bursts.emplace_back();
        taken = 0;
      }
      bursts.back().push_back(contender);
      taken += ms[contender];
    }
  }
  return bursts;
}

int rounds_for(const std::vector<double>& ms, double wanted_ms, int least, int most) {
  const double round = std::max(1e-3, std::accumulate(ms.begin(), ms.end(), 0.0));
  return static_cast<int>(std::clamp<double>(std::ceil(wanted_ms / round), least, most));
}

std::vector<size_t> survivors(const std::vector<Standing>& standings, const Limit& limit) {
  if (standings.empty()) return {};
  std::vector<size_t> fastest_first(standings.size());
  std::iota(fastest_first.begin(), fastest_first.end(), size_t{0});
  std::stable_sort(fastest_first.begin(), fastest_first.end(),
                   [&](size_t i, size_t j) { return standings[i].ms < standings[j].ms; });
  const double slowest = limit.factor * standings[fastest_first.front()].ms;
  std::map<std::string, size_t> place;  // so far in each family
  std::vector<size_t> result;
  for (const size_t i : fastest_first) {
    const Standing& s = standings[i];
    const size_t before = place[s.family]++;
    if (s.stays || before < limit.least || (before < limit.most && s.ms <= slowest))
      result.push_back(i);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace ladder::peers
