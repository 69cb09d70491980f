// What the compiler calls in a kernel that is compiled with -fsanitize=thread and bounds: the race
// detector's functions, by name, with bodies of ours.
#include <cstring>
#include <string>

#include "block.h"
#include "tracer.h"

namespace {
// The tracer, while a thread of a block runs. The device itself calls these functions, too: inline
// functions of the standard library are linked once, and perhaps from an object with these calls.
cpu_device::Tracer* tracer() {
  return cpu_device::this_block != nullptr ? cpu_device::tracer : nullptr;
}

template <unsigned BYTES>
void plain_access(const void* pc, const void* address, cpu_device::Operation operation) {
  if (tracer() != nullptr)
    cpu_device::tracer->access<BYTES>(pc, reinterpret_cast<uintptr_t>(address), operation);
}

// What is not a finding is the thread's own, or of code that is not a kernel's.
[[gnu::cold, gnu::noinline]] void misaligned(const void* pc, uintptr_t address, unsigned bytes) {
  const cpu_device::Block* block = cpu_device::this_block;
  if (block == nullptr || block->team().on_stack(address)) return;
  cpu_device::end_launch({nullptr, 0, pc},
                         "an access of " + std::to_string(bytes) +
                             " bytes whose address is no multiple of that: a GPU ends the launch",
                         std::to_string(address % bytes) + " bytes past a multiple, by " +
                             cpu_device::current_thread());
}

// Of a type that is aligned to its size, which is how wide a GPU's instruction is, too.
template <unsigned BYTES>
void aligned_access(const void* pc, const void* address, cpu_device::Operation operation) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  if (number % BYTES != 0) return misaligned(pc, number, BYTES);
  plain_access<BYTES>(pc, address, operation);
}

// Of a type that is not, such as a struct of three floats: as many as the GPU needs.
void ranged_access(const void* pc, const void* address, size_t bytes,
                   cpu_device::Operation operation) {
  const char* at = static_cast<const char*>(address);
  for (; bytes >= 4; at += 4, bytes -= 4) plain_access<4>(pc, at, operation);
  for (; bytes > 0; ++at, --bytes) plain_access<1>(pc, at, operation);
}
}  // namespace

// Which call it is: its return address. WebAssembly has none, so a number is passed instead, which
// lab/instrument.mjs adds to each call.
#ifdef __wasm__
  #define LADDER_NUMBER void* caller
  #define LADDER_COMMA  ,
  #define LADDER_CALLER caller
#else
  #define LADDER_NUMBER
  #define LADDER_COMMA
  #define LADDER_CALLER __builtin_return_address(0)
#endif

#define LADDER_CALLBACK(name, access, operation)                      \
  extern "C" void name(void* address LADDER_COMMA LADDER_NUMBER) {    \
    access(LADDER_CALLER, address, cpu_device::Operation::operation); \
  }
LADDER_CALLBACK(__tsan_read1, aligned_access<1>, LOAD)
LADDER_CALLBACK(__tsan_read2, aligned_access<2>, LOAD)
LADDER_CALLBACK(__tsan_read4, aligned_access<4>, LOAD)
LADDER_CALLBACK(__tsan_read8, aligned_access<8>, LOAD)
LADDER_CALLBACK(__tsan_read16, aligned_access<16>, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read2, plain_access<2>, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read4, plain_access<4>, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read8, plain_access<8>, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read16, plain_access<16>, LOAD)
LADDER_CALLBACK(__tsan_write1, aligned_access<1>, STORE)
LADDER_CALLBACK(__tsan_write2, aligned_access<2>, STORE)
LADDER_CALLBACK(__tsan_write4, aligned_access<4>, STORE)
LADDER_CALLBACK(__tsan_write8, aligned_access<8>, STORE)
LADDER_CALLBACK(__tsan_write16, aligned_access<16>, STORE)
LADDER_CALLBACK(__tsan_unaligned_write2, plain_access<2>, STORE)
LADDER_CALLBACK(__tsan_unaligned_write4, plain_access<4>, STORE)
LADDER_CALLBACK(__tsan_unaligned_write8, plain_access<8>, STORE)
LADDER_CALLBACK(__tsan_unaligned_write16, plain_access<16>, STORE)
#undef LADDER_CALLBACK

extern "C" {
void __tsan_init() {}
void __sanitizer_cov_trace_pc(LADDER_NUMBER) {
  if (tracer() != nullptr) cpu_device::tracer->enter_block(LADDER_CALLER);
#ifdef __wasm__
  cpu_device::basic_block_begins(caller);
#endif
}
void __tsan_func_entry(void*) {
  if (cpu_device::this_block != nullptr)
    cpu_device::this_block->team().end_where_stacks_are_used_up();
}
void __tsan_func_exit() {}
void __tsan_vptr_read(void*) {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_read_range(void* address, unsigned long bytes LADDER_COMMA LADDER_NUMBER) {
  ranged_access(LADDER_CALLER, address, bytes, cpu_device::Operation::LOAD);
}
void __tsan_write_range(void* address, unsigned long bytes LADDER_COMMA LADDER_NUMBER) {
  ranged_access(LADDER_CALLER, address, bytes, cpu_device::Operation::STORE);
}
void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, unsigned long bytes) {
  return std::memset(to, value, bytes);
}
// Not of kernels: the standard library's shared_ptr counts with the one, and clang asks with the
// other whether a static variable has been initialised.
int __tsan_atomic32_fetch_add(volatile int* counter, int value, int) {
  return __atomic_fetch_add(counter, value, __ATOMIC_SEQ_CST);
}
char __tsan_atomic8_load(const volatile char* flag, int) {
  return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

// What -fsanitize=bounds calls when an index is outside an array whose size the compiler knows.
struct BoundsData {
  const char* file;
  uint32_t line, column;
};
void __ubsan_handle_out_of_bounds(BoundsData* where, unsigned long index) {
  cpu_device::report_finding(
      {where->file, static_cast<int>(where->line), nullptr},
      "index " + std::to_string(static_cast<long>(index)) + " is outside its array");
}
}
