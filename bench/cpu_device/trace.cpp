#include "trace.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "block.h"
#include "memory.h"
#include "shared_memory.h"
#include "symbols.h"

namespace cpu_device {
namespace {

// --- The cost of one request ------------------------------------------------------------------

// What the lanes of a warp asked for with one instruction: offsets in an array.
struct Request {
  uint32_t mask = 0;
  uint32_t offset[WARP];
};

// The number of different values of offset / unit that the request touches. Arrays begin at
// multiples of every unit.
unsigned count_units(const Request& request, unsigned bytes, unsigned unit) {
  uint32_t touched[WARP * 5];
  unsigned count = 0;
  bool ascending = true;
  for (unsigned lane = 0; lane < WARP; ++lane) {
    if ((request.mask >> lane & 1) == 0) continue;
    const uint32_t last = (request.offset[lane] + bytes - 1) / unit;
    for (uint32_t u = request.offset[lane] / unit; u <= last; ++u) {
      if (count > 0 && touched[count - 1] == u) continue;
      ascending &= count == 0 || touched[count - 1] < u;
      touched[count++] = u;
    }
  }
  if (ascending) return count;
  std::sort(touched, touched + count);
  return static_cast<unsigned>(std::unique(touched, touched + count) - touched);
}

constexpr unsigned SECTOR_BYTES = 32, BANK_BYTES = 4, BANKS = 32;

struct Cost {
  unsigned actual, ideal;
};

Cost global_cost(const Request& request, unsigned bytes) {
  const unsigned words = count_units(request, bytes, BANK_BYTES);
  return {count_units(request, bytes, SECTOR_BYTES),
          (words * BANK_BYTES + SECTOR_BYTES - 1) / SECTOR_BYTES};
}

// Shared memory has 32 banks of 4 bytes; in one wavefront each bank delivers one word, to any
// number of lanes. Requests of 8 and 16 bytes go in halves and quarters of a warp; two of them
// merge when all lanes l and l^1, or all l and l^2, ask for the same address (measured on an H200,
// and described in NVIDIA's developer forum for compute capability 7.x).
Cost shared_cost(const Request& request, unsigned bytes) {
  unsigned parts = bytes == 16 ? 4 : bytes == 8 ? 2 : 1;
  const auto paired = [&](unsigned distance) {
    for (unsigned lane = 0; lane < WARP; ++lane) {
      const unsigned other = lane ^ distance;
      if ((request.mask >> lane & 1) && (request.mask >> other & 1) &&
          request.offset[lane] != request.offset[other])
        return false;
    }
    return true;
  };
  if (parts > 1 && (paired(1) || paired(2))) parts /= 2;

  const unsigned lanes = WARP / parts;
  Cost cost{0, 0};
  for (unsigned first = 0; first < WARP; first += lanes) {
    uint32_t words[BANKS][WARP];
    unsigned used[BANKS] = {}, most = 0;
    for (unsigned lane = first; lane < first + lanes; ++lane) {
      if ((request.mask >> lane & 1) == 0) continue;
      const uint32_t end = (request.offset[lane] + bytes - 1) / BANK_BYTES;
      for (uint32_t word = request.offset[lane] / BANK_BYTES; word <= end; ++word) {
        const unsigned bank = word % BANKS;
        uint32_t* const stop = words[bank] + used[bank];
        if (std::find(words[bank], stop, word) != stop) continue;
        words[bank][used[bank]++] = word;
        most = std::max(most, used[bank]);
      }
    }
    cost.actual += most;
    cost.ideal += most > 0;
  }
  return cost;
}

// --- Lines --------------------------------------------------------------------------------------

// An instruction, together with what it accessed.
struct Key {
  Place place;
  Operation operation;
  Space space;
  unsigned bytes;
  uintptr_t array;  // its first address, GLOBAL, or offset in the shared memory of the block
  std::string array_name;

  auto tie() const {
    return std::make_tuple(place.pc, std::string(place.file ? place.file : ""), place.line,
                           operation, space, bytes, array_name);
  }
  bool operator<(const Key& other) const { return tie() < other.tie(); }
};

struct Totals {
  uint64_t requests = 0, lanes = 0, cost = 0, ideal = 0;
  std::vector<int64_t> sample;
};

std::mutex totals_mutex;
std::map<Key, Totals> all_totals;

// --- One OS thread's trace
// ------------------------------------------------------------------------

// The requests of one instruction since the last barrier. The n-th time a lane gets there belongs
// to the n-th request of its warp: right as long as the lanes of a warp take the same number of
// turns.
struct Site {
  Site(const Key& k, unsigned warps, unsigned threads) : key(k), by_warp(warps), turns(threads) {}

