#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "digest.h"
#include "global_memory.h"
#include "symbols.h"
#include "trace.h"
#include "wgmma.h"

namespace cpu_device {

__thread Block* this_block = nullptr;

Settings& settings() {
  static Settings all;
  return all;
}

std::string triple(const Index& i) {
  return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
}

std::string current_thread() {
  return "thread " + triple(this_block->current().index) + " of block " +
         triple(this_block->block_index);
}

namespace {

std::atomic<uint64_t> copies_ahead{0};

#ifdef __wasm__  // whose memory is there when it is allocated, not where it is touched
constexpr size_t STACK_BYTES = 64 * 1024;
#else
constexpr size_t STACK_BYTES = 128 * 1024;
#endif
constexpr size_t GUARD_BYTES = 4096;  // of the lowest stack, which nobody may touch
constexpr unsigned COLORS = 128;      // times 64 bytes
// Where __shared__ arrays begin in a block's window: behind the dynamic part, at a multiple of
// 1024.
constexpr uint32_t STATIC_SHARED = (MAX_SHARED_BYTES + 1023) / 1024 * 1024;

uintptr_t static_shared_begin() {
  return thread_local_storage().begin & ~uintptr_t{1023};
}

}  // namespace

void count_ahead(uint64_t copies) {
  copies_ahead += copies;
}
uint64_t take_ahead() {
  return copies_ahead.exchange(0);
}

// --- A block ----------------------------------------------------------------------------------

Block::Block() {
  dynamic_shared_ = static_cast<unsigned char*>(std::aligned_alloc(1024, STATIC_SHARED));
  if (dynamic_shared_ == nullptr) throw std::bad_alloc();
}

Block::~Block() {
  std::free(dynamic_shared_);
}

uint32_t Block::shared_address(const void* pointer) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(dynamic_shared_);
  if (offset < STATIC_SHARED) return static_cast<uint32_t>(offset);
  return STATIC_SHARED + static_cast<uint32_t>(address - static_shared_begin());
}

unsigned char* Block::at(uint32_t shared_address) const {
  if (shared_address < STATIC_SHARED) return dynamic_shared_ + shared_address;
  return reinterpret_cast<unsigned char*>(static_shared_begin()) + (shared_address - STATIC_SHARED);
}

void Block::begin(Team& team, unsigned rank, std::vector<Thread*> threads) {
  team_ = &team;
  rank_ = rank;
  threads_ = std::move(threads);
  warps_.resize((threads_.size() + WARP - 1) / WARP);
  for (unsigned w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = std::min(WARP, thread_count() - w * WARP);
    warps_[w] = {};
    warps_[w].live = lanes == WARP ? ~0u : (1u << lanes) - 1;
  }
  live_ = thread_count();
  barriers_ = 1;
  for (Vote& vote : votes_) vote = {};
  at_barrier_.clear();
  gathering_.forget();
  for (NamedBarrier& barrier : named_) barrier = {};
  has_named_barriers_ = false;
  mbarriers_.forget();
  registers_.begin();
  wgmmas_.clear();
  for (unsigned i = 0; i < thread_count() / WARPGROUP; ++i)
    wgmmas_.push_back(std::make_shared<Wgmmas>());
  visits_.clear();
  leaving_.forget();
}

void Block::thread_returns(Thread& thread) {
  Warp& warp = warps_[thread.number / WARP];
  warp.live &= ~(1u << thread.number % WARP);
  --live_;
  wgmma_ends(thread);
  if (team_->traced()) leaving_.add(thread.knowledge, thread.moment());
  if (live_ > 0 && at_barrier_.size() == live_) release_barrier();
  if (live_ == 0) leave();
}

// Nobody may touch its shared memory any more.
void Block::leave() {
  for (Thread* thread : threads_)
    for (BulkStore& store : thread->bulk_stores) {
      report_finding(store.place,
                     "the block ends while TMA may still be reading its shared memory: no wait for "
                     "this store's group");
      store.copy();
    }
  mbarriers_.block_leaves();
  for (const Visit& visit : visits_)
    if (!leaving_.all().covers(visit.by))
      report_finding(visit.place,
                     "touches another block of the cluster, which may have left: nothing orders "
                     "the two");
}

