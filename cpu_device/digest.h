#pragma once
// A number for all that the threads of launches did, other than compute: two runs with the same
// digest went the same ways and touched the same places in the same order, thread by thread.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "place.h"

namespace cpu_device {

struct LineDigest {
  std::string file;
  int line = 0;
  std::string text;  // of the source line
  uint64_t digest = 0;
};

struct AccessDigest {
  uint64_t digest = 0;    // of what was done, and of the ways through the code
  uint64_t accesses = 0;  // of what was done alone
  uint64_t events = 0;
  std::vector<LineDigest>
      lines;  // by file and line; the order among a line's accesses is not in it
  // Basic blocks that were entered: where the calls in them return to, as the program's file
  // counts.
  std::vector<uintptr_t> blocks;
};

// Of everything since the last call, with settings().digest.
AccessDigest take_digest();

// Of one OS thread, as its cluster runs. Addresses are counted from where their array begins, and
// instructions from where the program does, so that another run of it has the same numbers.
class Digest {
 public:
  // The current thread goes on in another basic block,
  void enter_block(uintptr_t pc) {
    Recent& recent = recent_[pc % RECENT];
    if (recent.pc != pc) recent = {pc, is_kernels(pc)};
    if (recent.is_kernels) chains().all = mixed(chains().all ^ from_program(pc));
  }
  // or does something with `what` in this line.
  void add(const Place& place, uint64_t what);
  void team_ends();
  void publish();

  static uint64_t mixed(uint64_t x) {  // the finaliser of SplitMix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

 private:
  using Site = std::pair<uintptr_t, int>;  // an instruction, or a file's name with a line
  static uintptr_t from_program(uintptr_t address);
  struct Chains {
    uint64_t all = 0, accesses = 0;  // 0 before the first event
  };
  Chains& chains();  // of the current thread
  bool is_kernels(uintptr_t pc);

  std::vector<Chains> chains_;  // by thread of the cluster
  uint64_t digest_ = 0, accesses_ = 0, events_ = 0;
  std::map<Site, std::pair<Place, uint64_t>> sites_;
  std::unordered_set<uintptr_t> blocks_;
  static constexpr size_t RECENT = 1024;
  struct Recent {
    uintptr_t pc = 0;
    bool is_kernels = false;
  };
  std::array<Recent, RECENT> recent_;  // blocks, by the last bits of their address
};

// For the device's own functions: the current thread did something with `what`.
void trace_event(const Place& place, uint64_t what);

}  // namespace cpu_device
