#pragma once
// In which turn of which loops a thread is: lanes of a warp execute an instruction together when
// they are in the same turn of the same loops, however often each of them has skipped it before.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cpu_device {

// A loop, by the block with which its turns begin, and how often that has been entered again.
struct Loop {
  uintptr_t block;
  uint64_t turn;
};

// How a thread came to where it is.
struct Way {
  std::vector<uintptr_t> path;  // the blocks entered, of each loop those of the last turn
  std::vector<Loop> loops;      // from the outermost to the innermost; in the first turn none
};

// That of one thread, since the last barrier. The compiler reports every basic block that it enters
// (-fsanitize-coverage=trace-pc). One that has been entered before in the same turn begins the next
// turn of a loop. Nobody says when a loop is left: its last turn goes on until the next turn of a
// loop around it begins.
class Turns {
 public:
  void enter_block(uintptr_t pc);
  const Way& way() const { return way_; }
  uint64_t hash() const { return hashes_.empty() ? 0 : hashes_.back(); }
  // Adds the blocks on the way to where the thread was `then` of which another turn has begun
  // since, and those behind them.
  void add_repeated(const Way& then, std::vector<uintptr_t>& blocks) const;
  void reset() {
    way_.path.clear();
    way_.loops.clear();
    begins_.clear();
    hashes_.clear();
  }

 private:
  Way way_;
  std::vector<size_t> begins_;    // of each loop, where in the path
  std::vector<uint64_t> hashes_;  // of each loop and those around it
};

// Whether lanes in the one and lanes in the other can execute an instruction together: they are in
// the same turn of the loops that both came through and that go on behind it. A loop does where its
// block is `repeated` by a lane that has executed the instruction; otherwise it has been left, and
// how many turns a lane has made of it matters no more.
bool together(const Way& one, const Way& other, const std::vector<uintptr_t>& repeated);

}  // namespace cpu_device