void Block::touched_by_another(Moment moment, const Place& place) {
  if (live_ == 0)
    report_finding(place, "touches another block of the cluster, which has left");
  else if (team_->traced())
    visits_.push_back({moment, place});
}

void Block::barrier(const Place& place) {
  Thread& thread = current();
  thread.waiting = place;
  if (team_->traced()) gathering_.add(thread.knowledge, thread.moment());
  ++thread.clock;
  if (at_barrier_.empty()) {
    barrier_ = place;
    apart_ = false;
  } else if (!same_place(barrier_, place)) {
    apart_ = true;
  }
  at_barrier_.push_back(&thread);
  if (at_barrier_.size() == live_)
    release_barrier();
  else
    team_->wait(place, "at a block barrier that the others never reach");
}

void Block::release_barrier() {
  const Place& place = at_barrier_.front()->waiting;
  for (const Thread* thread : at_barrier_)
    if (apart_ && !same_place(place, thread->waiting))
      report_finding(thread->waiting,
                     "threads of one block wait at this barrier and at the one in line " +
                         std::to_string(place.line));
  if (live_ < thread_count())
    report_finding(place, "threads of the block have returned without reaching this barrier");
  for (Thread* thread : at_barrier_) {
    thread->knowledge = gathering_.all();
    team_->wake(*thread);
  }
  gathering_.forget();
  at_barrier_.clear();
  ++barriers_;
  trace_barrier(*this);
}

void Block::named_barrier(unsigned id, unsigned count, bool wait, const Place& place) {
  Thread& thread = current();
  trace_event(place, id * 4096 + count);
  if (id >= NAMED_BARRIERS || count % WARP != 0 || count == 0)
    return report_finding(
        place, "a named barrier that does not exist: there are 16, each for whole warps",
        "barrier " + std::to_string(id) + " for " + std::to_string(count) + " threads");
  has_named_barriers_ = true;
  NamedBarrier& barrier = named_[id];
  if (barrier.arrived > 0 && barrier.count != count)
    report_finding(place, "threads come to one named barrier with different counts",
                   std::to_string(count) + " and " + std::to_string(barrier.count));
  barrier.count = count;
  if (barrier.agent == 0) barrier.agent = team_->new_agent();
  if (settings().digest && team_->traced() && barrier.phase > 0 &&
      !thread.knowledge.covers({barrier.agent, barrier.phase}) &&
      !thread.knowledge.covers_all(barrier.had_come, thread.agent))
    report_finding(place,
                   "another order: counts at the barrier's turn before, whose end nothing puts "
                   "before it");
  if (team_->traced()) barrier.gathering.add(thread.knowledge, thread.moment());
  if (settings().digest) barrier.came.push_back(thread.moment());
  ++thread.clock;
  if (wait) barrier.waiting.push_back(&thread);
  if (++barrier.arrived < count) {
    if (wait) team_->wait(place, "at a named barrier that the others never reach");
    return;
  }
  const Moment complete{barrier.agent, barrier.phase + 1};
  for (Thread* other : barrier.waiting) {
    other->knowledge.learn(barrier.gathering.all());
    other->knowledge.learn(complete);
    team_->wake(*other);
  }
  std::vector<Moment> had_come = std::move(barrier.came);
  barrier = {};
  barrier.agent = complete.agent, barrier.phase = complete.clock;
  barrier.had_come = std::move(had_come);
}

