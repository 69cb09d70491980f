#include "fiber.h"

#ifdef LADDER_ADDRESS_SANITIZER
  #include <sanitizer/asan_interface.h>
  #include <sanitizer/common_interface_defs.h>
#endif

namespace cpu_device {

#ifdef LADDER_OWN_SWITCH

// Saves what the ABI says a callee must preserve, and swaps stacks.
extern "C" void cpu_device_switch_stack(void** save, void* load);
asm(R"(
.text
.globl cpu_device_switch_stack
.type cpu_device_switch_stack, @function
cpu_device_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cpu_device_switch_stack, .-cpu_device_switch_stack
)");

#endif

void Fiber::start(char* stack, size_t bytes, void (*entry)()) {
#ifdef LADDER_ADDRESS_SANITIZER
  stack_bottom_ = stack;
  stack_bytes_ = bytes;
  // The functions that the last fiber here ended in have not returned.
  constexpr size_t END_BYTES = 4096;
  __asan_unpoison_memory_region(stack + bytes - END_BYTES, END_BYTES);
#endif
#ifdef LADDER_OWN_SWITCH
  auto top = reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15};
  void** frame = reinterpret_cast<void**>(top);
  *--frame = nullptr;  // a return address for `entry`, which also aligns its stack as the ABI asks
  *--frame = reinterpret_cast<void*>(entry);  // where the first switch "returns" to
  for (int i = 0; i < 6; ++i) *--frame = nullptr;
  stack_pointer_ = frame;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
#endif
}

void Fiber::begin([[maybe_unused]] Fiber& from) {
#ifdef LADDER_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &from.stack_bottom_, &from.stack_bytes_);
#endif
}

void Fiber::abandon([[maybe_unused]] char* stacks, [[maybe_unused]] size_t bytes) {
#ifdef LADDER_ADDRESS_SANITIZER  // which has marked what lies between their variables
  __asan_unpoison_memory_region(stacks, bytes);
#endif
}

void Fiber::switch_to(Fiber& from, Fiber& to, [[maybe_unused]] bool from_is_done) {
#ifdef LADDER_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(from_is_done ? nullptr : &from.fake_stack_, to.stack_bottom_,
                                 to.stack_bytes_);
#endif
#ifdef LADDER_OWN_SWITCH
  cpu_device_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#else
  swapcontext(&from.context_, &to.context_);
#endif
#ifdef LADDER_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#endif
}

}  // namespace cpu_device
