#pragma once
// setmaxnreg: how a block's warpgroups divide the registers they were launched with.
#include <vector>

#include "place.h"

namespace cpu_device {

class Block;
struct Thread;

class Registers {
 public:
  explicit Registers(Block& block) : block_(block) {}
  // At a launch each thread has as many as the 64 K of a multiprocessor give it, in steps of 8.
  void begin();
  // By all threads of a warpgroup, each for itself: to `registers` a thread, which are more (inc,
  // waits until others have freed as many) or fewer (dec).
  void set(unsigned registers, bool more, const Place& place);

 private:
  struct Warpgroup {
    unsigned registers = 0;  // a thread
    unsigned wanted = 0;
    bool waits = false;  // all have come, and there are too few
    std::vector<Thread*> arrived;
  };
  void settle();

  Block& block_;
  std::vector<Warpgroup> groups_;
  unsigned free_ = 0;  // a thread of one warpgroup
};

}  // namespace cpu_device
