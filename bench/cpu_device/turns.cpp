#include "turns.h"

#include <algorithm>

namespace cpu_device {

void Turns::enter_block(uintptr_t pc) {
  const auto before = std::find(path_.rbegin(), path_.rend(), pc);
  if (before == path_.rend()) return path_.push_back(pc);
  const auto begin = static_cast<size_t>(path_.rend() - before) - 1;
  while (!loops_.empty() && loops_.back().begin > begin) loops_.pop_back();
  if (loops_.empty() || loops_.back().begin < begin) loops_.push_back({begin, 0, 0});
  Loop& loop = loops_.back();
  const uint64_t around = loops_.size() > 1 ? loops_.end()[-2].key : 0;
  loop.key = ((around * 31 + pc) * 31 + ++loop.turn) * 0x9e3779b97f4a7c15u;  // any hash
  path_.resize(begin + 1);
}

}  // namespace cpu_device
