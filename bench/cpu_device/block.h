#pragma once
// How a launch runs: blocks one after the other on each OS thread, the threads of a block as fibers
// that take turns at barriers.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fiber.h"
#include "findings.h"
#include "place.h"
#include "signals.h"

namespace cpu_device {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

constexpr unsigned WARP = 32;
constexpr size_t MAX_SHARED_BYTES = 232448;  // a block, static and dynamic; that of sm_90

struct Settings {
  unsigned os_threads = 0;     // 0: as many as the machine has
  bool reverse = false;        // run the threads of a block from the last to the first
  bool trace = true;           // look at memory accesses: for races, stray ones and
  bool count = true;           // the requests of warps they are, and what these cost
  unsigned kept_requests = 1;  // of each source line, with the offsets of their lanes
  // CPU time that a block may take before it is given up: an endless loop. It is only known to be
  // one by its time, which has to be far above what the largest block takes. 0: for ever.
  double block_seconds = 20;
  int multiprocessors = 132;  // what launchers are told: an H200's, so that they decide as there
};
Settings& settings();

// A cp.async that has been issued and not yet waited for: the data lands at the wait, so that a
// kernel which forgets to wait computes with what was there before.
struct AsyncCopy {
  void* to;
  const void* from;
  unsigned bytes, source_bytes;  // the rest is filled with zeros
  unsigned group;
};

enum class State : uint8_t { NEW, READY, AT_BARRIER, AT_WARP_BARRIER, DONE };

struct Thread {
  Fiber fiber;
  Index index;
  Place waiting;     // where, when at a barrier
  unsigned groups;   // cp.async groups committed so far
  uint32_t arrived;  // barriers of the block that this thread has arrived at
  std::vector<AsyncCopy> copies;
};

struct Warp {
  uint32_t live;      // lanes that have not returned
  uint32_t arrived;   // lanes at the current collective
  uint32_t barriers;  // __syncwarp so far; orders the accesses of its lanes
  void* operands[WARP];
};

class Tracer;

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs `body` once for each thread of the block at `block_index` of `grid`.
  Outcome run(Index block_index, Index grid, Index size, const std::function<void()>& body);

  Thread& current() { return threads_[current_]; }
  unsigned current_number() const { return current_; }
  unsigned lane() const { return current_ % WARP; }
  Warp& warp() { return warps_[current_ / WARP]; }
  unsigned thread_count() const { return static_cast<unsigned>(threads_.size()); }
  unsigned warp_count() const { return static_cast<unsigned>(warps_.size()); }
  uint64_t number() const {
    return (uint64_t{block_index.z} * grid.y + block_index.y) * grid.x + block_index.x;
  }
  uint32_t barriers() const { return barriers_; }  // of the block, completed, from 1
  bool on_stack(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(stacks_) < stack_bytes_;
  }
  unsigned char* dynamic_shared() { return dynamic_shared_; }

  void barrier(const Place& place);
  // An mbarrier of all threads of the block, whose phase is in `*barrier`: its arrival and its
  // wait. Nobody passes the wait before all have come to it: one of the orders a GPU may choose.
  void prepare_mbarrier(uint64_t* barrier, uint32_t count, const Place& place);
  void arrive(const Place& place);
  void wait_for_phase(uint64_t* barrier, uint32_t parity, const Place& place);
  // Every live lane of the warp arrives with its operand; the last one runs `together` for all,
  // with the operands by lane and the mask of lanes that take part.
  template <class Function>
  void warp_collective(void* operand, const Function& together, const Place& place) {
    if (!last_of_warp(operand, place)) return;
    Warp& w = warp();
    together(w.operands, w.live);
    w.arrived = 0;
  }

  Index block_index, grid, size;
  size_t dynamic_bytes = 0;        // of dynamic shared memory, that the launch has asked for
  std::shared_ptr<Tracer> tracer;  // of what runs here; see trace.cpp

 private:
  static void thread_main();
  // Continues with the next thread that can; back at the first once all have ended or none can.
  void yield(bool done = false);
  bool find_ready();
  bool resume(unsigned number);
  void release_barrier();
  // Waits for the others, or is the last and has made them ready to continue.
  bool last_of_warp(void* operand, const Place& place);
  void report_waiting(const std::string& why);

  std::vector<Thread> threads_;
  std::vector<State> states_;  // by thread
  std::vector<Warp> warps_;
  unsigned current_ = 0, live_ = 0, waiting_ = 0;
  bool reverse_ = false;
  bool apart_ = false;  // not all that wait at the block's barrier do so at the same place
  Place barrier_;       // where the first of them does
  uint32_t barriers_ = 0;
  Fiber scheduler_;
  Fiber* left_ = nullptr;  // the fiber that was switched away from last
  const std::function<void()>* body_ = nullptr;
  char* stacks_ = nullptr;
  size_t stack_bytes_ = 0;
  unsigned char* dynamic_shared_ = nullptr;
};

// The block that this OS thread is running, or null. (__thread: unlike thread_local it says that
// nothing is to be initialised, which kernels would otherwise ask before every use.)
extern __thread Block* this_block;

// Runs a grid of blocks. Throws std::invalid_argument for a configuration no GPU would take.
void run_grid(Index grid, Index block, size_t smem_bytes, const std::function<void()>& body);

}  // namespace cpu_device
