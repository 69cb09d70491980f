#include "trace.h"

#include <string>

#include "block.h"
#include "tracer.h"

namespace cpu_device {
__thread Tracer* tracer = nullptr;

void Tracer::worker_begins(Block& block) {
  counts_ = settings().count;
  arrays_.cover(block.dynamic_shared());
  static_shared_.cover(arrays_.static_begin(), arrays_.static_bytes());
  dynamic_shared_.cover(arrays_.dynamic_begin(), MAX_SHARED_BYTES);
}

void Tracer::block_ends(uint32_t barriers) {
  settle();
  static_shared_.forget(barriers);
  dynamic_shared_.forget(barriers);
}

SharedMemory* Tracer::shared_at(uintptr_t address) {
  if (arrays_.is_static_shared(address)) return &static_shared_;
  if (dynamic_shared_.contains(address)) return &dynamic_shared_;
  return nullptr;
}

// A launch has asked for so much dynamic shared memory and gets no more, whatever a GPU has.
void Tracer::check_limit(const Place& place, uintptr_t address, unsigned bytes) const {
  const size_t limit = this_block->dynamic_bytes;
  if (!dynamic_shared_.contains(address) || address + bytes <= arrays_.dynamic_begin() + limit)
    return;
  report_finding(place,
                 "accesses shared memory beyond the " + std::to_string(limit) +
                     " bytes of dynamic shared memory of this launch",
                 std::to_string(bytes) + " bytes at byte " +
                     std::to_string(address - arrays_.dynamic_begin()));
}

void Tracer::access(const Place& place, uintptr_t address, unsigned bytes, Operation operation) {
  if (SharedMemory* shared = shared_at(address)) {
    check_limit(place, address, bytes);
    const char* problem = operation == Operation::LOAD ? shared->load(address, bytes, now())
                                                       : shared->store(address, bytes, now());
    if (problem != nullptr) report_finding(place, problem);
    if (counts_) requests_.count(place, address, bytes, operation, Space::SHARED, arrays_);
  } else if (const Allocation* allocation = arrays_.allocation_at(address)) {
    const bool is_store = operation == Operation::STORE;
    if (!is_inside(*allocation, address, bytes, is_store)) {
      const auto [cause, position] = stray_access(*allocation, address, bytes, is_store);
      report_finding(place, cause, position);
    }
    if (counts_) requests_.count(place, address, bytes, operation, Space::GLOBAL, arrays_);
  }
  // Anything else is the thread's own: its stack, its parameters.
}

void Tracer::async_store(const Place& place, uintptr_t address, unsigned bytes) {
  SharedMemory* const shared = shared_at(address);
  if (shared == nullptr) return;
  check_limit(place, address, bytes);
  if (const char* problem = shared->begin_copy(address, bytes, now()))
    report_finding(place, problem);
  if (counts_) requests_.count(place, address, bytes, Operation::COPY, Space::SHARED, arrays_);
}

void Tracer::async_landed(uintptr_t address, unsigned bytes) {
  if (SharedMemory* shared = shared_at(address)) shared->end_copy(address, bytes, now());
}

void trace_worker_begins(Block& block) {
#ifdef LADDER_NO_TRACE  // kernels without the calls that would tell us of their accesses
  return;
#endif
  if (!settings().trace) return;
  if (block.tracer == nullptr) block.tracer = std::make_shared<Tracer>();
  tracer = block.tracer.get();
  tracer->worker_begins(block);
}

void trace_worker_ends() {
  if (tracer == nullptr) return;
  tracer->publish();
  tracer = nullptr;
}

void trace_worker_is_lost() {
  tracer = nullptr;
}

void trace_barrier() {
  if (tracer != nullptr) tracer->settle();
}

void trace_block_ends(uint32_t barriers) {
  if (tracer != nullptr) tracer->block_ends(barriers);
}

void trace_access(const Place& place, const void* address, unsigned bytes, Operation operation) {
  if (tracer != nullptr)
    tracer->access(place, reinterpret_cast<uintptr_t>(address), bytes, operation);
}

void trace_async_store(const Place& place, const void* address, unsigned bytes) {
  if (tracer != nullptr) tracer->async_store(place, reinterpret_cast<uintptr_t>(address), bytes);
}

void trace_async_landed(const void* address, unsigned bytes) {
  if (tracer != nullptr) tracer->async_landed(reinterpret_cast<uintptr_t>(address), bytes);
}

}  // namespace cpu_device