  Key key;
  Totals totals;
  std::vector<std::vector<Request>> by_warp;
  std::vector<unsigned> turns;  // by thread
};

class Tracer {
 public:
  void cover(const void* dynamic_shared) {
    const ThreadLocalStorage storage = thread_local_storage();
    static_begin_ = storage.begin;
    static_shared_.cover(static_begin_, storage.bytes);
    dynamic_begin_ = reinterpret_cast<uintptr_t>(dynamic_shared);
    dynamic_shared_.cover(dynamic_begin_, MAX_SHARED_BYTES);
  }

  void block_begins() {
    static_shared_.forget();
    dynamic_shared_.forget();
  }

  void access(const Place& place, uintptr_t address, unsigned bytes, Operation operation) {
    if (SharedMemory* shared = shared_at(address)) {
      const char* problem = operation == Operation::LOAD ? shared->load(address, bytes, now())
                                                         : shared->store(address, bytes, now());
      if (problem != nullptr) report_finding(place, problem);
      count(place, address, bytes, operation, Space::SHARED);
    } else if (const Allocation* allocation = allocation_at(address)) {
      if (address < allocation->begin || address + bytes > allocation->end)
        report_finding(place, out_of_bounds(*allocation, address, bytes, operation));
      count(place, address, bytes, operation, Space::GLOBAL);
    }
    // Anything else is the thread's own: its stack, its parameters.
  }

  void async_store(const Place& place, uintptr_t address, unsigned bytes) {
    if (SharedMemory* shared = shared_at(address))
      if (const char* problem = shared->begin_copy(address, bytes, now()))
        report_finding(place, problem);
  }
  void async_landed(uintptr_t address, unsigned bytes) {
    if (SharedMemory* shared = shared_at(address)) shared->end_copy(address, bytes, now());
  }

  // Costs the requests that are complete: at a barrier every lane has made all of its own.
  void settle() {
    for (Site& site : sites_) {
      for (std::vector<Request>& requests : site.by_warp) {
        for (const Request& request : requests) add(site, request);
        requests.clear();
      }
      std::fill(site.turns.begin(), site.turns.end(), 0u);
    }
  }

  void publish() {
    const std::lock_guard lock(totals_mutex);
    for (Site& site : sites_) {
      Totals& totals = all_totals[site.key];
      totals.requests += site.totals.requests;
      totals.lanes += site.totals.lanes;
      totals.cost += site.totals.cost;
      totals.ideal += site.totals.ideal;
      if (totals.sample.empty()) totals.sample = site.totals.sample;
    }
    sites_.clear();
    cache_.assign(cache_.size(), {});
  }

 private:
  static Moment now() {
    return {this_block->current().arrived, this_block->barriers(),
            static_cast<uint16_t>(this_block->current_number()),
            static_cast<uint16_t>(this_block->warp().barriers)};
  }

  SharedMemory* shared_at(uintptr_t address) {
    if (static_shared_.contains(address) && shared_array_at(address)) return &static_shared_;
    if (dynamic_shared_.contains(address)) return &dynamic_shared_;
    return nullptr;
  }

  const Allocation* allocation_at(uintptr_t address) {
    if (last_ == nullptr || address < last_->begin || address >= last_->end)
      last_ = find_allocation(address);
    return last_;
  }

  static std::string out_of_bounds(const Allocation& a, uintptr_t address, unsigned bytes,
                                   Operation operation) {
    const std::string verb = operation == Operation::LOAD ? "reads " : "writes ";
    const std::string size = std::to_string(a.end - a.begin) + " bytes";
    if (address < a.begin)
      return verb + std::to_string(a.begin - address) + " bytes before " + a.name + " of " + size;
    return verb + std::to_string(bytes) + " bytes at byte " + std::to_string(address - a.begin) +
           " of " + a.name + ", which has " + size;
  }

  void count(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
             Space space) {
    Site& site = site_of(place, address, bytes, operation, space);
    const unsigned thread = this_block->current_number();
    std::vector<Request>& requests = site.by_warp[thread / WARP];
    const unsigned turn = site.turns[thread]++;
    if (requests.size() <= turn) requests.resize(turn + 1);
    Request& request = requests[turn];
    request.mask |= 1u << thread % WARP;
    request.offset[thread % WARP] = static_cast<uint32_t>(address - site.key.array);
  }

