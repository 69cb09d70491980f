#pragma once
// Ends a launch that cannot go on: at a fault, such as an access to memory that is not there, or in
// a block that has run for too long. Both come to an OS thread as a signal while one of its fibers
// runs; the handler leaves the fiber for good and continues the one that had started it. What had
// been found is kept, and the process goes on.
#include <string>

#include "fiber.h"
#include "place.h"

namespace cpu_device {

// Of an OS thread, as long as it runs blocks: a stack for the handlers, which work where a fiber's
// stack is used up, and a clock. Does nothing in builds with sanitizers, which have handlers of
// their own.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

enum class Outcome {
  ENDED,        // a fiber has switched back
  GIVEN_UP,     // at a fault; there is a finding, and none of the fibers may be continued
  INTERRUPTED,  // the same, anywhere: what the fiber was changing may be half changed
};
// Switches from `home` to `first`, until something switches back. `home` has
// settings().block_seconds of the OS thread's CPU time for it.
Outcome run_fibers(Fiber& home, Fiber& first);

// By a fiber: a finding that ends the launch, as a GPU's trap does.
[[noreturn]] void end_launch(const Place& place, const std::string& cause,
                             const std::string& example);

#ifdef __wasm__
// By a fiber at each basic block: a page has no signals that could end a loop.
void basic_block_begins(const void* pc);
#endif

}  // namespace cpu_device