bool Block::last_of_warp(void* operand, const Place& place, uint32_t mask) {
  Warp& w = warp();
  if (!(mask >> lane() & 1)) {
    report_finding(place, "a lane that its own mask does not name",
                   "lane " + std::to_string(lane()) + ", mask " + std::to_string(mask));
    mask |= 1u << lane();
  }
  w.operands[lane()] = operand;
  w.masks[lane()] = mask;
  w.arrived |= 1u << lane();
  current().waiting = place;
  uint32_t here = 0;
  for (unsigned l = 0; l < WARP; ++l)
    if ((w.arrived & mask) >> l & 1) here |= uint32_t{w.masks[l] == mask} << l;
  if (here != (w.live & mask)) {
    team_->wait(place, "at a warp barrier that the others never reach");
    return false;
  }
  const unsigned first = current_number() / WARP * WARP;
  const bool together = here == w.live && mbarriers_.any() && settings().digest && team_->traced();
  const Moment now = together ? next_of_warp() : Moment{};
  w.together += together;
  for (unsigned l = 0; l < WARP; ++l) {
    if ((here >> l & 1) == 0) continue;
    Thread& other = *threads_[first + l];
    if (together) other.knowledge.learn(now);
    if (!same_place(other.waiting, place))
      report_finding(
          place, "lanes of one warp meet here and in line " + std::to_string(other.waiting.line));
    team_->wake(other);
  }
  return true;
}

Moment Block::next_of_warp() {
  Warp& w = warp();
  if (w.agent == 0) w.agent = team_->new_agent();
  return {w.agent, w.together + 1};
}

void Block::warp_barrier(const Place& place, uint32_t mask) {
  warp_collective(
      nullptr,
      [&](void**, uint32_t live) {
        if (!team_->traced()) return;
        const unsigned first = current_number() / WARP * WARP;
        const auto each = [&](auto visit) {
          for (unsigned l = 0; l < WARP; ++l)
            if (live >> l & 1) visit(*threads_[first + l]);
        };
        Gathering all;
        each([&](Thread& thread) { all.add(thread.knowledge, thread.moment()); });
        each([&](Thread& thread) {
          thread.knowledge = all.all();
          ++thread.clock;
        });
      },
      place, mask);
}

uint32_t Block::converged(const Place& place) {
  Warp& w = warp();
  if (w.converging == 0)
    team_->later([this, &w, first = current_number() / WARP * WARP] {
      for (unsigned l = 0; l < WARP; ++l) {
        if ((w.converging >> l & 1) == 0) continue;
        w.converged[l] = 0;
        for (unsigned other = 0; other < WARP; ++other)
          if ((w.converging >> other & 1) &&
              same_place(threads_[first + l]->waiting, threads_[first + other]->waiting))
            w.converged[l] |= 1u << other;
        team_->wake(*threads_[first + l]);
      }
      w.converging = 0;
    });
  w.converging |= 1u << lane();
  team_->wait(place, "for the lanes of its warp that come here, too");
  return w.converged[lane()];
}

Vote Block::vote(bool yes, const Place& place) {
  Vote& vote = votes_[barriers_ % 2];
  if (vote.barrier != barriers_) vote = {barriers_, 0, 0};
  vote.yes += yes;
  ++vote.all;
  barrier(place);
  return vote;
}

namespace {

// "warps 0 to 3 of block (1, 0, 0)": threads in the order of their numbers. Whole warps are called
// by theirs.
std::string names_of(const std::vector<const Thread*>& threads) {
  constexpr unsigned SHOWN = 4;  // ranges
  std::string names;
  unsigned ranges = 0;
  for (size_t begin = 0, end; begin < threads.size(); begin = end) {
    const Thread &first = *threads[begin], *last = &first;
    for (end = begin + 1; end < threads.size(); ++end) {
      if (threads[end]->block != first.block || threads[end]->number != last->number + 1) break;
      last = threads[end];
    }
    if (++ranges > SHOWN)
      return names + " and " + std::to_string(threads.size() - begin) + " more threads";
    const bool whole =
        first.number % WARP == 0 &&
        ((last->number + 1) % WARP == 0 || last->number + 1 == first.block->thread_count());
    const unsigned unit = whole ? WARP : 1;
    const unsigned from = first.number / unit, to = last->number / unit;
    names += (ranges > 1 ? ", " : "") + std::string(whole ? "warp" : "thread") +
             (from == to ? " " + std::to_string(from)
                         : "s " + std::to_string(from) + " to " + std::to_string(to));
    if (end == threads.size() || threads[end]->block != first.block)
      names += " of block " + triple(first.block->block_index);
  }
  return names;
}

}  // namespace

