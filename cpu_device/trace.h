#pragma once
// What a profiler would count. Loads and stores of single threads are put together again to the
// requests of warps, and each request is costed as the hardware does: 32-byte sectors of global
// memory, wavefronts of shared memory.
//
// Plain loads and stores come from the compiler: a kernel's file is compiled with
// -fsanitize=thread, which puts a call before each of them, and the functions that are called are
// ours (callbacks.cpp) instead of the race detector's.
#include <cstdint>
#include <string>
#include <vector>

#include "place.h"

namespace cpu_device {

enum class Space : uint8_t { GLOBAL, SHARED };
// REMOTE_LOAD, REMOTE_STORE: of another block's shared memory, and st.async to any. COPY: into
// shared memory, by cp.async. BOX_LOAD, BOX_STORE: by TMA. OPERAND: by wgmma.
enum class Operation : uint8_t {
  LOAD,
  STORE,
  REMOTE_LOAD,
  REMOTE_STORE,
  COPY,
  BOX_LOAD,
  BOX_STORE,
  OPERAND
};

const char* name_of(Operation operation);  // in reports

// One request of a warp: byte offsets in the array by lane, -1 for lanes that took no part, and
// what it cost.
struct KeptRequest {
  std::vector<int64_t> offsets;
  // Of what a cp.async of 16 bytes reads, whose cost depends on it: where the bytes go, counted
  // from the first sector of shared memory that any lane fills.
  std::vector<int64_t> to;
  unsigned cost;
};

// All requests of one source line to one array with one width.
struct MemoryLine {
  std::string file;
  int line = 0;
  std::string text;   // of the source line
  std::string array;  // "A", "sB", ...
  uint64_t array_bytes = 0;
  Space space;
  Operation operation;
  unsigned bytes;  // a lane
  uint64_t requests = 0, lanes = 0;
  // GLOBAL: 32-byte sectors touched, and the fewest that could hold the bytes. SHARED: wavefronts,
  // and the fewest for requests of this width.
  uint64_t cost = 0, ideal = 0;
  // GLOBAL: the sectors that a cp.async past L1 asks L2 for, or that come for TMA's boxes
  uint64_t fetched = 0;
  // The first of them, in the first block and there the first warp that made any; as many as
  // settings().kept_requests.
  std::vector<KeptRequest> kept;
  unsigned kept_warp = 0;
};

// Of everything since the last call, by file and line. Also turns findings' places into files and
// lines; see block.h.
std::vector<MemoryLine> take_memory_lines();

class Block;
class Team;

// Called by the device as it runs.
void trace_worker_begins(Team& team, size_t dynamic_bytes);
void trace_worker_ends();
void trace_worker_is_lost();
bool tracer_exists();
void trace_barrier(const Block& block);
void trace_team_ends(Team& team);

// For device functions that are compiled with a kernel: their own loads and stores do not count.
#ifdef __clang__
  #define LADDER_UNTRACED __attribute__((noinline, no_sanitize("thread", "coverage")))
#else
  #define LADDER_UNTRACED __attribute__((noinline, no_sanitize("thread"), no_sanitize_coverage))
#endif

// One access of the current thread, for those that the device performs itself.
void trace_access(const Place& place, const void* address, unsigned bytes, Operation operation);
// A cp.async, of `bytes` to shared memory, of which the first `source_bytes` are read from global
// memory. The store into shared memory is visible only when it has landed. It has an operation of
// its own, as ncu counts neither the store nor its wavefronts.
void trace_async_copy(const Place& place, const void* to, const void* from, unsigned bytes,
                      unsigned source_bytes);
void trace_async_landed(const void* address, unsigned bytes);

}  // namespace cpu_device
