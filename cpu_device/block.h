#pragma once
// How a launch runs: clusters one after the other on each OS thread, the threads of a cluster's
// blocks as fibers that take turns where they wait.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fiber.h"
#include "findings.h"
#include "knowledge.h"
#include "mbarrier.h"
#include "place.h"
#include "registers.h"
#include "signals.h"

namespace cpu_device {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
std::string triple(const Index& index);  // "(1, 2, 0)"

constexpr unsigned WARP = 32;
constexpr unsigned WARPGROUP = 4 * WARP;
constexpr size_t MAX_SHARED_BYTES = 232448;  // a block, static and dynamic; that of sm_90
constexpr unsigned MAX_CLUSTER = 8;          // blocks
constexpr unsigned NAMED_BARRIERS = 16;      // of a block; 0 is that of __syncthreads

struct Settings {
  unsigned os_threads = 0;     // 0: as many as the machine has
  bool reverse = false;        // run the threads of a block from the last to the first
  bool trace = true;           // look at memory accesses: for races, stray ones and
  bool count = true;           // the requests of warps they are, and what these cost
  bool digest = false;         // and make a number of all of them (digest.h), and look at what
                               // other orders of threads and blocks might do
  unsigned kept_requests = 1;  // of each source line, with the offsets of their lanes
  // CPU time that the blocks of a cluster may take before they are given up: an endless loop. It is
  // only known to be one by its time, which has to be far above what the largest takes. 0: for
  // ever.
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

// A copy by TMA from shared memory that a thread has ordered. It takes place when the thread waits
// for it.
struct BulkStore {
  std::function<void()> copy;
  Place place;
  unsigned group;
  uint32_t number;  // of this thread's, from 1
};

// The registers of a thread that wgmma adds to, while it does: `values` has what comes of it, and
// they themselves are undefined.
struct Accumulators {
  float* registers;
  unsigned count;
  unsigned pending = 0;  // wgmmas
  bool touched = true;   // by the thread, since its last wgmma.fence
  std::vector<float> values;
};

// Those of A, where they are not in shared memory. It is read at once, which the GPU does not
// promise.
struct FragmentOfA {
  const uint32_t* registers;
  uint32_t wgmma;  // the number of the last that reads it
};

// Copies that are still on their way when a thread has waited for earlier ones, or when another box
// lands; added up until they are taken. 0: nothing was brought ahead of its use.
void count_ahead(uint64_t copies);
uint64_t take_ahead();

enum class State : uint8_t { NEW, READY, WAITS, DONE };

class Block;
class Team;
struct Wgmmas;

struct Thread {
  Fiber fiber;
  Index index;
  Block* block;
  unsigned number;       // in its block
  Agent agent;           // among the threads of the cluster
  Place waiting;         // where, when it waits,
  const char* for_what;  // and for what
  unsigned groups;       // cp.async groups committed so far
  std::vector<AsyncCopy> copies;
  unsigned bulk_groups;
  uint32_t bulk_ordered;  // stores
  Agent bulk_agent;       // that reads for them, 0 before the first
  std::deque<BulkStore> bulk_stores;
  // What it knows of the others' accesses, and its own clock; see knowledge.h.
  Knowledge knowledge;
  Knowledge after;  // what has happened before, and nothing of it need be visible
  uint32_t clock;
  uint32_t barriers_fenced;      // its clock at the last fence.mbarrier_init; 0: none
  uint32_t wgmmas, wgmmas_done;  // started, and waited for
  unsigned wgmma_groups;
  bool wgmma_fenced;
  std::vector<std::unique_ptr<Accumulators>> accumulators;
  std::vector<FragmentOfA> fragments_of_a;