// --- Several that run at the same time ---------------------------------------------------------

Team::Team(unsigned blocks) {
  for (unsigned i = 0; i < blocks; ++i) blocks_.push_back(std::make_unique<Block>());
}

Team::~Team() {
  trace_worker_is_lost();  // where it is destroyed because it cannot work
  free_stacks();
}

void Team::free_stacks() {
  if (stacks_ == nullptr) return;
  Fiber::abandon(stacks_, stack_bytes_);  // whoever gets these addresses next may use all of them
  munmap(stacks_, stack_bytes_);
  stacks_ = nullptr;
}

void Team::end_where_stacks_are_used_up() const {
#ifndef __wasm__
  constexpr size_t NEEDED_BYTES = 16 * 1024;  // by the device and the C library
  char* const here = static_cast<char*>(__builtin_frame_address(0));
  if (here < stacks_ + GUARD_BYTES + NEEDED_BYTES && on_stack(reinterpret_cast<uintptr_t>(here)))
    *static_cast<volatile char*>(stacks_) = 0;  // a fault
#endif
}

Outcome Team::run(Index first, Index grid, Index size, size_t dynamic_bytes,
                  const std::function<void()>& body) {
  body_ = &body;
  const unsigned per_block = size.x * size.y * size.z, count = per_block * block_count();
  if (stack_bytes_ < count * STACK_BYTES) {
    free_stacks();
    stack_bytes_ = count * STACK_BYTES;
    void* map = mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    mprotect(map, GUARD_BYTES, PROT_NONE);  // where a recursion ends
    stacks_ = static_cast<char*>(map);
  }
  if (threads_.size() != count) threads_ = std::vector<Thread>(count);
  states_.assign(count, State::NEW);
  reverse_ = settings().reverse;
  traced_ = tracer_exists();
  live_ = count;
  next_agent_ = count;
  later_.clear();
  cluster_gathering_.forget();
  cluster_knowledge_.forget();
  cluster_arrived_ = 0;
  cluster_phase_ = 0;
  cluster_phases_.assign(count, 0);
  cluster_waited_.assign(count, 0);
  cluster_waiting_.clear();
  for (unsigned rank = 0; rank < block_count(); ++rank) {
    Block& block = *blocks_[rank];
    block.block_index = {first.x + rank, first.y, first.z};
    block.grid = grid;
    block.size = size;
    block.dynamic_bytes = dynamic_bytes;
    std::vector<Thread*> threads;
    for (unsigned i = 0; i < per_block; ++i) {
      Thread& thread = threads_[rank * per_block + i];
      thread.block = &block;
      thread.number = i;
      thread.agent = rank * per_block + i;
      thread.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
      threads.push_back(&thread);
    }
    block.begin(*this, rank, std::move(threads));
  }

  resume(reverse_ ? count - 1 : 0);
  left_ = &scheduler_;
  this_block = current().block;
  const Outcome outcome = run_fibers(scheduler_, current().fiber);
  if (outcome == Outcome::ENDED && live_ > 0) report_waiting("deadlock: threads wait here, ");
  if (outcome == Outcome::INTERRUPTED)
    report_waiting("threads wait here for one that is given up, ");
  if (live_ > 0) Fiber::abandon(stacks_, stack_bytes_);
  if (outcome != Outcome::INTERRUPTED) trace_team_ends(*this);
  this_block = nullptr;
  return outcome;
}

