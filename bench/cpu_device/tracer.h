#pragma once
// What becomes of one access: the array it belongs to is looked up, shared memory is searched for
// races, global memory for accesses out of bounds, and the access is counted.
#include <cstdint>

#include "arrays.h"
#include "place.h"
#include "requests.h"
#include "shared_memory.h"
#include "trace.h"

namespace cpu_device {

// That of one OS thread.
class Tracer {
 public:
  void cover(const void* dynamic_shared);
  void block_begins();
  void access(const Place& place, uintptr_t address, unsigned bytes, Operation operation);
  void async_store(const Place& place, uintptr_t address, unsigned bytes);
  void async_landed(uintptr_t address, unsigned bytes);
  void settle() { requests_.settle(); }
  void publish() { requests_.publish(); }

 private:
  SharedMemory* shared_at(uintptr_t address);

  Arrays arrays_;
  SharedMemory static_shared_, dynamic_shared_;
  Requests requests_;
};

// Null while nothing is to be traced.
extern thread_local Tracer* tracer;

}  // namespace cpu_device
