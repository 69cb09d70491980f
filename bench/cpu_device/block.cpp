#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "trace.h"

namespace cpu_device {

thread_local Block* this_block = nullptr;

Settings& settings() {
  static Settings all;
  return all;
}

namespace {

constexpr size_t STACK_BYTES = 128 * 1024;

std::mutex findings_mutex;
std::vector<Finding> findings;

bool same_place(const Place& a, const Place& b) {
  return a.pc == b.pc && a.line == b.line &&
         (a.file == b.file || (a.file && b.file && std::strcmp(a.file, b.file) == 0));
}

}  // namespace

void report_finding(const Place& place, const std::string& what) {
  const std::lock_guard lock(findings_mutex);
  for (Finding& finding : findings) {
    if (finding.what == what && same_place(finding.place, place)) {
      ++finding.count;
      return;
    }
  }
  findings.push_back({place, what, 1});
}

std::vector<Finding> take_findings() {
  const std::lock_guard lock(findings_mutex);
  return std::exchange(findings, {});
}

Block::Block() {
  dynamic_shared_ = static_cast<unsigned char*>(std::aligned_alloc(1024, MAX_SHARED_BYTES));
}

Block::~Block() {
  std::free(dynamic_shared_);
  if (stacks_ != nullptr) munmap(stacks_, stack_bytes_);
}

void Block::run(Index index, Index grid_size, Index block_size, const std::function<void()>& body) {
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
    stacks_ = static_cast<char*>(map);
  }
  threads_.resize(count);
  warps_.resize((count + WARP - 1) / WARP);
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = threads_[i];
    thread.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    thread.state = State::READY;
    thread.groups = 0;
    thread.arrived = 1;
    thread.copies.clear();
    // Stacks that start at equal offsets would all fall into the same sets of the CPU's caches.
    thread.fiber.start(stacks_ + i * STACK_BYTES, STACK_BYTES - i % WARP * 64, thread_main);
  }
  for (unsigned w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = std::min(WARP, count - w * WARP);
    warps_[w] = {lanes == WARP ? ~0u : (1u << lanes) - 1, 0, 0, {}};
  }
  live_ = count;
  waiting_ = 0;
  barriers_ = 1;
  stuck_ = false;

  this_block = this;
  trace_block_begins();
  while (live_ > 0 && !stuck_) {
    bool progress = false;
    for (unsigned k = 0; k < count; ++k) {
      current_ = settings().reverse ? count - 1 - k : k;
      if (threads_[current_].state != State::READY) continue;
      progress = true;
      Fiber::switch_to(scheduler_, threads_[current_].fiber);
    }
    if (!progress) report_deadlock();
  }
  trace_block_ends();
  this_block = nullptr;
}

void Block::thread_main() {
  Block* block = this_block;
  Fiber::begin(block->scheduler_);
  (*block->body_)();
  Thread& self = block->current();
  self.state = State::DONE;
  block->warp().live &= ~(1u << block->lane());
  --block->live_;
  if (block->live_ > 0 && block->waiting_ == block->live_) block->release_barrier();
  block->yield(true);
}

void Block::yield(bool done) {
  Fiber::switch_to(current().fiber, scheduler_, done);
}

void Block::barrier(const Place& place) {
  current().waiting = place;
  current().arrived = barriers_ + 1;
  current().state = State::AT_BARRIER;
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
  const Thread* first = nullptr;
  for (Thread& thread : threads_) {
    if (thread.state != State::AT_BARRIER) continue;
    if (first == nullptr) first = &thread;
    if (!same_place(first->waiting, thread.waiting))
      report_finding(thread.waiting,
                     "threads of one block wait at this barrier and at the one in line " +
                         std::to_string(first->waiting.line));
    thread.state = State::READY;
  }
  if (live_ < thread_count())
    report_finding(first->waiting,
                   "threads of the block have returned without reaching this barrier");
  waiting_ = 0;
  ++barriers_;
  trace_barrier();
}

void Block::warp_collective(void* operand, const std::function<void(void**, uint32_t)>& together,
                            const Place& place) {
  Warp& w = warp();
  w.operands[lane()] = operand;
  w.arrived |= 1u << lane();
  current().waiting = place;
  current().state = State::AT_WARP_BARRIER;
  if (w.arrived != w.live) {
    yield();
    return;
  }
  const unsigned first = current_ / WARP * WARP;
  for (unsigned l = 0; l < WARP; ++l) {
    if ((w.live >> l & 1) == 0) continue;
    Thread& thread = threads_[first + l];
    if (!same_place(thread.waiting, place))
      report_finding(
          place, "lanes of one warp meet here and in line " + std::to_string(thread.waiting.line));
    thread.state = State::READY;
  }
  together(w.operands, w.live);
  w.arrived = 0;
}

// Nobody can continue: says who waits where, once for each place, and gives the block up.
void Block::report_deadlock() {
  for (unsigned i = 0; i < thread_count(); ++i) {
    const Thread& thread = threads_[i];
    if (thread.state == State::DONE) continue;
    report_finding(thread.waiting, std::string("deadlock: threads wait here, at a ") +
                                       (thread.state == State::AT_BARRIER ? "block" : "warp") +
                                       " barrier that the others never reach");
  }
  stuck_ = true;
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
    Block runner;
    trace_worker_begins(runner.dynamic_shared());
    for (uint64_t i; (i = next++) < blocks;)
      runner.run({static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
                  static_cast<unsigned>(i / grid.x / grid.y)},
                 grid, block, body);
    trace_worker_ends();
  };
  uint64_t workers = settings().os_threads;
  if (workers == 0) workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (uint64_t i = 1; i < std::min(workers, blocks); ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
}

}  // namespace cpu_device