void Team::thread_main() {
  Team* team = &this_block->team();
  Fiber::begin(*team->left_);
  (*team->body_)();
  Thread& thread = team->current();
  team->states_[team->current_] = State::DONE;
  --team->live_;
  thread.block->thread_returns(thread);
  team->cluster_complete();
  team->yield(true);
}

// The next thread in the order of their numbers becomes the current one, unless none can run: of
// the current one's warp, whose stacks the CPU has in its cache, or else of the next warp that has
// one.
bool Team::find_ready() {
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
bool Team::resume(unsigned number) {
  if (states_[number] > State::READY) return false;
  current_ = number;
  if (states_[number] == State::READY) return true;
  Thread& thread = threads_[number];
  states_[number] = State::READY;
  thread.for_what = "";
  thread.groups = 0;
  thread.copies.clear();
  thread.bulk_groups = 0;
  thread.bulk_ordered = 0;
  thread.bulk_agent = 0;
  thread.bulk_stores.clear();
  thread.knowledge.forget();
  thread.after.forget();
  thread.clock = 1;
  thread.barriers_fenced = 0;
  thread.wgmmas = thread.wgmmas_done = 0;
  thread.wgmma_groups = 0;
  thread.wgmma_fenced = false;
  thread.fragments_of_a.clear();
  thread.accumulators.clear();
  // Stacks that start at equal offsets would all fall into the same sets of the CPU's caches.
  thread.fiber.start(stacks_ + number * STACK_BYTES, STACK_BYTES - number % COLORS * 64,
                     thread_main);
  return true;
}

void Team::yield(bool done) {
  const unsigned self = current_;
  bool ready = find_ready();
  while (!ready && !later_.empty()) {
    const std::function<void()> work = std::move(later_.front());
    later_.pop_front();
    count_ahead(later_.size());
    work();
    ready = find_ready();
  }
  if (ready && current_ == self) return;
  Fiber& from = threads_[self].fiber;
  left_ = &from;
  this_block = current().block;
  Fiber::switch_to(from, ready ? current().fiber : scheduler_, done);
}

void Team::wait(const Place& place, const char* for_what) {
  current().waiting = place;
  current().for_what = for_what;
  states_[current_] = State::WAITS;
  yield();
}

void Team::wake(Thread& thread) {
  State& state = states_[thread.agent];
  if (state == State::WAITS) state = State::READY;
}

void Team::cluster_arrive(const Place& place, bool relaxed) {
  Thread& thread = current();
  if (cluster_phases_[thread.agent] > cluster_waited_[thread.agent])
    report_finding(place, "arrives at the cluster's barrier twice without a wait between");
  cluster_phases_[thread.agent] = cluster_phase_ + 1;
  if (traced_ && !relaxed)
    cluster_gathering_.add(thread.knowledge, thread.moment());
  else if (traced_ && thread.barriers_fenced > 0)
    cluster_gathering_.add({}, {thread.agent, thread.barriers_fenced});
  ++thread.clock;
  ++cluster_arrived_;
  cluster_complete();
}

// All that have not returned have arrived.
void Team::cluster_complete() {
  if (cluster_arrived_ == 0 || cluster_arrived_ < live_) return;
  unsigned missing = 0;
  for (unsigned i = 0; i < thread_count(); ++i)
    missing += states_[i] != State::DONE && cluster_phases_[i] == cluster_phase_;
  if (missing > 0) return;
  ++cluster_phase_;
  cluster_arrived_ = 0;
  cluster_knowledge_ = cluster_gathering_.all();
  cluster_gathering_.forget();
  for (Thread* thread : cluster_waiting_) wake(*thread);
  cluster_waiting_.clear();
}

void Team::cluster_wait(const Place& place) {
  Thread& thread = current();
  const uint32_t phase = cluster_phases_[thread.agent];
  if (phase == 0)
    return report_finding(place, "waits at the cluster's barrier without having arrived");
  cluster_waited_[thread.agent] = phase;
  while (cluster_phase_ < phase) {
    cluster_waiting_.push_back(&thread);
    wait(place, "at the cluster's barrier that the others never reach");
  }
  thread.knowledge.learn(cluster_knowledge_);
}

// Who waits where and for what, once for each place.
void Team::report_waiting(const std::string& why) {
  std::map<std::tuple<std::string, int, std::string>, std::vector<const Thread*>> together;
  const auto here = [&](const Thread& thread) -> std::vector<const Thread*>& {
    const auto& [file, line, pc] = thread.waiting;
    return together[{file, line, thread.for_what}];
  };
  std::vector<const Thread*> waiting;
  for (const Thread& thread : threads_)
    if (states_[thread.agent] == State::WAITS) waiting.push_back(&thread);
  for (const Thread* thread : waiting) here(*thread).push_back(thread);
  for (const Thread* thread : waiting) {
    std::string example;
    for (const auto& block : blocks_) example += block->mbarriers().waited_for_by(*thread);
    report_finding(thread->waiting, why + thread->for_what, example, {}, names_of(here(*thread)));
  }
}

// Teams that are not in use: with their stacks, whose pages exist then, and their tracers.
namespace {
std::mutex idle_mutex;
std::vector<std::unique_ptr<Team>> idle;

std::unique_ptr<Team> take_team(unsigned blocks) {
  const std::lock_guard lock(idle_mutex);
  const auto found = std::find_if(idle.begin(), idle.end(),
                                  [&](const auto& team) { return team->block_count() == blocks; });
  if (found == idle.end()) return std::make_unique<Team>(blocks);
  std::unique_ptr<Team> team = std::move(*found);
  idle.erase(found);
  return team;
}
void give_back(std::unique_ptr<Team> team) {
  const std::lock_guard lock(idle_mutex);
  idle.push_back(std::move(team));
}
}  // namespace

void run_grid(Index grid, Index block, unsigned cluster, size_t smem_bytes,
              const std::function<void()>& body) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || smem_bytes > MAX_SHARED_BYTES || grid.y > 65535 ||
      grid.z > 65535 || grid.x > INT32_MAX || uint64_t{grid.x} * grid.y * grid.z == 0)
    throw std::invalid_argument("invalid launch configuration: grid " + std::to_string(grid.x) +
                                " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                                ", " + std::to_string(threads) + " threads, " +
                                std::to_string(smem_bytes) + " bytes of shared memory");
  if (cluster == 0 || cluster > MAX_CLUSTER || grid.x % cluster != 0)
    throw std::invalid_argument("invalid launch configuration: clusters of " +
                                std::to_string(cluster) + " blocks in a grid of " +
                                std::to_string(grid.x) + " along x");
  const unsigned clusters_x = grid.x / cluster;
  const uint64_t clusters = uint64_t{clusters_x} * grid.y * grid.z;
  findings_of_next_launch();
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    const SignalGuard guard;
    std::unique_ptr<Team> team = take_team(cluster);
    trace_worker_begins(*team, smem_bytes);
    for (uint64_t i; (i = next++) < clusters;) {
      const Outcome outcome = team->run({static_cast<unsigned>(i % clusters_x) * cluster,
                                         static_cast<unsigned>(i / clusters_x % grid.y),
                                         static_cast<unsigned>(i / clusters_x / grid.y)},
                                        grid, block, smem_bytes, body);
      if (outcome == Outcome::ENDED) continue;
      next = clusters;  // a GPU ends the launch, too
      if (outcome == Outcome::INTERRUPTED) {
        trace_worker_is_lost();
        (void)team.release();  // never to be touched again
        return;
      }
    }
    trace_worker_ends();
    give_back(std::move(team));
  };
  uint64_t workers = settings().os_threads;
  if (workers == 0) workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::future<void>> pool;  // which pass on that there is no memory for a team
  for (uint64_t i = 1; i < std::min(workers, clusters); ++i)
    pool.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& worker : pool) worker.get();
  global_memory_of_next_launch();
}

}  // namespace cpu_device
