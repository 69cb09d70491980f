#pragma once
// TMA: copies of boxes between global and shared memory, in nobody's turn. A load lands as late as
// the threads can tell; a store reads its shared memory when it is waited for.
#include <cstdint>

#include "place.h"

namespace cpu_device {

// By the current thread. `at`: coordinates of the box, one for each dimension of the map.
// Into the same place of each block of the cluster whose bit is set in `blocks`, its bytes counted
// by the mbarrier in the place of `barrier` there.
void tma_load(void* to, const void* map, const int* at, uint64_t* barrier, uint32_t blocks,
              const Place& place);
// Of bytes in a row, without a map.
void bulk_load(void* to, const void* from, uint32_t bytes, uint64_t* barrier, const Place& place);
enum class StoreMode { WRITE, ADD_HALVES };
void tma_store(const void* map, const int* at, const void* from, StoreMode mode,
               const Place& place);
void bulk_commit_group();
// Until at most `groups` of this thread's have not read their shared memory.
void bulk_wait_group(unsigned groups);
// What this thread has written, and knows to be written, to shared memory is visible to TMA and
// wgmma.
void fence_proxy_async();

}  // namespace cpu_device
