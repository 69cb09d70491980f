#include "trace.h"

#include <string>

#include "block.h"
#include "tracer.h"

namespace cpu_device {
namespace {

std::string out_of_bounds(const Allocation& a, uintptr_t address, unsigned bytes,
                          Operation operation) {
  const std::string verb = operation == Operation::LOAD ? "reads " : "writes ";
  const std::string size = std::to_string(a.end - a.begin) + " bytes";
  if (address < a.begin)
    return verb + std::to_string(a.begin - address) + " bytes before " + a.name + " of " + size;
  return verb + std::to_string(bytes) + " bytes at byte " + std::to_string(address - a.begin) +
         " of " + a.name + ", which has " + size;
}

void check_bounds(const Place& place, const Allocation& a, uintptr_t address, unsigned bytes,
                  Operation operation) {
  if (address < a.begin || address + bytes > a.end)
    report_finding(place, out_of_bounds(a, address, bytes, operation));
}

}  // namespace

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

void Tracer::access(const Place& place, uintptr_t address, unsigned bytes, Operation operation) {
  if (SharedMemory* shared = shared_at(address)) {
    const char* problem = operation == Operation::LOAD ? shared->load(address, bytes, now())
                                                       : shared->store(address, bytes, now());
    if (problem != nullptr) report_finding(place, problem);
    if (counts_) requests_.count(place, address, bytes, operation, Space::SHARED, arrays_);
  } else if (const Allocation* allocation = arrays_.allocation_at(address)) {
    check_bounds(place, *allocation, address, bytes, operation);
    if (counts_) requests_.count(place, address, bytes, operation, Space::GLOBAL, arrays_);
  }
  // Anything else is the thread's own: its stack, its parameters.
}

void Tracer::async_copy(const Place& place, uintptr_t to, uintptr_t from, unsigned bytes,
                        unsigned source_bytes) {
  const Allocation* const allocation = source_bytes > 0 ? arrays_.allocation_at(from) : nullptr;
  if (allocation != nullptr) {
    check_bounds(place, *allocation, from, source_bytes, Operation::LOAD);
    if (counts_) requests_.count_copied(place, to, from, bytes, arrays_);
  }
  SharedMemory* const shared = shared_at(to);
  if (shared == nullptr) return;
  if (const char* problem = shared->begin_copy(to, bytes, now())) report_finding(place, problem);
  if (counts_) requests_.count(place, to, bytes, Operation::COPY, Space::SHARED, arrays_);
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

void trace_async_copy(const Place& place, const void* to, const void* from, unsigned bytes,
                      unsigned source_bytes) {
  if (tracer != nullptr)
    tracer->async_copy(place, reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from),
                       bytes, source_bytes);
}

void trace_async_landed(const void* address, unsigned bytes) {
  if (tracer != nullptr) tracer->async_landed(reinterpret_cast<uintptr_t>(address), bytes);
}

}  // namespace cpu_device
