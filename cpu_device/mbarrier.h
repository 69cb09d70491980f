#pragma once
// mbarriers as objects: the 8 bytes that a kernel has in shared memory are a name for one.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "knowledge.h"
#include "place.h"

namespace cpu_device {

class Block;
struct Thread;

struct Mbarrier {
  uint32_t count = 0;  // arrivals a phase
  uint32_t pending = 0;
  int64_t missing_bytes = 0;                // of the phase: announced and not landed
  uint32_t phase = 0;                       // the one that is not complete; those before are
  uint32_t on_the_way = 0;                  // copies that count at this phase and have not landed
  Place initialised, arrival, expectation;  // where; the last ones
  Moment by{};                              // whoever initialised it
  bool fenced = false;                      // TMA sees the initialisation
  bool stored_by_others = false;            // st.async of other blocks counts here
  Agent agent = 0;  // of what TMA brings: its clock is the number of phases completed
  Gathering arriving;
  Knowledge completed;  // what is known when the last phase is complete
  std::vector<Thread*> waiting;
  // With settings().digest: who has waited for the last phase that is complete, and whoever knows
  // of one of these moments comes behind the wait: the thread's own, and when its warp and its
  // warpgroup come to their next instruction together.
  struct Waited {
    Moment own, of_warp, of_warpgroup;
    Place place;
  };
  std::vector<Waited> waited;
  // With settings().digest: who has arrived at phase p, in [p % 3], of the last three. Whoever
  // knows of all of them knows that it is over, unless copies count at it, too.
  struct Arrival {
    const Thread* thread;
    Moment moment;
    Place place;
  };
  std::vector<Arrival> arrived[3];
  bool copied = false;  // whether they do at this one
  // With settings().digest: what those know who ordered the copies that count at this phase, and at
  // those before. It orders, and shows nothing of what they have written.
  Gathering ordering;
  Knowledge ordered;
};

// Those of a block.
class Mbarriers {
 public:
  explicit Mbarriers(Block& block) : block_(block) {}

  // By the current thread.
  void init(uint64_t* barrier, uint32_t count, const Place& place);
  // TMA sees what it has initialised.
  void fence();
  // By the current thread, which may be of another block. `bytes` are announced beforehand.
  void arrive(uint64_t* barrier, uint32_t bytes, const Place& place);
  // Until the phase of that parity is complete: the phase before the first, of parity 1, is.
  // `cluster`: and what other blocks have stored by then is visible.
  void wait(uint64_t* barrier, uint32_t parity, const Place& place, bool cluster = false);

  // A copy that the current thread orders, and that counts at the barrier when it lands; null, with
  // a finding, where there is none. What it writes is complete with phase `phase` of its agent.
  Mbarrier* copy_begins(uint64_t* barrier, const Place& place);
  // The same for a store of 16 bytes by a thread, perhaps of another block, that does not wait.
  Mbarrier* store_begins(uint64_t* barrier, const Place& place);
  void copy_lands(Mbarrier& barrier, uint32_t phase, uint32_t bytes);

  bool any() const { return !all_.empty(); }
  void block_leaves();
  void forget() { all_.clear(), replaced_.clear(); }
  // The state of the barrier that the thread waits for, or "".
  std::string waited_for_by(const Thread& thread) const;

 private:
  // Null, with a finding, where none has been initialised; a finding, too, where this thread cannot
  // know of it.
  Mbarrier* find(uint64_t* barrier, const Place& place);
  void complete_if(Mbarrier& barrier);
  // With settings().digest: a finding unless the current thread knows that so many phases are
  // complete.
  void must_know(const Mbarrier& barrier, uint64_t* address, uint32_t phases, const char* otherwise,
                 const Place& place) const;
  // Whether it knows of all arrivals at that phase. Lanes of a warp that arrive with one
  // instruction, each in another block, arrive together: who knows of one of them knows of all.
  bool knows_all_arrived(const Mbarrier& barrier, uint64_t* address, uint32_t phase) const;
  void begins(Mbarrier& barrier, uint64_t* address, const Place& place);

  Block& block_;
  std::unordered_map<uint64_t*, std::unique_ptr<Mbarrier>> all_;
  // Initialised again since: threads may still wait for them, and copies count at them.
  std::vector<std::unique_ptr<Mbarrier>> replaced_;
};

}  // namespace cpu_device
