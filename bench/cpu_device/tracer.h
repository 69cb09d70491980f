#pragma once
// What becomes of one access: the array it belongs to is looked up, shared memory is searched for
// races, global memory for accesses out of bounds, and the access is counted.
#include <cstdint>

#include "arrays.h"
#include "block.h"
#include "place.h"
#include "requests.h"
#include "shared_memory.h"
#include "trace.h"

namespace cpu_device {

// That of one OS thread.
class Tracer {
 public:
  void worker_begins(Block& block);
  void block_ends(uint32_t barriers);
  void settle() {
    if (counts_) requests_.settle();
  }
  // What the compiler reports of the current thread's way through its code; see Turns.
  void enter_block(const void* pc) {
    if (counts_) requests_.turns().enter_block(reinterpret_cast<uintptr_t>(pc));
  }
  void publish() { requests_.publish(); }

  // Of the current thread. What is its own, its stack and its parameters, is not looked at.
  void access(const Place& place, uintptr_t address, unsigned bytes, Operation operation);
  // As the compiler reports it, instruction by instruction; most are loads of shared memory.
  template <unsigned BYTES>
  void access(const void* pc, uintptr_t address, Operation operation) {
    if (operation == Operation::LOAD && !counts_ && is_settled<BYTES>(address)) return;
    if (this_block->on_stack(address)) return;
    access(Place{nullptr, 0, pc}, address, BYTES, operation);
  }
  void async_copy(const Place& place, uintptr_t to, uintptr_t from, unsigned bytes,
                  unsigned source_bytes);
  void async_landed(uintptr_t address, unsigned bytes);

 private:
  static Moment now() {
    return {this_block->current().arrived, this_block->barriers(),
            static_cast<uint16_t>(this_block->current_number()),
            static_cast<uint16_t>(this_block->warp().barriers)};
  }
  template <unsigned BYTES>
  bool is_settled(uintptr_t address) const {
    const SharedMemory& shared =
        dynamic_shared_.contains(address) ? dynamic_shared_ : static_shared_;
    return shared.contains(address) &&
           shared.is_settled<BYTES>(address, this_block->current().arrived, this_block->barriers());
  }
  SharedMemory* shared_at(uintptr_t address);

  bool counts_ = true;
  Arrays arrays_;
  SharedMemory static_shared_, dynamic_shared_;
  Requests requests_;
};

// Null while nothing is to be traced. (__thread: see this_block.)
extern __thread Tracer* tracer;

}  // namespace cpu_device
