#pragma once
// In which turn of which loops a thread is: lanes of a warp execute an instruction together when
// they are in the same turn of the same loops, however often each of them has skipped it before.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cpu_device {

// That of one thread, since the last barrier. The compiler reports every basic block that it enters
// (-fsanitize-coverage=trace-pc). One that has been entered before in the same turn begins the next
// turn of a loop. Nobody says when a loop is left: its last turn goes on until the next turn of a
// loop around it begins.
class Turns {
 public:
  void enter_block(uintptr_t pc);
  // Equal for two threads in the same turn of the same loops.
  uint64_t key() const { return loops_.empty() ? 0 : loops_.back().key; }
  void reset() {
    path_.clear();
    loops_.clear();
  }

 private:
  struct Loop {
    size_t begin;  // in path_
    uint64_t turn, key;
  };
  std::vector<uintptr_t> path_;  // the blocks entered, of each loop those of the last turn
  std::vector<Loop> loops_;      // from the outermost to the innermost
};

}  // namespace cpu_device
