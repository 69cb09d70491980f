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
  void forget();  // a new block: nothing has been written yet

  // What is wrong with the access, or null. Addresses need not be aligned.
  const char* load(uintptr_t address, unsigned bytes, const Moment& now);
  const char* store(uintptr_t address, unsigned bytes, const Moment& now);
  // cp.async: from the copy to the wait the bytes belong to nobody.
  const char* begin_copy(uintptr_t address, unsigned bytes, const Moment& now);
  void end_copy(uintptr_t address, unsigned bytes, const Moment& now);

 private:
  struct Cell {  // two bytes, the narrowest number that kernels use
    uint32_t generation = 0;
    uint32_t settled = 0;  // at this stage of the block more reads cannot find anything new
    bool written = false, in_flight = false, read = false, read_by_several = false;
    Moment write, last_read;
  };
  static bool no_barrier_between(const Moment& before, const Moment& now);
  static bool unordered(const Moment& before, const Moment& now);
  const char* write(Cell& cell, const Moment& now);
  template <class Visit>
  const char* for_each_cell(uintptr_t address, unsigned bytes, Visit visit);

  uintptr_t begin_ = 0;
  size_t bytes_ = 0;
  uint32_t generation_ = 1;
  std::vector<Cell> cells_;
};

}  // namespace cpu_device