  // The site of this access; the most recent ones are found without a search.
  Site& site_of(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
                Space space) {
    const uintptr_t id = place.pc != nullptr
                             ? reinterpret_cast<uintptr_t>(place.pc)
                             : reinterpret_cast<uintptr_t>(place.file) + uintptr_t(place.line) * 64;
    Cached& cached = cache_[(id ^ id >> 7 ^ bytes) % cache_.size()];
    if (cached.id == id && cached.bytes == bytes && cached.operation == operation &&
        address - cached.begin < cached.extent)
      return *cached.site;

    const auto [begin, extent, name] = array_at(address, space);
    const Key key{place, operation, space, bytes, begin, name};
    const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const Site& site) {
      return !(site.key < key) && !(key < site.key);
    });
    if (known == sites_.end())
      sites_.emplace_back(key, this_block->warp_count(), this_block->thread_count());
    cached = {id,    bytes,  operation,
              begin, extent, known == sites_.end() ? &sites_.back() : &*known};
    return *cached.site;
  }

  struct Array {
    uintptr_t begin, extent;
    std::string name;
  };
  Array array_at(uintptr_t address, Space space) {
    if (space == Space::GLOBAL) {
      const Allocation& a = *allocation_at(address);
      return {a.begin, a.end - a.begin, a.name};
    }
    if (dynamic_shared_.contains(address)) return {dynamic_begin_, MAX_SHARED_BYTES, "dynamic"};
    const SharedArray& array = *shared_array_at(address);
    return {static_begin_ + array.offset, array.bytes, array.name};
  }

  // Other thread-local variables of the program lie among the __shared__ arrays.
  const SharedArray* shared_array_at(uintptr_t address) {
    const uintptr_t offset = address - static_begin_;
    if (last_array_ != nullptr && offset - last_array_->offset < last_array_->bytes)
      return last_array_;
    for (const SharedArray& array : shared_arrays())
      if (offset - array.offset < array.bytes) return last_array_ = &array;
    return nullptr;
  }

  static void add(Site& site, const Request& request) {
    if (request.mask == 0) return;
    const Cost cost = site.key.space == Space::GLOBAL ? global_cost(request, site.key.bytes)
                                                      : shared_cost(request, site.key.bytes);
    ++site.totals.requests;
    site.totals.lanes += static_cast<unsigned>(__builtin_popcount(request.mask));
    site.totals.cost += cost.actual;
    site.totals.ideal += cost.ideal;
    if (!site.totals.sample.empty()) return;
    for (unsigned lane = 0; lane < WARP; ++lane)
      site.totals.sample.push_back(request.mask >> lane & 1 ? int64_t{request.offset[lane]} : -1);
  }

  struct Cached {
    uintptr_t id = 0;
    unsigned bytes = 0;
    Operation operation = Operation::LOAD;
    uintptr_t begin = 0, extent = 0;
    Site* site = nullptr;
  };

  uintptr_t static_begin_ = 0, dynamic_begin_ = 0;
  SharedMemory static_shared_, dynamic_shared_;
  const Allocation* last_ = nullptr;
  const SharedArray* last_array_ = nullptr;
  std::deque<Site> sites_;  // in which a Site stays where it is
  std::vector<Cached> cache_ = std::vector<Cached>(1024);
};

// Null while nothing is to be traced.
thread_local Tracer* tracer = nullptr;

}  // namespace

void trace_worker_begins(const void* dynamic_shared) {
#ifdef LADDER_NO_TRACE  // kernels without the calls that would tell us of their accesses
  return;
#endif
  if (!settings().trace) return;
  tracer = new Tracer;
  tracer->cover(dynamic_shared);
}

void trace_worker_ends() {
  if (tracer == nullptr) return;
  tracer->publish();
  delete tracer;
  tracer = nullptr;
}

void trace_block_begins() {
  if (tracer != nullptr) tracer->block_begins();
}

void trace_barrier() {
  if (tracer != nullptr) tracer->settle();
}

void trace_block_ends() {
  trace_barrier();
}

void trace_access(const Place& place, const void* address, unsigned bytes, Operation operation) {
  if (tracer != nullptr)
    tracer->access(place, reinterpret_cast<uintptr_t>(address), bytes, operation);
}

