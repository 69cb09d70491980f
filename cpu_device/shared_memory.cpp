#include "shared_memory.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace cpu_device {
namespace {

constexpr unsigned WARP_SIZE = 32;

struct Less {
  bool operator()(const Place& a, const Place& b) const {
    if (a.line != b.line) return a.line < b.line;
    return std::strcmp(a.file, b.file) < 0;
  }
};
constexpr uintptr_t BY_LINE = ~(UINTPTR_MAX >> 1);  // a bit that no address has

const char* conflict_of_read(Kind reader, const Touch& write) {
  if (write.kind == Kind::TMA_LOAD)
    return reader == Kind::THREAD ? "race: reads what TMA may still be bringing: no wait for that "
                                    "phase of its mbarrier"
                                  : "race: wgmma or TMA reads what TMA may still be bringing: no "
                                    "wait for that phase of "
                                    "its mbarrier";
  if (write.kind == Kind::ASYNC_STORE)
    return "race: reads what an st.async may still be bringing: no wait for that phase of its "
           "mbarrier";
  return reader == Kind::THREAD
             ? "race: reads what another thread has written since the last barrier"
             : "race: wgmma or TMA reads what another thread has written since the last barrier";
}

const char* conflict_of_write(Kind writer, const Touch& read) {
  const bool tma = writer == Kind::TMA_LOAD;
  switch (read.kind) {
    case Kind::WGMMA:
      return tma ? "race: TMA overwrites what wgmma may still be reading"
                 : "race: writes what wgmma may still be reading";
    case Kind::TMA_STORE:
      return tma ? "race: TMA overwrites what a TMA store may still be reading"
                 : "race: writes what a TMA store may still be reading";
    default:
      return tma ? "race: TMA overwrites what a thread has read, and nothing orders the two"
                 : "race: writes what another thread has read since the last barrier";
  }
}

const char* conflict_of_writes(Kind writer, const Touch& write) {
  if (write.kind == Kind::TMA_LOAD) return "race: writes where TMA may still be bringing a tile";
  if (write.kind == Kind::ASYNC_STORE)
    return "race: writes where an st.async may still be bringing something";
  return writer == Kind::TMA_LOAD
             ? "race: TMA overwrites what a thread has written, with no barrier between"
             : "race: writes what another thread has written since the last barrier";
}

}  // namespace

SiteId site_id(const Place& place) {
  if (place.file == nullptr) return place.pc;
  static thread_local std::set<Place, Less> places;
  return reinterpret_cast<SiteId>(reinterpret_cast<uintptr_t>(&*places.insert(place).first) |
                                  BY_LINE);
}

Place place_of(SiteId site) {
  const auto bits = reinterpret_cast<uintptr_t>(site);
  if ((bits & BY_LINE) == 0) return {nullptr, 0, site};
  return *reinterpret_cast<const Place*>(bits & ~BY_LINE);
}

void SharedMemory::cover(uintptr_t begin, size_t bytes) {
  if (begin == begin_ && bytes <= bytes_) return;
  begin_ = begin;
  bytes_ = bytes;
  cells_.assign(bytes / CELL_BYTES + 16, Cell{});  // accesses end up to 16 bytes past a region
  settled_.assign(cells_.size(), 0);
}

void SharedMemory::forget(uint32_t stages) {
  more_used_ = 0;
  const uint32_t next = generation_ + stages + 2;
  if (next > UINT32_MAX / 2) {
    cells_.assign(cells_.size(), Cell{});
    settled_.assign(cells_.size(), 0);
    generation_ = 1;
    return;
  }
  generation_ = next;
}

template <class Visit>
Conflict SharedMemory::for_each_cell(uintptr_t address, unsigned bytes, Visit visit) {
  Conflict conflict;
  const uintptr_t last = (address + bytes - 1 - begin_) / CELL_BYTES;
  for (uintptr_t i = (address - begin_) / CELL_BYTES; i <= last; ++i) {
    Cell& cell = cells_[i];
    if (cell.generation != generation_) {
      cell = Cell{};
      cell.generation = generation_;
    }
    if (const Conflict found = visit(i); found.what != nullptr) conflict = found;
  }
  return conflict;
}

