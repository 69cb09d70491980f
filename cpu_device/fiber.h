#pragma once
// One CUDA thread is one fiber: a stack of its own, switched to and from by hand. A switch takes
// nanoseconds, so a block of 1024 threads that meets at a barrier costs microseconds.
#include <cstddef>
#include <cstdint>

// Other processors, and x86-64 on request, use the C library's slower switch. A page's WebAssembly
// has neither: lab/fiber.cpp.
#if defined(__wasm__)
#elif defined(__x86_64__) && !defined(LADDER_UCONTEXT)
  #define LADDER_OWN_SWITCH 1
#else
  #include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
  #define LADDER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
  #if __has_feature(address_sanitizer)
    #define LADDER_ADDRESS_SANITIZER 1
  #endif
#endif

namespace cpu_device {

class Fiber {
 public:
  // Prepares the fiber to run `entry` on the given stack at the first switch_to. entry must not
  // return: it ends with a switch away that nobody reverses.
  void start(char* stack, size_t bytes, void (*entry)());

  // To be called first on a fresh fiber, which was switched to from `from`: completes the switch.
  static void begin(Fiber& from);

  // No fiber will continue on these stacks, although some have not ended.
  static void abandon(char* stacks, size_t bytes);

  // Suspends `from` and continues `to`. Either may be the fiber of the OS thread itself, which
  // needs no start(). `from_is_done` tells AddressSanitizer that it will not come back.
  static void switch_to(Fiber& from, Fiber& to, bool from_is_done = false);

 private:
#if defined(__wasm__)
  void* stack_top_ = nullptr;
  void (*entry_)() = nullptr;  // null once it has begun
#elif defined(LADDER_OWN_SWITCH)
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_;
#endif
#ifdef LADDER_ADDRESS_SANITIZER  // which has to know on which stack it is
  const void* stack_bottom_ = nullptr;
  size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
#endif
};

}  // namespace cpu_device
