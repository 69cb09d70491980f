#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "trace.h"

namespace cpu_device {

__thread Block* this_block = nullptr;

Settings& settings() {
  static Settings all;
  return all;
}

namespace {

constexpr size_t STACK_BYTES = 128 * 1024;
constexpr unsigned COLORS = 128;  // times 64 bytes

}  // namespace

Block::Block() {
  dynamic_shared_ = static_cast<unsigned char*>(std::aligned_alloc(1024, MAX_SHARED_BYTES));
}

Block::~Block() {
  std::free(dynamic_shared_);
  if (stacks_ != nullptr) munmap(stacks_, stack_bytes_);
}

Outcome Block::run(Index index, Index grid_size, Index block_size,
                   const std::function<void()>& body) {
  block_index = index;
  grid = grid_size;
  size = block_size;
  body_ = &body;
  const unsigned count = size.x * size.y * size.z;
  if (stack_bytes_ < count * STACK_BYTES) {
    if (stacks_ != nullptr) munmap(stacks_, stack_bytes_);
    stack_bytes_ = count * STACK_BYTES;
    void* map = mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    mprotect(map, 4096, PROT_NONE);  // where a recursion ends
    stacks_ = static_cast<char*>(map);
  }
  threads_.resize(count);
  states_.assign(count, State::NEW);
  warps_.resize((count + WARP - 1) / WARP);
  for (unsigned w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = std::min(WARP, count - w * WARP);
    warps_[w] = {lanes == WARP ? ~0u : (1u << lanes) - 1, 0, 0, {}};
  }
  reverse_ = settings().reverse;
  live_ = count;
  waiting_ = 0;
  apart_ = false;
  barriers_ = 1;

  this_block = this;
  resume(reverse_ ? count - 1 : 0);
  left_ = &scheduler_;
  const Outcome outcome = run_fibers(scheduler_, current().fiber);
  if (outcome == Outcome::ENDED && live_ > 0) report_waiting("deadlock: threads wait here");
  if (outcome == Outcome::INTERRUPTED) report_waiting("threads wait here for one that is given up");
  if (live_ > 0) Fiber::abandon(stacks_, stack_bytes_);
  if (outcome != Outcome::INTERRUPTED) trace_block_ends(barriers_);
  this_block = nullptr;
  return outcome;
}

void Block::thread_main() {
  Block* block = this_block;
  Fiber::begin(*block->left_);
  (*block->body_)();
  block->states_[block->current_] = State::DONE;
  block->warp().live &= ~(1u << block->lane());
  --block->live_;
  if (block->live_ > 0 && block->waiting_ == block->live_) block->release_barrier();
  block->yield(true);
}

// The next thread in the order of their numbers becomes the current one, unless none can run: of
// the current one's warp, whose stacks the CPU has in its cache, or else of the next warp that has
// one.
bool Block::find_ready() {
  const unsigned count = thread_count();
  const auto next_in = [&](unsigned i, unsigned begin, unsigned end) {
    if (reverse_) return i == begin ? end - 1 : i - 1;
    return i == end - 1 ? begin : i + 1;
  };
  const unsigned warp_begin = current_ / WARP * WARP;
  const unsigned warp_end = std::min(warp_begin + WARP, count);
  for (unsigned i = next_in(current_, warp_begin, warp_end); i != current_;
       i = next_in(i, warp_begin, warp_end))
    if (resume(i)) return true;
  const unsigned last = reverse_ ? warp_begin : warp_end - 1;
  for (unsigned i = next_in(last, 0, count); i != last; i = next_in(i, 0, count))
    if (resume(i)) return true;
  return resume(last);
}

// Makes a thread that can run the current one.
bool Block::resume(unsigned number) {
  if (states_[number] > State::READY) return false;
  current_ = number;
  if (states_[number] == State::READY) return true;
  Thread& thread = threads_[number];
  states_[number] = State::READY;
  thread.index = {number % size.x, number / size.x % size.y, number / size.x / size.y};
  thread.groups = 0;
  thread.arrived = 1;
  thread.copies.clear();
  // Stacks that start at equal offsets would all fall into the same sets of the CPU's caches.
  thread.fiber.start(stacks_ + number * STACK_BYTES, STACK_BYTES - number % COLORS * 64,
                     thread_main);
  return true;
}

void Block::yield(bool done) {
  Fiber& self = current().fiber;
  Fiber& next = find_ready() ? current().fiber : scheduler_;
  left_ = &self;
  Fiber::switch_to(self, next, done);
}

void Block::barrier(const Place& place) {
  current().waiting = place;
  current().arrived = barriers_ + 1;
  states_[current_] = State::AT_BARRIER;
  if (waiting_ == 0)
    barrier_ = place;
  else if (!same_place(barrier_, place))
    apart_ = true;
  if (++waiting_ == live_)
    release_barrier();
  else
    yield();
}

void Block::prepare_mbarrier(uint64_t* barrier, uint32_t count, const Place& place) {
  *barrier = 0;
  if (count != thread_count())
    report_finding(place, "an mbarrier for " + std::to_string(count) + " arrivals in a block of " +
                              std::to_string(thread_count()) +
                              " threads: this device knows only those of all threads");
}

void Block::arrive(const Place& place) {
  if (current().arrived > barriers_)
    report_finding(place, "arrives at an mbarrier twice without a wait between");
  current().arrived = barriers_ + 1;
}

void Block::wait_for_phase(uint64_t* barrier, uint32_t parity, const Place& place) {
  const uint64_t phase = *barrier;
  if (phase % 2 != parity) return;  // that phase is the one before, and over
  if (current().arrived == barriers_)
    report_finding(place, "waits for a phase of an mbarrier that it has not arrived at");
  this->barrier(place);
  if (*barrier == phase) *barrier = phase + 1;
}

void Block::release_barrier() {
  const auto waits = [&](unsigned i) { return states_[i] == State::AT_BARRIER; };
  unsigned first = 0;
  while (!waits(first)) ++first;
  const Place& place = threads_[first].waiting;
  for (unsigned i = first; apart_ && i < thread_count(); ++i)
    if (waits(i) && !same_place(place, threads_[i].waiting))
      report_finding(threads_[i].waiting,
                     "threads of one block wait at this barrier and at the one in line " +
                         std::to_string(place.line));
  if (live_ < thread_count())
    report_finding(place, "threads of the block have returned without reaching this barrier");
  for (State& state : states_) state = state == State::AT_BARRIER ? State::READY : state;
  waiting_ = 0;
  apart_ = false;
  ++barriers_;
  trace_barrier();
}

bool Block::last_of_warp(void* operand, const Place& place) {
  Warp& w = warp();
  w.operands[lane()] = operand;
  w.arrived |= 1u << lane();
  current().waiting = place;
  if (w.arrived != w.live) {
    states_[current_] = State::AT_WARP_BARRIER;
    yield();
    return false;
  }
  const unsigned first = current_ / WARP * WARP;
  for (unsigned l = 0; l < WARP; ++l) {
    if ((w.live >> l & 1) == 0) continue;
    const Place& other = threads_[first + l].waiting;
    if (!same_place(other, place))
      report_finding(place,
                     "lanes of one warp meet here and in line " + std::to_string(other.line));
    states_[first + l] = State::READY;
  }
  return true;
}

// Who waits where, once for each place.
void Block::report_waiting(const std::string& why) {
  for (unsigned i = 0; i < thread_count(); ++i) {
    const Thread& thread = threads_[i];
    if (states_[i] != State::AT_BARRIER && states_[i] != State::AT_WARP_BARRIER) continue;
    report_finding(thread.waiting, why + ", at a " +
                                       (states_[i] == State::AT_BARRIER ? "block" : "warp") +
                                       " barrier that the others never reach");
  }
}

// Blocks that are not in use: with their stacks, whose pages exist then, and their tracers.
std::mutex idle_mutex;
std::vector<std::unique_ptr<Block>> idle;

std::unique_ptr<Block> take_block() {
  const std::lock_guard lock(idle_mutex);
  if (idle.empty()) return std::make_unique<Block>();
  std::unique_ptr<Block> block = std::move(idle.back());
  idle.pop_back();
  return block;
}
void give_back(std::unique_ptr<Block> block) {
  const std::lock_guard lock(idle_mutex);
  idle.push_back(std::move(block));
}

void run_grid(Index grid, Index block, size_t smem_bytes, const std::function<void()>& body) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || smem_bytes > MAX_SHARED_BYTES || grid.y > 65535 ||
      grid.z > 65535 || grid.x > INT32_MAX || uint64_t{grid.x} * grid.y * grid.z == 0)
    throw std::invalid_argument("invalid launch configuration: grid " + std::to_string(grid.x) +
                                " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                                ", " + std::to_string(threads) + " threads, " +
                                std::to_string(smem_bytes) + " bytes of shared memory");
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    const SignalGuard guard;
    std::unique_ptr<Block> runner = take_block();
    runner->dynamic_bytes = smem_bytes;
    trace_worker_begins(*runner);
    for (uint64_t i; (i = next++) < blocks;) {
      const Outcome outcome = runner->run(
          {static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
           static_cast<unsigned>(i / grid.x / grid.y)},
          grid, block, body);
      if (outcome == Outcome::ENDED) continue;
      next = blocks;  // a GPU ends the launch, too
      if (outcome == Outcome::INTERRUPTED) {
        trace_worker_is_lost();
        (void)runner.release();  // never to be touched again
        return;
      }
    }
    trace_worker_ends();
    give_back(std::move(runner));
  };
  uint64_t workers = settings().os_threads;
  if (workers == 0) workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (uint64_t i = 1; i < std::min(workers, blocks); ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
}

}  // namespace cpu_device