  Moment moment() const { return {agent, clock}; }
};

struct Warp {
  uint32_t live;         // lanes that have not returned
  uint32_t arrived;      // lanes at a collective,
  uint32_t masks[WARP];  // which is for these lanes
  void* operands[WARP];
  Agent agent;               // its clock is
  uint32_t together;         // how often all live lanes were at a collective
  uint32_t converging;       // lanes that wait in converged()
  uint32_t converged[WARP];  // what it returns
};

// Of the threads of a block.
struct Vote {
  uint32_t barrier;  // that all wait at
  unsigned yes, all;
};

// bar.sync: any number of a block's threads.
struct NamedBarrier {
  unsigned count = 0;  // of threads it is for
  unsigned arrived = 0;
  std::vector<Thread*> waiting;
  Gathering gathering;
  Agent agent = 0;     // its clock is
  uint32_t phase = 0;  // how often it was complete
  // With settings().digest: who has come to this turn, and who had come to the one before.
  std::vector<Moment> came, had_come;
};

class Tracer;

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Thread& current();
  unsigned current_number() { return current().number; }
  unsigned lane() { return current_number() % WARP; }
  Warp& warp() { return warps_[current_number() / WARP]; }
  unsigned thread_count() const { return static_cast<unsigned>(threads_.size()); }
  unsigned warp_count() const { return static_cast<unsigned>(warps_.size()); }
  Thread& thread(unsigned number) { return *threads_[number]; }
  unsigned live() const { return live_; }
  uint64_t number() const {
    return (uint64_t{block_index.z} * grid.y + block_index.y) * grid.x + block_index.x;
  }
  unsigned rank() const { return rank_; }          // in the cluster
  uint32_t barriers() const { return barriers_; }  // of the block, completed, from 1
  Team& team() const { return *team_; }
  // Shared memory by its address in the block's own window, which begins with the dynamic part.
  unsigned char* dynamic_shared() { return dynamic_shared_; }
  // An address as instructions have it, in the block's own window of shared memory: first its
  // dynamic part, then the __shared__ arrays.
  uint32_t shared_address(const void* pointer) const;
  unsigned char* at(uint32_t shared_address) const;

  void barrier(const Place& place);
  void named_barrier(unsigned id, unsigned count, bool wait, const Place& place);
  bool has_named_barriers() const { return has_named_barriers_; }
  Mbarriers& mbarriers() { return mbarriers_; }
  Registers& registers() { return registers_; }
  Wgmmas& wgmmas(unsigned warpgroup) { return *wgmmas_[warpgroup]; }
  // Another block arrives here, or writes here; this one must not leave before it knows `moment`.
  void touched_by_another(Moment moment, const Place& place);

  // Every live lane of `mask` arrives with its operand; the last one runs `together` for all, with
  // the operands by lane and the lanes that take part.
  template <class Function>
  void warp_collective(void* operand, const Function& together, const Place& place,
                       uint32_t mask = ~0u) {
    if (!last_of_warp(operand, place, mask)) return;
    Warp& w = warp();
    together(w.operands, w.live & mask);
    w.arrived &= ~mask;
  }
  // All live lanes of `mask`, whose accesses are ordered by it.
  void warp_barrier(const Place& place, uint32_t mask = ~0u);
  // When all live lanes of the warp come to their next collective, as they know afterwards; with
  // settings().digest.
  Moment next_of_warp();
  // The lanes of the warp that come to this place before any of them goes on.
  uint32_t converged(const Place& place);
  // A barrier() that counts who says yes.
  Vote vote(bool yes, const Place& place);

  Index block_index, grid, size;
  size_t dynamic_bytes = 0;  // of the launch

 private:
  friend class Team;
  void begin(Team& team, unsigned rank, std::vector<Thread*> threads);
  void thread_returns(Thread& thread);
  void leave();
  void release_barrier();
  // Waits for the others, or is the last and has made them ready to continue.
  bool last_of_warp(void* operand, const Place& place, uint32_t mask);

