#pragma once
// A kernel that starts before the one ahead of it on its stream has ended (sm_90). PTX ISA,
// "griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch".
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/ptx.h"
#else
namespace ladder::ptx {

// The next kernel, if it was launched to start early, may take what room this one leaves, as soon
// as all blocks of this one have said so. It says nothing of this kernel's results.
__device__ __forceinline__ void let_next_grid_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Waits until all kernels ahead on the stream have ended and their writes are seen; not at all
// where this kernel was launched to start after them.
__device__ __forceinline__ void wait_for_grids_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

}  // namespace ladder::ptx
#endif
