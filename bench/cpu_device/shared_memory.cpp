#include "shared_memory.h"

namespace cpu_device {
namespace {
constexpr unsigned WARP_SIZE = 32;
}

void SharedMemory::cover(uintptr_t begin, size_t bytes) {
  if (begin == begin_ && bytes == bytes_) return;
  begin_ = begin;
  bytes_ = bytes;
  cells_.assign(bytes / CELL_BYTES + 16, Cell{});  // accesses end up to 16 bytes past a region
  settled_.assign(cells_.size(), 0);
}

void SharedMemory::forget(uint32_t barriers) {
  const uint32_t next = generation_ + 2 * barriers + 2;
  if (next > UINT32_MAX / 2) {
    cells_.assign(cells_.size(), Cell{});
    settled_.assign(cells_.size(), 0);
    generation_ = 1;
    return;
  }
  generation_ = next;
}

bool SharedMemory::no_barrier_between(const Moment& before, const Moment& now) {
  return before.arrived >= now.waited;
}

bool SharedMemory::unordered(const Moment& before, const Moment& now) {
  if (before.thread == now.thread || !no_barrier_between(before, now)) return false;
  const bool same_warp = before.thread / WARP_SIZE == now.thread / WARP_SIZE;
  return !same_warp || before.warp_barriers == now.warp_barriers;
}

template <class Visit>
const char* SharedMemory::for_each_cell(uintptr_t address, unsigned bytes, Visit visit) {
  const char* problem = nullptr;
  const uintptr_t last = (address + bytes - 1 - begin_) / CELL_BYTES;
  for (uintptr_t i = (address - begin_) / CELL_BYTES; i <= last; ++i) {
    Cell& cell = cells_[i];
    if (cell.generation != generation_) {
      cell = Cell{};
      cell.generation = generation_;
    }
    if (const char* found = visit(i)) problem = found;
  }
  return problem;
}

const char* SharedMemory::load(uintptr_t address, unsigned bytes, const Moment& now) {
  return for_each_cell(address, bytes, [&](uintptr_t i) -> const char* {
    if (settled_[i] == stage(now)) return nullptr;
    Cell& cell = cells_[i];
    if (!cell.read || now.arrived >= cell.last_read.arrived) {
      cell.read_by_several = cell.read && now.arrived == cell.last_read.arrived &&
                             (cell.read_by_several || cell.last_read.thread != now.thread);
      cell.read = true;
      cell.last_read = now;
    }
    if (cell.in_flight) return "reads shared memory that a cp.async has not delivered yet";
    if (!cell.written) return "reads shared memory that this block has not written";
    if (unordered(cell.write, now))
      return "race: reads what another thread has written since the last barrier";
    if (cell.read_by_several && !no_barrier_between(cell.write, now)) settled_[i] = stage(now);
    return nullptr;
  });
}

const char* SharedMemory::write(uintptr_t i, const Moment& now) {
  Cell& cell = cells_[i];
  const char* problem = nullptr;
  if (cell.written && unordered(cell.write, now))
    problem = "race: writes what another thread has written since the last barrier";
  if (cell.read && (unordered(cell.last_read, now) ||
                    (cell.read_by_several && no_barrier_between(cell.last_read, now))))
    problem = "race: writes what another thread has read since the last barrier";
  cell.written = true;
  cell.write = now;
  settled_[i] = 0;
  return problem;
}

const char* SharedMemory::store(uintptr_t address, unsigned bytes, const Moment& now) {
  return for_each_cell(address, bytes, [&](uintptr_t i) { return write(i, now); });
}

const char* SharedMemory::begin_copy(uintptr_t address, unsigned bytes, const Moment& now) {
  return for_each_cell(address, bytes, [&](uintptr_t i) {
    const char* problem = write(i, now);
    cells_[i].in_flight = true;
    return problem;
  });
}

void SharedMemory::end_copy(uintptr_t address, unsigned bytes, const Moment& now) {
  for_each_cell(address, bytes, [&](uintptr_t i) -> const char* {
    Cell& cell = cells_[i];
    cell.in_flight = false;
    cell.write = now;  // other threads see it after a barrier that follows the wait
    return nullptr;
  });
}

}  // namespace cpu_device