  Team* team_ = nullptr;
  unsigned rank_ = 0;
  std::vector<Thread*> threads_;
  std::vector<Warp> warps_;
  unsigned live_ = 0;
  bool apart_ = false;  // not all that wait at the block's barrier do so at the same place
  Place barrier_;       // where the first of them does
  uint32_t barriers_ = 0;
  std::vector<Thread*> at_barrier_;
  Vote votes_[2] = {};  // while threads still read the one, others may fill the next
  Gathering gathering_;
  NamedBarrier named_[NAMED_BARRIERS];
  bool has_named_barriers_ = false;
  Mbarriers mbarriers_{*this};
  Registers registers_{*this};
  std::vector<std::shared_ptr<Wgmmas>> wgmmas_;  // by warpgroup
  struct Visit {
    Moment by;
    Place place;
  };
  std::vector<Visit> visits_;  // by other blocks
  Gathering leaving_;          // what its threads know when they return
  unsigned char* dynamic_shared_ = nullptr;
};

// The blocks of a cluster, which run at the same time; or one block.
class Team {
 public:
  explicit Team(unsigned blocks);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs `body` once for each thread of the blocks from `first` on, along x.
  Outcome run(Index first, Index grid, Index size, size_t dynamic_bytes,
              const std::function<void()>& body);

  unsigned thread_count() const { return static_cast<unsigned>(threads_.size()); }
  unsigned block_count() const { return static_cast<unsigned>(blocks_.size()); }
  Block& block(unsigned rank) { return *blocks_[rank]; }
  Thread& current() { return threads_[current_]; }
  bool on_stack(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(stacks_) < stack_bytes_;
  }
  // A recursion ends here, on entry to a function of the kernel, and not a little later, in a
  // function that it calls: should that hold a lock of the C library, nothing could be reported.
  void end_where_stacks_are_used_up() const;
  // A number for what works beside the threads.
  Agent new_agent() { return next_agent_++; }
  bool traced() const { return traced_; }

  // The current thread stops here until somebody wakes it.
  void wait(const Place& place, const char* for_what);
  void wake(Thread& thread);
  // What is done when no thread can continue: as late as can be, as far as the threads can tell.
  void later(std::function<void()> work) { later_.push_back(std::move(work)); }

  // Half of a barrier of all threads of the cluster, and the other. A relaxed arrival orders what
  // was before the thread's fence.mbarrier_init.
  void cluster_arrive(const Place& place, bool relaxed = false);
  void barriers_fenced() { current().barriers_fenced = current().clock++; }
  void cluster_wait(const Place& place);

  std::shared_ptr<Tracer> tracer;  // of what runs here; see trace.cpp

 private:
  friend class Block;
  static void thread_main();
  // Continues with the next thread that can; back at the first once all have ended or none can.
  void yield(bool done = false);
  bool find_ready();
  bool resume(unsigned number);
  void cluster_complete();
  void report_waiting(const std::string& why);
  void free_stacks();

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Thread> threads_;
  std::vector<State> states_;  // by thread
  unsigned current_ = 0, live_ = 0;
  bool reverse_ = false, traced_ = false;
  Agent next_agent_ = 0;
  std::deque<std::function<void()>> later_;
  Gathering cluster_gathering_;
  Knowledge cluster_knowledge_;
  unsigned cluster_arrived_ = 0;
  uint32_t cluster_phase_ = 0;
  std::vector<uint32_t> cluster_phases_;  // by thread: the last it has arrived at, from 1
  std::vector<uint32_t> cluster_waited_;  // and the last it has waited for
  std::vector<Thread*> cluster_waiting_;
  Fiber scheduler_;
  Fiber* left_ = nullptr;  // the fiber that was switched away from last
  const std::function<void()>* body_ = nullptr;
  char* stacks_ = nullptr;
  size_t stack_bytes_ = 0;
};

// The block that the current thread is of, or null. (__thread: unlike thread_local it says that
// nothing is to be initialised, which kernels would otherwise ask before every use.)
extern __thread Block* this_block;

// "thread (1, 2, 0) of block (3, 4, 0)": which fiber runs.
std::string current_thread();

inline Thread& Block::current() {
  return team_->current();
}

// Runs a grid of blocks, `cluster` neighbours along x in a cluster. Throws std::invalid_argument
// for a configuration no GPU would take.
void run_grid(Index grid, Index block, unsigned cluster, size_t smem_bytes,
              const std::function<void()>& body);

}  // namespace cpu_device