void trace_async_store(const Place& place, const void* address, unsigned bytes) {
  if (tracer != nullptr) tracer->async_store(place, reinterpret_cast<uintptr_t>(address), bytes);
}

void trace_async_landed(const void* address, unsigned bytes) {
  if (tracer != nullptr) tracer->async_landed(reinterpret_cast<uintptr_t>(address), bytes);
}

std::vector<MemoryLine> take_memory_lines() {
  const std::lock_guard lock(totals_mutex);
  std::vector<const void*> instructions;
  for (const auto& [key, totals] : all_totals) instructions.push_back(key.place.pc);
  const std::vector<SourceLine> lines = source_lines(instructions);

  // The compiler may have made several instructions of one line.
  std::map<std::tuple<std::string, int, std::string, Space, Operation, unsigned>, MemoryLine>
      merged;
  size_t i = 0;
  for (const auto& [key, totals] : all_totals) {
    const SourceLine where =
        key.place.file != nullptr ? SourceLine{key.place.file, key.place.line} : lines[i];
    ++i;
    if (totals.requests == 0) continue;
    MemoryLine& line =
        merged[{where.file, where.line, key.array_name, key.space, key.operation, key.bytes}];
    if (line.requests == 0) {
      line.file = where.file;
      line.line = where.line;
      line.text = source_text(where);
      line.array = key.array_name;
      line.space = key.space;
      line.operation = key.operation;
      line.bytes = key.bytes;
      line.sample = totals.sample;
    }
    line.requests += totals.requests;
    line.lanes += totals.lanes;
    line.cost += totals.cost;
    line.ideal += totals.ideal;
  }
  all_totals.clear();
  std::vector<MemoryLine> result;
  for (auto& [key, line] : merged) result.push_back(std::move(line));
  return result;
}

}  // namespace cpu_device

// --- What -fsanitize=thread calls
// -----------------------------------------------------------------

namespace {
inline void plain_access(const void* pc, const void* address, unsigned bytes,
                         cpu_device::Operation operation) {
  if (cpu_device::tracer == nullptr || cpu_device::this_block == nullptr) return;
  if (cpu_device::this_block->on_stack(reinterpret_cast<uintptr_t>(address))) return;
  cpu_device::tracer->access({nullptr, 0, pc}, reinterpret_cast<uintptr_t>(address), bytes,
                             operation);
}
}  // namespace

#define LADDER_CALLBACK(name, bytes, operation)                                                  \
  extern "C" void name(void* address) {                                                          \
    plain_access(__builtin_return_address(0), address, bytes, cpu_device::Operation::operation); \
  }
LADDER_CALLBACK(__tsan_read1, 1, LOAD)
LADDER_CALLBACK(__tsan_read2, 2, LOAD)
LADDER_CALLBACK(__tsan_read4, 4, LOAD)
LADDER_CALLBACK(__tsan_read8, 8, LOAD)
LADDER_CALLBACK(__tsan_read16, 16, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read2, 2, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read4, 4, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read8, 8, LOAD)
LADDER_CALLBACK(__tsan_unaligned_read16, 16, LOAD)
LADDER_CALLBACK(__tsan_write1, 1, STORE)
LADDER_CALLBACK(__tsan_write2, 2, STORE)
LADDER_CALLBACK(__tsan_write4, 4, STORE)
LADDER_CALLBACK(__tsan_write8, 8, STORE)
LADDER_CALLBACK(__tsan_write16, 16, STORE)
LADDER_CALLBACK(__tsan_unaligned_write2, 2, STORE)
LADDER_CALLBACK(__tsan_unaligned_write4, 4, STORE)
LADDER_CALLBACK(__tsan_unaligned_write8, 8, STORE)
LADDER_CALLBACK(__tsan_unaligned_write16, 16, STORE)
#undef LADDER_CALLBACK

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void*) {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_read_range(void*, unsigned long) {}
void __tsan_write_range(void*, unsigned long) {}
void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, unsigned long bytes) {
  return std::memset(to, value, bytes);
}

// What -fsanitize=bounds calls when an index is outside an array whose size the compiler knows.
struct BoundsData {
  const char* file;
  uint32_t line, column;
};
void __ubsan_handle_out_of_bounds(BoundsData* where, unsigned long index) {
  cpu_device::report_finding({where->file, static_cast<int>(where->line), nullptr},
                             "index " + std::to_string(index) + " is outside its array");
}
}
