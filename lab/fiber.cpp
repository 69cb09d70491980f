// Fibers in a page: a WebAssembly function that waits for a promise is a stack of its own (JSPI).
// engine.mjs keeps the promises; the part of the stack that lies in memory is ours to move.
#include "cpu_device/fiber.h"

#include "lab/signals.h"

extern "C" {
// Stops here until someone switches back, or for good, and continues `to`, or begins it on its
// stack.
[[clang::import_module("lab"), clang::import_name("switch_fiber")]] void lab_switch(
    const void* from, const void* to, void* stack_top, void (*entry)(), bool from_is_done);

// What engine.mjs calls on a new stack.
[[clang::export_name("lab_enter")]] void lab_enter(void (*entry)()) {
  entry();
}
}

namespace cpu_device {

void Fiber::start(char* stack, size_t bytes, void (*entry)()) {
  stack_top_ = stack + bytes / 16 * 16;
  entry_ = entry;
}

void Fiber::begin(Fiber&) {}

void Fiber::abandon(char*, size_t) {}

void Fiber::switch_to(Fiber& from, Fiber& to, bool from_is_done) {
  void (*const entry)() = to.entry_;
  to.entry_ = nullptr;  // the next time it continues
  thread_goes_on();
  lab_switch(&from, &to, to.stack_top_, entry, from_is_done);
}

}  // namespace cpu_device
