#pragma once
// Who knows what of whom: vector clocks. What an agent does is stamped with its number and its
// clock; it happens before something else if whoever does that has learned of this clock. Agents
// are the threads of a cluster, and what works beside them: TMA, wgmma.
#include <cstdint>
#include <memory>
#include <vector>

namespace cpu_device {

using Agent = uint32_t;

// A moment in the life of an agent. Clocks begin at 1.
struct Moment {
  Agent agent;
  uint32_t clock;
};

// What is known, and by whom it is shared: copied when it changes. At a barrier all threads come to
// know the same, and share it.
class Knowledge {
 public:
  bool covers(Moment m) const { return known_ != nullptr && at(known_->seen, m.agent) >= m.clock; }
  // Whether the agent `self` knows of some moments, of which there is at least one.
  bool covers_all(const std::vector<Moment>& moments, Agent self) const;
  // Whether TMA and wgmma see what the agent has written by then with ordinary stores: a
  // fence.proxy.async lies between.
  bool covers_for_async(Moment m) const {
    return known_ != nullptr && at(known_->fenced, m.agent) >= m.clock;
  }
  void learn(Moment m);
  void learn(const Knowledge& other);
  // All that is known now, and what this agent has done until `own`, is visible to TMA and wgmma.
  void fence(Moment own);
  void forget() { known_.reset(); }
  bool same_as(const Knowledge& other) const { return known_ == other.known_; }

 private:
  using Clocks = std::vector<uint32_t>;  // by agent; what is not there is 0
  struct Known {
    Clocks seen, fenced;
  };
  static uint32_t at(const Clocks& clocks, Agent agent) {
    return agent < clocks.size() ? clocks[agent] : 0;
  }
  static void raise(Clocks& clocks, Moment m);
  static void join(Clocks& clocks, const Clocks& other);
  Known& own();

  std::shared_ptr<Known> known_;
};

// What those who come to a barrier know together.
class Gathering {
 public:
  void add(const Knowledge& knowledge, Moment own);
  const Knowledge& all() const { return all_; }
  void forget();

 private:
  Knowledge all_, last_;
};

}  // namespace cpu_device
