#pragma once
// Puts the loads and stores of single threads together again to the requests of warps, and adds up
// their cost by source line.
#include <cstdint>
#include <deque>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.h"
#include "block.h"
#include "cost.h"
#include "place.h"
#include "trace.h"
#include "turns.h"

namespace cpu_device {

// An instruction, together with what it accessed.
struct Key {
  Place place;
  Operation operation;
  Space space;
  unsigned bytes;
  uintptr_t array;  // its first address, GLOBAL, or offset in the shared memory of the block
  uintptr_t array_bytes;
  std::string array_name;

  auto tie() const {
    return std::make_tuple(place.pc, std::string(place.file ? place.file : ""), place.line,
                           operation, space, bytes, array_name);
  }
  bool operator<(const Key& other) const { return tie() < other.tie(); }
};

struct Totals {
  uint64_t requests = 0, lanes = 0, cost = 0, ideal = 0, fetched = 0;
  std::vector<KeptRequest> kept;
  uint64_t kept_block = 0;  // the first that made a request, whichever OS thread ran it
  unsigned kept_warp = 0;
};

// A request, and the turn of the loops around it in which its lanes made it.
struct RequestOfTurn : Request {
  uint64_t hash;
  Way way;
};

// The requests of one instruction since the last barrier.
struct Site {
  Site(const Key& k, unsigned warps, unsigned threads) : key(k), by_warp(warps), next(threads) {}

  Key key;
  bool copied = false;  // what a cp.async reads
  Totals totals;
  std::vector<std::vector<RequestOfTurn>> by_warp;
  std::vector<unsigned> next;  // by thread, where the warp's requests after its last one begin
};

// Those of one OS thread.
class Requests {
 public:
  void count(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
             Space space, Arrays& arrays);
  // What a cp.async of the current thread reads.
  void count_copied(const Place& place, uintptr_t to, uintptr_t from, unsigned bytes,
                    Arrays& arrays);
  // Where the current thread is in its loops.
  Turns& turns() {
    const unsigned thread = this_block->current().agent;
    if (thread >= turns_.size()) turns_.resize(this_block->team().thread_count());
    return turns_[thread];
  }
  // What TMA or wgmma asks for at once; of global memory, `fetched` sectors come for it.
  void count_beside(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
                    Space space, Cost cost, unsigned fetched, Arrays& arrays);
  // Costs the requests of a block that are complete: at a barrier every lane has made all of its
  // own.
  void settle(unsigned first_thread, unsigned count);
  void publish();

 private:
  struct Cached {
    uintptr_t id = 0;
    unsigned bytes = 0;
    Operation operation = Operation::LOAD;
    uintptr_t begin = 0, extent = 0;
    Site* site = nullptr;
  };

  RequestOfTurn& request_of_turn(Site& site);
  Site& site_of(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
                Space space, Arrays& arrays);
  Site& site_with(const Key& key);
  static bool may_merge(const Site& site);
  static bool same_distances(const Site& one, const Site& other);
  void merge(Site& first);
  std::vector<uintptr_t> repeated_behind(const std::vector<RequestOfTurn>& requests,
                                         unsigned warp) const;
  void join(std::vector<RequestOfTurn>& requests, unsigned warp);
  static void add(Site& site, unsigned warp, const Request& request);

  std::deque<Site> sites_;    // in which a Site stays where it is
  std::vector<Turns> turns_;  // by thread
  std::vector<Cached> cache_ = std::vector<Cached>(1024);
};

}  // namespace cpu_device
