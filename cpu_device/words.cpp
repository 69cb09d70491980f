#include "words.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "block.h"
#include "findings.h"
#include "signals.h"
#include "trace.h"

namespace cpu_device {
namespace {

constexpr uintptr_t BYTES_OF_CELL = 4, CELLS_OF_PAGE = 1024;

// The last store to 4 bytes.
struct Cell {
  bool stored = false;
  Place place{};
  Moment moment{};
  uint64_t cluster = 0;
};
struct Release {
  uint64_t cluster, value;
  Place place;
  Knowledge knowledge;
};

struct Wait {
  const uint64_t* word;
  uint64_t value;
  bool is_over() const { return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value; }
};

// Of one launch.
std::mutex mutex;
std::condition_variable changed;
uint64_t running;  // OS threads
std::vector<Wait> waits;
std::unordered_map<uintptr_t, std::array<Cell, CELLS_OF_PAGE>> pages;
std::unordered_map<const uint64_t*, Release> releases;

__thread volatile bool holds_lock = false;
class Lock {
 public:
  Lock() {
    holds_lock = true;
    lock.lock();
  }
  ~Lock() {
    if (lock) lock.unlock();
    holds_lock = false;
  }
  std::unique_lock<std::mutex> lock{mutex, std::defer_lock};
};

bool nobody_goes_on() {
  return waits.size() >= running &&
         std::none_of(waits.begin(), waits.end(), [](const Wait& w) { return w.is_over(); });
}

// Of the current thread's cluster.
uint64_t cluster() {
  return this_block->team().block(0).number();
}

template <class Visit>
void for_each_cell(uintptr_t address, unsigned bytes, const Visit& visit) {
  for (uintptr_t c = address / BYTES_OF_CELL; c <= (address + bytes - 1) / BYTES_OF_CELL; ++c)
    visit(pages[c / CELLS_OF_PAGE][c % CELLS_OF_PAGE]);
}

bool comes_after(const Thread& thread, const Cell& cell) {
  const auto& told = this_block->team().told;
  return std::any_of(told.begin(), told.end(), [&](const Told& t) {
    return t.cluster == cell.cluster && t.knowledge.covers(cell.moment) &&
           (t.moment.agent == thread.agent || thread.knowledge.covers(t.moment));
  });
}
}  // namespace

bool holds_words() {
  return holds_lock;
}

void words_of_next_launch(uint64_t workers) {
  const Lock lock;
  running = workers;
  waits.clear();
  pages.clear();
  releases.clear();
}

void worker_leaves_words() {
  const Lock lock;
  --running;
  changed.notify_all();
}

void words_of_launch_end() {
  const Lock lock;
  for (const auto& [word, release] : releases)
    if (Wait{word, release.value}.is_over())
      report_finding(
          release.place,
          "a word still says after the launch what it says in it: the same launch again, "
          "as a graph's, would not wait");
}

void release_word(uint64_t* word, uint64_t value, const Place& place) {
  trace_access(place, word, sizeof *word, Operation::STORE);
  Thread& thread = this_block->current();
  const Lock lock;
  Release& release = releases[word] = {cluster(), value, place, thread.knowledge};
  release.knowledge.learn(thread.moment());
  ++thread.clock;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  changed.notify_all();
}

void wait_for_word(const uint64_t* word, uint64_t value, const Place& place) {
  const Wait wait{word, value};
  Block& block = *this_block;
  bool is_over = false;
  {
    Lock lock;
    waits.push_back(wait);
    changed.notify_all();  // all may wait now
    changed.wait(lock.lock, [&] { return wait.is_over() || nobody_goes_on(); });
    waits.erase(std::find_if(waits.begin(), waits.end(),
                             [&](const Wait& w) { return w.word == word && w.value == value; }));
    is_over = wait.is_over();
    const auto release = releases.find(word);
    if (is_over && release != releases.end())
      block.team().told.push_back(
          {release->second.cluster, release->second.knowledge, block.current().moment()});
  }
  if (is_over) return trace_access(place, word, sizeof *word, Operation::LOAD);
  const char* const cause = "deadlock: waits for a word that nobody is left to write";
#ifdef LADDER_NO_TRACE  // where nothing ends a launch
  report_finding(place, cause, current_thread());
#else
  end_launch(place, cause, current_thread());
#endif
}

void stored_for_others(uintptr_t address, unsigned bytes, const Place& place) {
  const Cell cell{true, place, this_block->current().moment(), cluster()};
  const Lock lock;
  for_each_cell(address, bytes, [&](Cell& c) { c = cell; });
}

void loaded_from_others(uintptr_t address, unsigned bytes, const Place& place) {
  const Thread& thread = this_block->current();
  Cell conflict;
  {
    const Lock lock;
    for_each_cell(address, bytes, [&](const Cell& c) {
      if (c.stored && c.cluster != cluster() && !comes_after(thread, c)) conflict = c;
    });
  }
  if (conflict.stored)
    report_finding(
        place, "race: reads what another cluster has written, and no word says that it is there",
        "", conflict.place);
}

}  // namespace cpu_device
