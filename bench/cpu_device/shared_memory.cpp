#include "shared_memory.h"

namespace cpu_device {
namespace {
constexpr unsigned CELL_BYTES = 2, WARP_SIZE = 32;
}

void SharedMemory::cover(uintptr_t begin, size_t bytes) {
  begin_ = begin;
  bytes_ = bytes;
  cells_.assign(bytes / CELL_BYTES + 1, Cell{});
}

void SharedMemory::forget() {
  ++generation_;
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
    if (const char* found = visit(cell)) problem = found;
  }
  return problem;
}

const char* SharedMemory::load(uintptr_t address, unsigned bytes, const Moment& now) {
  return for_each_cell(address, bytes, [&](Cell& cell) -> const char* {
    const uint32_t stage = now.arrived + now.waited;
    if (cell.settled == stage) return nullptr;
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
    if (cell.read_by_several && !no_barrier_between(cell.write, now)) cell.settled = stage;
    return nullptr;
  });
}

const char* SharedMemory::write(Cell& cell, const Moment& now) {
  const char* problem = nullptr;
  if (cell.written && unordered(cell.write, now))
    problem = "race: writes what another thread has written since the last barrier";
  if (cell.read && (unordered(cell.last_read, now) ||
                    (cell.read_by_several && no_barrier_between(cell.last_read, now))))
    problem = "race: writes what another thread has read since the last barrier";
  cell.written = true;
  cell.write = now;
  cell.settled = 0;
  return problem;
}

const char* SharedMemory::store(uintptr_t address, unsigned bytes, const Moment& now) {
  return for_each_cell(address, bytes, [&](Cell& cell) { return write(cell, now); });
}

const char* SharedMemory::begin_copy(uintptr_t address, unsigned bytes, const Moment& now) {
  return for_each_cell(address, bytes, [&](Cell& cell) {
    const char* problem = write(cell, now);
    cell.in_flight = true;
    return problem;
  });
}

void SharedMemory::end_copy(uintptr_t address, unsigned bytes, const Moment& now) {
  for_each_cell(address, bytes, [&](Cell& cell) -> const char* {
    cell.in_flight = false;
    cell.write = now;  // other threads see it after a barrier that follows the wait
    return nullptr;
  });
}

}  // namespace cpu_device
