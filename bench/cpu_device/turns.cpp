#include "turns.h"

#include <algorithm>

namespace cpu_device {

void Turns::enter_block(uintptr_t pc) {
  const auto before = std::find(path_.rbegin(), path_.rend(), pc);
  if (before == path_.rend()) return path_.push_back(pc);
  const auto begin = static_cast<size_t>(path_.rend() - before) - 1;
  while (!loops_.empty() && begins_.back() > begin) {
    loops_.pop_back();
    begins_.pop_back();
    hashes_.pop_back();
  }
  if (loops_.empty() || begins_.back() < begin) {
    loops_.push_back({pc, 0});
    begins_.push_back(begin);
    hashes_.push_back(0);
  }
  const uint64_t turn = ++loops_.back().turn, around = hashes_.size() > 1 ? hashes_.end()[-2] : 0;
  hashes_.back() = ((around * 31 + pc) * 31 + turn) * 0x9e3779b97f4a7c15u;
  path_.resize(begin + 1);
}

bool together(const std::vector<Loop>& one, const std::vector<Loop>& other) {
  return std::none_of(one.begin(), one.end(), [&](const Loop& a) {
    return std::any_of(other.begin(), other.end(),
                       [&](const Loop& b) { return a.block == b.block && a.turn != b.turn; });
  });
}

}  // namespace cpu_device
