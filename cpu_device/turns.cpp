#include "turns.h"

#include <algorithm>

namespace cpu_device {

void Turns::enter_block(uintptr_t pc) {
  auto& [path, loops] = way_;
  const auto before = std::find(path.rbegin(), path.rend(), pc);
  if (before == path.rend()) return path.push_back(pc);
  const auto begin = static_cast<size_t>(path.rend() - before) - 1;
  while (!loops.empty() && begins_.back() > begin) {
    loops.pop_back();
    begins_.pop_back();
    hashes_.pop_back();
  }
  if (loops.empty() || begins_.back() < begin) {
    loops.push_back({pc, 0});
    begins_.push_back(begin);
    hashes_.push_back(0);
  }
  const uint64_t turn = ++loops.back().turn, around = hashes_.size() > 1 ? hashes_.end()[-2] : 0;
  hashes_.back() = ((around * 31 + pc) * 31 + turn) * 0x9e3779b97f4a7c15u;
  path.resize(begin + 1);
}

void Turns::add_repeated(const Way& then, std::vector<uintptr_t>& blocks) const {
  const std::vector<Loop>&before = then.loops, &now = way_.loops;
  const auto [old_turn, new_turn] = std::mismatch(
      before.begin(), before.end(), now.begin(), now.end(),
      [](const Loop& a, const Loop& b) { return a.block == b.block && a.turn == b.turn; });
  auto first = then.path.end();
  if (old_turn != before.end()) first = std::find(then.path.begin(), first, old_turn->block);
  if (new_turn != now.end()) first = std::find(then.path.begin(), first, new_turn->block);
  blocks.insert(blocks.end(), first, then.path.end());
}

bool together(const Way& one, const Way& other, const std::vector<uintptr_t>& repeated) {
  const auto differs = [&](const Way& a, const Way& b) {
    return std::any_of(a.loops.begin(), a.loops.end(), [&](const Loop& loop) {
      if (std::find(repeated.begin(), repeated.end(), loop.block) == repeated.end()) return false;
      const auto same = std::find_if(b.loops.begin(), b.loops.end(),
                                     [&](const Loop& l) { return l.block == loop.block; });
      if (same != b.loops.end()) return same->turn != loop.turn;
      return std::find(b.path.begin(), b.path.end(), loop.block) != b.path.end();  // in its first
    });
  };
  return !differs(one, other) && !differs(other, one);
}

}  // namespace cpu_device
