#include "registers.h"

#include <algorithm>

#include "block.h"

namespace cpu_device {

void Registers::begin() {
  constexpr unsigned ALL = 64 * 1024, MOST = 255, STEP = 8;
  const unsigned count = block_.thread_count();
  groups_.assign(count / WARPGROUP, {});
  for (Warpgroup& group : groups_) group.registers = std::min(ALL / count / STEP * STEP, MOST);
  free_ = 0;
}

void Registers::set(unsigned registers, bool more, const Place& place) {
  Thread& thread = block_.current();
  if (thread.number / WARPGROUP >= groups_.size())
    return report_finding(place, "setmaxnreg by a warpgroup that is not whole");
  if (registers % 8 != 0 || registers < 24 || registers > 256)
    return report_finding(place, "setmaxnreg takes a multiple of 8 from 24 to 256",
                          std::to_string(registers));
  Warpgroup& group = groups_[thread.number / WARPGROUP];
  if (!group.arrived.empty() && group.wanted != registers)
    report_finding(place, "warps of one warpgroup ask setmaxnreg for different numbers",
                   std::to_string(registers) + " and " + std::to_string(group.wanted));
  group.wanted = registers;
  group.arrived.push_back(&thread);
  if (group.arrived.size() < WARPGROUP)
    return block_.team().wait(place, "for the rest of their warpgroup to come to a setmaxnreg");
  if (more ? registers < group.registers : registers > group.registers)
    report_finding(place,
                   more ? "setmaxnreg.inc to fewer registers than there are"
                        : "setmaxnreg.dec to more registers than there are",
                   std::to_string(group.registers) + " to " + std::to_string(registers));
  group.waits = true;
  settle();
  if (!group.waits) return;
  const char* const reason =
      "for registers that no warpgroup frees: together they ask for too many";
  for (Thread* other : group.arrived) other->for_what = reason;
  block_.team().wait(place, reason);
}

void Registers::settle() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Warpgroup& group : groups_) {
      if (!group.waits || group.wanted > group.registers + free_) continue;
      free_ = free_ + group.registers - group.wanted;
      group.registers = group.wanted;
      group.waits = false;
      for (Thread* thread : group.arrived) block_.team().wake(*thread);
      group.arrived.clear();
      changed = true;
    }
  }
}

}  // namespace cpu_device
