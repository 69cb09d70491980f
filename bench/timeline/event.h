#pragma once
// What a recorded kernel leaves behind. Outside namespace ladder, which recorded kernels rename.
#include <cstdint>

struct CUstream_st;

namespace timeline {

// What a warp did between `begin` and `end`. Numbers, not 0, because memory is zeroed before a
// launch.
enum class Kind : uint32_t {
  BARRIER = 1,         // waited in __syncthreads
  CLUSTER = 2,         // waited for all threads of the cluster
  CP_ASYNC = 3,        // waited for its own cp.asyncs
  MBARRIER = 4,        // waited for TMA's bytes, or for a buffer to be empty
  WGMMA = 5,           // waited until no more than a given number of its wgmmas were running
  WGMMA_ALL = 6,       // waited for all of them
  BULK_READ = 7,       // waited until TMA had read its staged part of C
  COPY = 8,            // an instant: goes on to order TMA's copies of a tile
  BULK_STORE = 9,      // an instant: ordered a store by TMA
  SPLIT_BARRIER = 10,  // waited for the other threads to arrive at an mbarrier
};

// 16 bytes, one store.
struct Event {
  uint32_t what;        // the kind in the upper half, the line of the kernel's header in the lower
  uint32_t begin, end;  // the multiprocessor's clock, its lower 32 bits: they wrap after 2 seconds
  uint32_t timer;       // %globaltimer at `end`, in ns, its lower 32 bits
};

constexpr uint32_t EVENTS = 2048;       // of a warp; later ones are lost
constexpr uint32_t WARPS_A_BLOCK = 12;  // at most

// Where the events of a launch go and which blocks have any.
struct Recorder {
  Event* events;      // EVENTS for each of WARPS_A_BLOCK warps, block after block
  uint32_t blocks;    // of so many blocks; later ones are not recorded
  uint32_t first_sm;  // blocks on this multiprocessor
  uint32_t sms;       // and on so many from there
  uint32_t launch;    // multiples of 2^16, another for each launch
};

struct Operands {
  int size;  // M, N, K and the leading dimensions
  const void* a;
  const void* b;
  void* c;
  CUstream_st* stream;
};

}  // namespace timeline
