#include "mbarrier.h"

#include <algorithm>

#include "block.h"
#include "digest.h"
#include "wgmma.h"

namespace cpu_device {

void Mbarriers::init(uint64_t* barrier, uint32_t count, const Place& place) {
  trace_event(place, uint64_t{count} << 32 | block_.shared_address(barrier));
  Team& team = block_.team();
  if (reinterpret_cast<uintptr_t>(barrier) % sizeof(uint64_t) != 0)
    report_finding(place, "an mbarrier at an address that is no multiple of 8");
  const uint32_t end = block_.shared_address(barrier) + sizeof(uint64_t);
  if (end <= MAX_SHARED_BYTES && end > block_.dynamic_bytes)
    report_finding(
        place, "an mbarrier beyond the launch's dynamic shared memory",
        "it ends at byte " + std::to_string(end) + " of " + std::to_string(block_.dynamic_bytes));
  if (count == 0) report_finding(place, "an mbarrier for no arrivals");
  auto& entry = all_[barrier];
  if (entry != nullptr) {
    if (!entry->waiting.empty() || entry->on_the_way > 0)
      report_finding(place,
                     "initialises an mbarrier that is in use: threads wait for it, or TMA counts "
                     "at it",
                     "", entry->initialised);
    replaced_.push_back(std::move(entry));
  }
  entry = std::make_unique<Mbarrier>();
  entry->count = entry->pending = std::max(count, 1u);
  entry->initialised = place;
  entry->by = team.current().moment();
  entry->agent = team.new_agent();
}

void Mbarriers::fence() {
  const Agent self = block_.team().current().agent;
  for (auto& [address, barrier] : all_)
    if (barrier->by.agent == self) barrier->fenced = true;
}

Mbarrier* Mbarriers::find(uint64_t* address, const Place& place) {
  const auto found = all_.find(address);
  if (found == all_.end()) {
    report_finding(place, "an mbarrier that nobody has initialised yet");
    return nullptr;
  }
  Mbarrier& barrier = *found->second;
  const Thread& thread = block_.team().current();
  if (block_.team().traced() && barrier.by.agent != thread.agent &&
      !thread.knowledge.covers(barrier.by))
    report_finding(place,
                   "race: uses an mbarrier that another thread has initialised, with no barrier "
                   "between",
                   "", barrier.initialised);
  return &barrier;
}

// Arrivals and waits that belong to one phase each, in whatever order threads run, are what makes
// one run speak for all: docs/proofs.md.
void Mbarriers::must_know(const Mbarrier& barrier, uint64_t* address, uint32_t phases,
                          const char* otherwise, const Place& place) const {
  if (!settings().digest || !block_.team().traced() || phases == 0) return;
  const Thread& thread = block_.team().current();
  const Moment complete{barrier.agent, phases};
  if (!thread.knowledge.covers(complete) && !thread.after.covers(complete) &&
      !knows_all_arrived(barrier, address, phases - 1))
    report_finding(place, otherwise, "", barrier.initialised);
}

bool Mbarriers::knows_all_arrived(const Mbarrier& barrier, uint64_t* address,
                                  uint32_t phase) const {
  using Arrival = Mbarrier::Arrival;
  Team& team = block_.team();
  const Thread& self = team.current();
  const auto knows = [&](const Arrival& a) {
    return a.thread == &self || self.knowledge.covers(a.moment);
  };
  const auto together = [](const Arrival& a, const Arrival& b) {
    return a.thread->block == b.thread->block &&
           a.thread->number / WARP == b.thread->number / WARP && same_place(a.place, b.place);
  };
  const auto knows_lane = [&](const Arrival& a, unsigned rank) {
    Block& other = team.block(rank);
    const auto& there = other.mbarriers().all_;
    const auto found =
        there.find(reinterpret_cast<uint64_t*>(other.at(block_.shared_address(address))));
    if (found == there.end()) return false;
    const Mbarrier& same = *found->second;
    const auto& came = same.arrived[phase % 3];
    return phase <= same.phase && same.phase <= phase + 2 &&
           std::any_of(came.begin(), came.end(),
                       [&](const Arrival& b) { return together(a, b) && knows(b); });
  };
  const auto& arrived = barrier.arrived[phase % 3];
  return !arrived.empty() && std::all_of(arrived.begin(), arrived.end(), [&](const Arrival& a) {
    if (knows(a)) return true;
    for (unsigned rank = 0; rank < team.block_count(); ++rank)
      if (knows_lane(a, rank)) return true;
    return false;
  });
}

constexpr auto COUNTS_EARLIER =
    "another order: counts at the phase before, whose end nothing puts before it";

void Mbarriers::arrive(uint64_t* address, uint32_t bytes, const Place& place) {
  trace_event(place, uint64_t{bytes} << 32 | block_.shared_address(address));
  Thread& thread = block_.team().current();
  if (thread.block != &block_) block_.touched_by_another(thread.moment(), place);
  Mbarrier* const barrier = find(address, place);
  if (barrier != nullptr) {
    must_know(*barrier, address, barrier->phase, COUNTS_EARLIER, place);
    if (bytes > 0) barrier->expectation = place;
    barrier->arrival = place;
    barrier->missing_bytes += bytes;
    if (block_.team().traced()) barrier->arriving.add(thread.knowledge, thread.moment());
    if (settings().digest)
      barrier->arrived[barrier->phase % 3].push_back({&thread, thread.moment(), place});
    if (barrier->pending == 0)
      report_finding(place, "arrives at an mbarrier whose phase has all its arrivals already",
                     "it is for " + std::to_string(barrier->count), barrier->initialised);
    else
      --barrier->pending;
  }
  ++thread.clock;
  if (barrier != nullptr) complete_if(*barrier);
}

void Mbarriers::complete_if(Mbarrier& barrier) {
  if (barrier.pending > 0) return;
  if (barrier.missing_bytes < 0) {
    report_finding(barrier.expectation, "more bytes land than the mbarrier has been told to expect",
                   std::to_string(-barrier.missing_bytes) + " more");
    barrier.missing_bytes = 0;
  }
  if (barrier.missing_bytes > 0) return;
  if (barrier.on_the_way > 0)
    report_finding(barrier.expectation.line > 0 ? barrier.expectation : barrier.arrival,
                   "an mbarrier's phase completes while copies are still on their way: it has been "
                   "told to expect too few bytes");
  barrier.on_the_way = 0;
  const auto comes_before = [&](Moment m) {
    return barrier.arriving.all().covers(m) || barrier.ordering.all().covers(m);
  };
  for (const Mbarrier::Waited& w : barrier.waited)
    if (!comes_before(w.own) && !comes_before(w.of_warp) && !comes_before(w.of_warpgroup))
      report_finding(w.place,
                     "another order: waits for ever, as nothing puts it before the end of the next "
                     "phase",
                     "", barrier.arrival);
  barrier.waited.clear();
  if (barrier.copied) barrier.arrived[barrier.phase % 3].clear();
  barrier.copied = false;
  barrier.arrived[(barrier.phase + 1) % 3].clear();
  barrier.ordered.learn(barrier.ordering.all());
  barrier.ordering.forget();
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.completed.learn(barrier.arriving.all());
  barrier.completed.learn(Moment{barrier.agent, barrier.phase});
  barrier.arriving.forget();
  for (Thread* thread : barrier.waiting) block_.team().wake(*thread);
  barrier.waiting.clear();
}

void Mbarriers::wait(uint64_t* address, uint32_t parity, const Place& place, bool cluster) {
  trace_event(place, uint64_t{parity} << 32 | block_.shared_address(address));
  Team& team = block_.team();
  Thread& thread = team.current();
  Mbarrier* const barrier = find(address, place);
  if (barrier == nullptr) return;
  while (barrier->phase % 2 == parity) {
    barrier->waiting.push_back(&thread);
    team.wait(place, "for a phase of an mbarrier that never completes");
  }
  if (barrier->stored_by_others && !cluster)
    report_finding(place,
                   "waits for what other blocks store with an acquire that is for its own block "
                   "alone");
  if (barrier->phase > 1)
    must_know(*barrier, address, barrier->phase - 1,
              "another order: is over two phases early, as nothing puts it behind their end",
              place);
  if (settings().digest && team.traced()) {
    barrier->waited.push_back(
        {thread.moment(), thread.block->next_of_warp(), next_wgmma(thread), place});
    thread.after.learn(barrier->ordered);
  }
  thread.knowledge.learn(barrier->completed);
}

void Mbarriers::begins(Mbarrier& barrier, uint64_t* address, const Place& place) {
  if (block_.team().current().block != &block_)
    block_.touched_by_another({barrier.agent, barrier.phase + 1}, place);
  ++barrier.on_the_way;
  barrier.copied = true;
  if (!settings().digest || !block_.team().traced()) return;
  const Thread& thread = block_.team().current();
  must_know(barrier, address, barrier.phase, COUNTS_EARLIER, place);
  barrier.ordering.add(thread.knowledge, thread.moment());
}

Mbarrier* Mbarriers::copy_begins(uint64_t* address, const Place& place) {
  trace_event(place, block_.shared_address(address));
  Mbarrier* const barrier = find(address, place);
  if (barrier == nullptr) return nullptr;
  begins(*barrier, address, place);
  if (!barrier->fenced)
    report_finding(
        place,
        "TMA may not see that this mbarrier is initialised: no fence.mbarrier_init after "
        "it",
        "", barrier->initialised);
  return barrier;
}

Mbarrier* Mbarriers::store_begins(uint64_t* address, const Place& place) {
  trace_event(place, block_.shared_address(address));
  Mbarrier* const barrier = find(address, place);
  if (barrier == nullptr) return nullptr;
  begins(*barrier, address, place);
  barrier->stored_by_others |= block_.team().current().block != &block_;
  return barrier;
}

void Mbarriers::copy_lands(Mbarrier& barrier, uint32_t phase, uint32_t bytes) {
  if (phase != barrier.phase) return;  // it had been told to expect too few: found already
  --barrier.on_the_way;
  barrier.missing_bytes -= bytes;
  complete_if(barrier);
}

void Mbarriers::block_leaves() {
  for (const auto& [address, barrier] : all_)
    if (barrier->on_the_way > 0)
      report_finding(barrier->expectation.line > 0 ? barrier->expectation : barrier->initialised,
                     "the block ends while TMA is still bringing a tile: nobody waits for this "
                     "mbarrier");
}

std::string Mbarriers::waited_for_by(const Thread& thread) const {
  for (const auto& [address, barrier] : all_) {
    const Mbarrier& b = *barrier;
    if (std::find(b.waiting.begin(), b.waiting.end(), &thread) == b.waiting.end()) continue;
    std::string state = "phase " + std::to_string(b.phase) + ", " +
                        std::to_string(b.count - b.pending) + " of " + std::to_string(b.count) +
                        " arrivals";
    if (b.arrival.line > 0) state += " (the last in line " + std::to_string(b.arrival.line) + ")";
    if (b.missing_bytes > 0)
      state += ", " + std::to_string(b.missing_bytes) + " bytes missing that line " +
               std::to_string(b.expectation.line) + " expects";
    return state;
  }
  return "";
}

}  // namespace cpu_device
