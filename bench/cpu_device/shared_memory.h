#pragma once
// Who touched which byte of a block's shared memory, since when: finds races between barriers and
// reads of what was never written.
#include <cstdint>
#include <string>
#include <vector>

namespace cpu_device {

// A moment in the life of a thread: two accesses are ordered when the first thread arrives at a
// barrier of the block after its own and the second waits for that barrier before its own (a
// __syncthreads is both), or, within one warp, when a __syncwarp lies between them.
struct Moment {
  uint32_t arrived, waited;  // barriers of the block
  uint16_t thread, warp_barriers;
};

class SharedMemory {
 public:
  // The region [begin, begin + bytes) of this OS thread.
  void cover(uintptr_t begin, size_t bytes);
  bool contains(uintptr_t address) const { return address - begin_ < bytes_; }
  // The block has ended, after `barriers`: for the next one nothing has been written yet.
  void forget(uint32_t barriers);

  // Whether a load can find nothing new, because several threads of this stage of the block have
  // read the same: true of most loads, and quick to tell.
  template <unsigned BYTES>
  bool is_settled(uintptr_t address, uint32_t arrived, uint32_t waited) const {
    if (address % CELL_BYTES != 0) return false;
    const uint32_t* settled = &settled_[(address - begin_) / CELL_BYTES];
    const uint32_t stage = generation_ + arrived + waited;
    uint32_t differences = 0;
    for (unsigned i = 0; i * CELL_BYTES < BYTES; ++i) differences |= settled[i] ^ stage;
    return differences == 0;
  }

  // What is wrong with the access, or null. Addresses need not be aligned.
  const char* load(uintptr_t address, unsigned bytes, const Moment& now);
  const char* store(uintptr_t address, unsigned bytes, const Moment& now);
  // cp.async: from the copy to the wait the bytes belong to nobody.
  const char* begin_copy(uintptr_t address, unsigned bytes, const Moment& now);
  void end_copy(uintptr_t address, unsigned bytes, const Moment& now);

 private:
  static constexpr unsigned CELL_BYTES = 2;  // the narrowest number that kernels use
  struct Cell {
    uint32_t generation = 0;
    bool written = false, in_flight = false, read = false, read_by_several = false;
    Moment write, last_read;
  };
  // Arrivals and waits alternate: their sum tells the stages of a block apart.
  uint32_t stage(const Moment& now) const { return generation_ + now.arrived + now.waited; }
  static bool no_barrier_between(const Moment& before, const Moment& now);
  static bool unordered(const Moment& before, const Moment& now);
  const char* write(uintptr_t i, const Moment& now);
  template <class Visit>
  const char* for_each_cell(uintptr_t address, unsigned bytes, Visit visit);

  uintptr_t begin_ = 0;
  size_t bytes_ = 0;
  uint32_t generation_ = 1;  // no two blocks have a stage in common
  std::vector<Cell> cells_;
  std::vector<uint32_t> settled_;  // the stage at which more reads cannot find anything new
};

}  // namespace cpu_device
