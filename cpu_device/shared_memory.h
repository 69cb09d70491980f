#pragma once
// Who touched which byte of a block's shared memory, and when: finds accesses that nothing orders,
// of threads and of what copies and multiplies beside them, and reads of what was never written.
#include <cstdint>
#include <deque>
#include <vector>

#include "knowledge.h"
#include "place.h"

namespace cpu_device {

// Kinds of agents: threads, and what works for them asynchronously.
enum class Kind : uint8_t { THREAD, TMA_LOAD, TMA_STORE, WGMMA, ASYNC_STORE };

// Where an access is in the source, in one word.
using SiteId = const void*;
SiteId site_id(const Place& place);
Place place_of(SiteId site);

// An access as it is remembered.
struct Touch {
  uint32_t clock = 0;  // 0: none
  uint16_t agent = 0;
  Kind kind = Kind::THREAD;
  SiteId site = nullptr;
};

// Who touches memory: as which agent it will be remembered, and what it knows of the others.
struct Viewer {
  Touch as;
  Agent self;  // the thread that does it, or ordered it
  const Knowledge* knowledge;
  uint32_t stage;  // barriers of the block completed so far, from 1
  // The block's threads have no other barriers: more than a few readers are remembered by the stage
  // alone.
  bool stages_only;
};

// What is wrong with an access, and the one it conflicts with.
struct Conflict {
  const char* what = nullptr;  // null: nothing
  SiteId other = nullptr;
};

class SharedMemory {
 public:
  // The region [begin, begin + bytes) of this OS thread.
  void cover(uintptr_t begin, size_t bytes);
  bool contains(uintptr_t address) const { return address - begin_ < bytes_; }
  // The block has ended: for the next one nothing has been written yet.
  void forget(uint32_t stages);

  // Whether a load can find nothing new, because many threads of this stage of the block have read
  // the same: true of most loads, and quick to tell.
  bool is_settled(uintptr_t address, unsigned bytes, uint32_t stage) const {
    if (address % CELL_BYTES != 0) return false;
    const uint32_t* settled = &settled_[(address - begin_) / CELL_BYTES];
    uint32_t differences = 0;
    for (unsigned i = 0; i * CELL_BYTES < bytes; ++i)
      differences |= settled[i] ^ (generation_ + stage);
    return differences == 0;
  }

  // Addresses need not be aligned.
  Conflict load(uintptr_t address, unsigned bytes, const Viewer& viewer);
  Conflict store(uintptr_t address, unsigned bytes, const Viewer& viewer);
  // cp.async: from the copy to the wait the bytes belong to nobody.
  Conflict begin_copy(uintptr_t address, unsigned bytes, const Viewer& viewer);
  void end_copy(uintptr_t address, unsigned bytes, const Viewer& viewer);

 private:
  static constexpr unsigned CELL_BYTES = 2;  // the narrowest number that kernels use
  static constexpr unsigned READERS = 2;     // that a cell has room for
  static constexpr size_t FEW = 8;  // more readers than that are known by their stage alone
  struct Cell {
    uint32_t generation = 0;
    uint32_t more = 0;       // other readers: 1 + where they are in `more_`
    uint32_t many_read = 0;  // the stage in which many threads read, or 0
    bool in_flight = false;
    Touch write;
    Touch read[READERS];
  };
  // Those that a cell has no room for.
  struct Readers {
    std::vector<Touch> all;
    uint32_t lanes = 0;  // the warp's that they all belong to; 0: they are of several
    void clear() {
      all.clear();
      lanes = 0;
    }
  };
  static bool ordered(const Touch& before, const Viewer& viewer) {
    return before.agent == viewer.self || viewer.knowledge->covers({before.agent, before.clock});
  }
  void remember_read(uintptr_t i, const Viewer& viewer);
  Conflict write(uintptr_t i, const Viewer& viewer);
  template <class Visit>
  Conflict for_each_cell(uintptr_t address, unsigned bytes, Visit visit);

  uintptr_t begin_ = 0;
  size_t bytes_ = 0;
  uint32_t generation_ = 1;  // no two blocks have a stage in common
  std::vector<Cell> cells_;
  std::vector<uint32_t> settled_;  // the stage at which more reads cannot find anything new
  std::deque<Readers> more_;
  size_t more_used_ = 0;
};

}  // namespace cpu_device
