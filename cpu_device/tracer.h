#pragma once
// What becomes of one access: the array it belongs to is looked up, shared memory is searched for
// races, global memory for accesses out of bounds, and the access is counted.
#include <cstdint>
#include <vector>

#include "arrays.h"
#include "block.h"
#include "digest.h"
#include "place.h"
#include "requests.h"
#include "shared_memory.h"
#include "tensor_map.h"
#include "trace.h"
#include "wgmma.h"

namespace cpu_device {

// That of one OS thread.
class Tracer {
 public:
  void worker_begins(Team& team, size_t dynamic_bytes);
  void team_ends(Team& team);
  void settle(const Block& block);
  // What the compiler reports of the current thread's way through its code; see Turns.
  void enter_block(const void* pc) {
    if (counts_) requests_.turns().enter_block(reinterpret_cast<uintptr_t>(pc));
    if (digests_) digest_.enter_block(reinterpret_cast<uintptr_t>(pc));
  }
  void publish() {
    requests_.publish();
    digest_.publish();
  }
  // What is no access and depends on operands: a wait for a phase, a copy's coordinates.
  void event(const Place& place, uint64_t what) {
    if (digests_) digest_.add(place, what);
  }

  // Of the current thread. What is its own, its stack and its parameters, is not looked at.
  void access(const Place& place, uintptr_t address, unsigned bytes, Operation operation);
  // As the compiler reports it, instruction by instruction; most are loads of shared memory.
  template <unsigned BYTES>
  void access(const void* pc, uintptr_t address, Operation operation) {
    if (operation == Operation::LOAD && !counts_ && !digests_ && is_settled<BYTES>(address)) return;
    if (this_block->team().on_stack(address)) {
      Thread& thread = this_block->current();
      if (!thread.accumulators.empty())
        if (const char* problem = touches_registers(thread, address))
          report_finding(Place{nullptr, 0, pc}, problem);
      return;
    }
    access(Place{nullptr, 0, pc}, address, BYTES, operation);
  }
  void async_copy(const Place& place, uintptr_t to, uintptr_t from, unsigned bytes,
                  unsigned source_bytes);
  void async_landed(uintptr_t address, unsigned bytes);

  // A box that TMA copies: what it touches in global memory, read once for so many blocks,
  void box(const Place& place, const TensorMap& map, const int* at, Operation operation,
           unsigned blocks);
  // and in shared memory, from `shared` on: written by a load, read by a store.
  void box_in_shared_memory(const Place& place, const TensorMap& map, const unsigned char* shared,
                            const Touch& as);
  // The chunks of an operand of wgmma, which are read in the current thread's name. False after a
  // finding.
  bool read_beside(const Place& place, const Block& block, uint32_t shared_address, unsigned bytes,
                   const Touch& as);
  void operand(const Place& place, const Block& block, const std::vector<uint32_t>& chunks);

  // A store of the current thread that somebody else carries out, to any block of the cluster.
  void store_beside(const Place& place, const unsigned char* to, unsigned bytes, const Touch& as);

 private:
  Viewer viewer() const;
  Viewer viewer(const Touch& as) const;
  template <unsigned BYTES>
  bool is_settled(uintptr_t address) const {
    const Block& block = *this_block;
    const SharedMemory& shared = dynamic_shared_[block.rank()].contains(address)
                                     ? dynamic_shared_[block.rank()]
                                     : static_shared_;
    return shared.contains(address) && shared.is_settled(address, BYTES, block.barriers());
  }
  SharedMemory* shared_at(uintptr_t address);
  void check_limit(const Place& place, uintptr_t address, unsigned bytes) const;
  void check_owner(const Place& place, const SharedMemory& shared);
  static void check_bounds(const Place& place, const Allocation& allocation, uintptr_t address,
                           unsigned bytes, bool is_store);
  // For races between blocks.
  void touch(const Place& place, const Allocation& allocation, uintptr_t address, unsigned bytes,
             bool is_store) const;
  // The same place in the first block of the cluster: for what is counted there is one.
  uintptr_t in_first_block(uintptr_t address) const;
  static void report(const Place& place, const Conflict& conflict);

  // An access's kind, width and address, the same in another run of the program.
  void digest(const Place& place, uintptr_t address, unsigned bytes, Operation operation);

  bool counts_ = true, digests_ = false;
  Team* team_ = nullptr;
  size_t dynamic_bytes_ = 0;
  Arrays arrays_;
  SharedMemory static_shared_;
  std::vector<SharedMemory> dynamic_shared_;  // by block of the cluster
  Requests requests_;
  Digest digest_;
};

// Null while nothing is to be traced. (__thread: see this_block.)
extern __thread Tracer* tracer;

}  // namespace cpu_device
