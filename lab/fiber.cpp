// Fibers in a page: a WebAssembly function that waits for a promise is a stack of its own (JSPI).
// engine.mjs keeps the promises; the part of the stack that lies in memory is ours to move.
#include "cpu_device/fiber.h"

#include <utility>

#include "lab/signals.h"

extern "C" {
// Stops here until someone switches back, or for good, and continues `to`, or begins it on its
// stack.
[[clang::import_module("lab"), clang::import_name("switch_fiber")]] void lab_switch(
    const void* from, const void* to, void* stack_top, void (*entry)(), bool from_is_done);
}

// Ends all that have stopped, for good.
extern "C" [[clang::import_module("lab"), clang::import_name("abandon_fibers")]] void lab_abandon();

asm(".globaltype __stack_pointer, i32");

namespace {
// What begins on the stack of the fiber that has just ended: a new stack takes microseconds, and
// most threads of a kernel without barriers never wait.
void* next_stack_top = nullptr;
void (*next_entry)() = nullptr;
}  // namespace

// What engine.mjs calls on a new stack.
extern "C" [[clang::export_name("lab_enter")]] void lab_enter(void* stack_top, void (*entry)()) {
  while (entry != nullptr) {
    asm volatile("local.get %0\n\tglobal.set __stack_pointer" ::"r"(stack_top));
    entry();
    stack_top = next_stack_top;
    entry = std::exchange(next_entry, nullptr);
  }
}

namespace cpu_device {

void Fiber::start(char* stack, size_t bytes, void (*entry)()) {
  stack_top_ = stack + bytes / 16 * 16;
  entry_ = entry;
}

void Fiber::begin(Fiber&) {}

void Fiber::abandon(char*, size_t) {
  lab_abandon();
}

void Fiber::switch_to(Fiber& from, Fiber& to, bool from_is_done) {
  void (*const entry)() = to.entry_;
  to.entry_ = nullptr;  // the next time it continues
  thread_goes_on();
  if (from_is_done && entry != nullptr) {
    next_stack_top = to.stack_top_;
    next_entry = entry;
    return;  // out of the entry of `from`
  }
  lab_switch(&from, &to, to.stack_top_, entry, from_is_done);
}

}  // namespace cpu_device