void SharedMemory::remember_read(uintptr_t i, const Viewer& viewer) {
  Cell& cell = cells_[i];
  if (viewer.stages_only && cell.many_read == viewer.stage) return;
  // Of one agent the last is enough, and what happens before this one is not needed any more.
  for (Touch& read : cell.read)
    if (read.clock == 0 || read.agent == viewer.as.agent || ordered(read, viewer)) {
      read = viewer.as;
      return;
    }
  if (cell.more == 0) {
    if (more_used_ == more_.size()) more_.emplace_back();
    more_[more_used_].clear();
    cell.more = static_cast<uint32_t>(++more_used_);
  }
  Readers& more = more_[cell.more - 1];
  const auto is_over = [&](const Touch& read) {
    return viewer.knowledge->covers({read.agent, read.clock});
  };
  if (!more.all.empty() && is_over(more.all.back())) {
    more.all.erase(std::remove_if(more.all.begin(), more.all.end(), is_over), more.all.end());
    if (more.all.empty()) more.clear();
  }
  const uint32_t lane = 1u << viewer.as.agent % WARP_SIZE;
  const bool one_warp = more.all.empty() || (more.lanes != 0 && more.all[0].agent / WARP_SIZE ==
                                                                    viewer.as.agent / WARP_SIZE);
  if (viewer.stages_only && more.all.size() >= FEW && !one_warp) {
    cell.many_read = viewer.stage;
    return;
  }
  if (!one_warp || (more.lanes & lane) != 0)
    for (Touch& read : more.all)
      if (read.agent == viewer.as.agent) {
        read = viewer.as;
        return;
      }
  more.all.push_back(viewer.as);
  more.lanes = one_warp ? more.lanes | lane : 0;
}

Conflict SharedMemory::load(uintptr_t address, unsigned bytes, const Viewer& viewer) {
  const Kind kind = viewer.as.kind;
  return for_each_cell(address, bytes, [&](uintptr_t i) -> Conflict {
    Cell& cell = cells_[i];
    const Touch& write = cell.write;
    remember_read(i, viewer);
    if (cell.in_flight)
      return {"reads shared memory that a cp.async has not delivered yet", write.site};
    if (write.clock == 0) return {"reads shared memory that this block has not written", nullptr};
    if (!ordered(write, viewer)) return {conflict_of_read(kind, write), write.site};
    if (kind != Kind::THREAD && write.kind == Kind::THREAD &&
        !viewer.knowledge->covers_for_async({write.agent, write.clock}))
      return {"wgmma or TMA reads what a thread has written, without fence.proxy.async between",
              write.site};
    if (viewer.stages_only && cell.many_read == viewer.stage &&
        viewer.knowledge->covers({write.agent, write.clock}))
      settled_[i] = generation_ + viewer.stage;
    return {};
  });
}

Conflict SharedMemory::write(uintptr_t i, const Viewer& viewer) {
  Cell& cell = cells_[i];
  const Kind kind = viewer.as.kind;
  Conflict conflict;
  if (cell.write.clock != 0 && !ordered(cell.write, viewer))
    conflict = {conflict_of_writes(kind, cell.write), cell.write.site};
  const auto check = [&](const Touch& read) {
    if (read.clock != 0 && !ordered(read, viewer))
      conflict = {conflict_of_write(kind, read), read.site};
  };
  for (const Touch& read : cell.read) check(read);
  if (cell.more != 0)
    for (const Touch& read : more_[cell.more - 1].all) check(read);
  if (cell.many_read == viewer.stage && conflict.what == nullptr)
    conflict = {conflict_of_write(kind, {}), cell.read[0].site};
  cell.write = viewer.as;
  for (Touch& read : cell.read) read = {};
  if (cell.more != 0) more_[cell.more - 1].clear();
  cell.many_read = 0;
  settled_[i] = 0;
  return conflict;
}

Conflict SharedMemory::store(uintptr_t address, unsigned bytes, const Viewer& viewer) {
  return for_each_cell(address, bytes, [&](uintptr_t i) { return write(i, viewer); });
}

Conflict SharedMemory::begin_copy(uintptr_t address, unsigned bytes, const Viewer& viewer) {
  return for_each_cell(address, bytes, [&](uintptr_t i) {
    const Conflict conflict = write(i, viewer);
    cells_[i].in_flight = true;
    return conflict;
  });
}

void SharedMemory::end_copy(uintptr_t address, unsigned bytes, const Viewer& viewer) {
  for_each_cell(address, bytes, [&](uintptr_t i) -> Conflict {
    Cell& cell = cells_[i];
    cell.in_flight = false;
    cell.write = viewer.as;  // other threads see it after a barrier that follows the wait
    return {};
  });
}

}  // namespace cpu_device
