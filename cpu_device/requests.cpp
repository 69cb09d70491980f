#include "requests.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "block.h"
#include "symbols.h"

namespace cpu_device {
namespace {

std::mutex totals_mutex;
std::map<Key, Totals> all_totals;

}  // namespace

void Requests::count(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
                     Space space, Arrays& arrays) {
  Site& site = site_of(place, address, bytes, operation, space, arrays);
  request_of_turn(site).offset[this_block->lane()] =
      static_cast<uint32_t>(address - site.key.array);
}

void Requests::count_copied(const Place& place, uintptr_t to, uintptr_t from, unsigned bytes,
                            Arrays& arrays) {
  Site& site = site_of(place, from, bytes, Operation::LOAD, Space::GLOBAL, arrays);
  site.copied = true;
  RequestOfTurn& request = request_of_turn(site);
  request.offset[this_block->lane()] = static_cast<uint32_t>(from - site.key.array);
  request.to[this_block->lane()] = static_cast<uint32_t>(to);
}

// The request of the current lane, which is not yet part of it.
RequestOfTurn& Requests::request_of_turn(Site& site) {
  const unsigned thread = this_block->current().agent, bit = 1u << thread % WARP;
  const Turns& turns = this->turns();
  std::vector<RequestOfTurn>& requests = site.by_warp[thread / WARP];
  unsigned& next = site.next[thread];
  const auto is_its = [&](const RequestOfTurn& r) {
    return r.hash == turns.hash() && !(r.mask & bit);
  };
  auto request = std::find_if(requests.begin() + next, requests.end(), is_its);
  if (request == requests.end()) {
    request = requests.insert(requests.begin() + next, RequestOfTurn{});
    request->hash = turns.hash();
    request->way = turns.way();
  }
  next = static_cast<unsigned>(request - requests.begin()) + 1;
  request->mask |= bit;
  return *request;
}

// The site of this access; the most recent ones are found without a search.
Site& Requests::site_of(const Place& place, uintptr_t address, unsigned bytes, Operation operation,
                        Space space, Arrays& arrays) {
  const uintptr_t id = place.pc != nullptr
                           ? reinterpret_cast<uintptr_t>(place.pc)
                           : reinterpret_cast<uintptr_t>(place.file) + uintptr_t(place.line) * 64;
  Cached& cached = cache_[(id ^ id >> 7 ^ bytes) % cache_.size()];
  if (cached.id == id && cached.bytes == bytes && cached.operation == operation &&
      address - cached.begin < cached.extent)
    return *cached.site;

  const auto [begin, extent, name] = arrays.at(address, space);
  const Key key{place, operation, space, bytes, begin, extent, name};
  Site& site = site_with(key);
  cached = {id, bytes, operation, begin, extent, &site};
  return site;
}

Site& Requests::site_with(const Key& key) {
  const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const Site& site) {
    return !(site.key < key) && !(key < site.key);
  });
  if (known != sites_.end()) return *known;
  const unsigned threads = this_block->team().thread_count();
  return sites_.emplace_back(key, (threads + WARP - 1) / WARP, threads);
}

// Loads of shared memory as ptxas makes them of a loop that it has unrolled: those of neighbours
// become one load of 8 or 16 bytes where that is aligned in every thread. Here: when every thread
// of the block makes the same ones, each at the same distances from its first. (What the SASS of 02
// to 04 has; loads that some threads do not make stay as they are in all stages.)
bool Requests::may_merge(const Site& site) {
  return site.key.space == Space::SHARED && site.key.operation == Operation::LOAD &&
         site.key.bytes < 16 && !site.by_warp[0].empty() &&
         std::all_of(site.by_warp.begin(), site.by_warp.end(), [&](const auto& requests) {
           return requests.size() == site.by_warp[0].size() &&
                  std::all_of(requests.begin(), requests.end(),
                              [](const Request& request) { return request.mask == ~0u; });
         });
}

// Whether all threads have the same distance from their first load of `one` to each of `other`.
bool Requests::same_distances(const Site& one, const Site& other) {
  for (size_t warp = 0; warp < other.by_warp.size(); ++warp)
    for (size_t i = 0; i < other.by_warp[warp].size(); ++i)
      for (unsigned lane = 0; lane < WARP; ++lane)
        if (other.by_warp[warp][i].offset[lane] - one.by_warp[warp][0].offset[lane] !=
            other.by_warp[0][i].offset[0] - one.by_warp[0][0].offset[0])
          return false;
  return true;
}

void Requests::merge(Site& first) {
  std::vector<Site*> group;  // loads of the same array
  for (Site& site : sites_)
    if (site.key.array == first.key.array && site.key.bytes == first.key.bytes && may_merge(site) &&
        same_distances(first, site))
      group.push_back(&site);
  if (group.empty()) return;

  uint32_t different = 0;  // in these bits, between the first offsets of any two threads
  for (const auto& requests : first.by_warp)
    for (const uint32_t offset : requests[0].offset)
      different |= offset ^ first.by_warp[0][0].offset[0];
  struct Load {
    uint32_t offset;  // in the first thread
    Site* site;
    size_t number;
  };
  std::vector<Load> loads;
  for (Site* site : group)
    for (size_t i = 0; i < site->by_warp[0].size(); ++i)
      loads.push_back({site->by_warp[0][i].offset[0], site, i});
  std::sort(loads.begin(), loads.end(),
            [](const Load& a, const Load& b) { return a.offset < b.offset; });

  const unsigned bytes = first.key.bytes;
  const auto run_from = [&](size_t at, unsigned width) {  // of `width` bytes, aligned
    if ((loads[at].offset | different) % width != 0) return false;
    for (unsigned n = 1; n < width / bytes; ++n)
      if (at + n >= loads.size() || loads[at + n].offset != loads[at].offset + n * bytes)
        return false;
    return true;
  };
  for (size_t at = 0; at < loads.size();) {
    const unsigned width = run_from(at, 16) ? 16 : bytes < 8 && run_from(at, 8) ? 8 : bytes;
    const auto& [offset, site, number] = loads[at];
    Key key = site->key;
    key.bytes = width;
    Site& wide = width == bytes ? *site : site_with(key);
    for (unsigned warp = 0; warp < site->by_warp.size(); ++warp)
      add(wide, warp, site->by_warp[warp][number]);
    at += width / bytes;
  }
  for (Site* site : group)
    for (auto& requests : site->by_warp) requests.clear();
}

// The blocks of which lanes have begun another turn after such a request.
std::vector<uintptr_t> Requests::repeated_behind(const std::vector<RequestOfTurn>& requests,
                                                 unsigned warp) const {
  std::vector<uintptr_t> blocks;
  for (const RequestOfTurn& request : requests)
    for (unsigned lane = 0; lane < WARP; ++lane)
      if (request.mask >> lane & 1) turns_[warp * WARP + lane].add_repeated(request.way, blocks);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

// Those of lanes that came by different ways, some of them through a loop that they have left.
void Requests::join(std::vector<RequestOfTurn>& requests, unsigned warp) {
  std::optional<std::vector<uintptr_t>> repeated;
  for (auto one = requests.begin(); one != requests.end(); ++one)
    for (auto other = one + 1; other != requests.end() && one->mask != ~0u; ++other) {
      if (other->mask == 0 || one->mask & other->mask) continue;
      if (!repeated) repeated = repeated_behind(requests, warp);
      if (!together(one->way, other->way, *repeated)) continue;
      for (unsigned lane = 0; lane < WARP; ++lane)
        if (other->mask >> lane & 1) {
          one->offset[lane] = other->offset[lane];
          one->to[lane] = other->to[lane];
        }
      one->mask |= other->mask;
      other->mask = 0;
    }
  requests.erase(std::remove_if(requests.begin(), requests.end(),
                                [](const Request& request) { return request.mask == 0; }),
                 requests.end());
}

namespace {

// Counted from `origin`, -1 for lanes that took no part.
std::vector<int64_t> by_lane(uint32_t mask, const uint32_t (&offset)[WARP], uint32_t origin) {
  std::vector<int64_t> result;
  for (unsigned lane = 0; lane < WARP; ++lane)
    result.push_back(mask >> lane & 1 ? int64_t{offset[lane]} - origin : -1);
  return result;
}

// Of shared memory, that a cp.async fills: its address.
uint32_t first_sector(const Request& request) {
  uint32_t first = UINT32_MAX;
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (request.mask >> lane & 1) first = std::min(first, request.to[lane]);
  return first / SECTOR_BYTES * SECTOR_BYTES;
}

bool is_load(Operation operation) {
  return operation == Operation::LOAD || operation == Operation::REMOTE_LOAD;
}

}  // namespace

void Requests::add(Site& site, unsigned warp, const Request& request) {
  const unsigned bytes = site.key.bytes;
  const bool past_l1 = site.copied && bytes == 16;
  const Cost cost = site.key.space == Space::SHARED
                        ? shared_cost(request, bytes, is_load(site.key.operation))
                    : past_l1 ? copied_cost(request)
                              : global_cost(request, bytes);
  ++site.totals.requests;
  site.totals.lanes += static_cast<unsigned>(__builtin_popcount(request.mask));
  site.totals.cost += cost.actual;
  site.totals.ideal += cost.ideal;
  if (past_l1) site.totals.fetched += fetched_sectors(request);
  if (site.totals.kept.empty()) {
    site.totals.kept_block = this_block->number();
    site.totals.kept_warp = warp;
  }
  if (site.totals.kept.size() >= settings().kept_requests || site.totals.kept_warp != warp ||
      site.totals.kept_block != this_block->number())
    return;
  KeptRequest& kept = site.totals.kept.emplace_back();
  kept.cost = cost.actual;
  kept.offsets = by_lane(request.mask, request.offset, 0);
  if (past_l1) kept.to = by_lane(request.mask, request.to, first_sector(request));
}

void Requests::settle(unsigned first_thread, unsigned count) {
  for (Site& site : sites_)
    for (unsigned thread = first_thread; thread < first_thread + count; thread += WARP)
      join(site.by_warp[thread / WARP], thread / WARP);
  if (count == this_block->team().thread_count())
    for (size_t i = 0; i < sites_.size(); ++i)  // more may come while they are merged
      if (may_merge(sites_[i])) merge(sites_[i]);
  for (Site& site : sites_) {
    for (unsigned thread = first_thread; thread < first_thread + count; thread += WARP) {
      std::vector<RequestOfTurn>& requests = site.by_warp[thread / WARP];
      for (const Request& request : requests) add(site, (thread - first_thread) / WARP, request);
      requests.clear();
    }
    std::fill_n(site.next.begin() + first_thread, count, 0u);
  }
  for (unsigned thread = first_thread; thread < first_thread + count && thread < turns_.size();
       ++thread)
    turns_[thread].reset();
}

void Requests::count_beside(const Place& place, uintptr_t address, unsigned bytes,
                            Operation operation, Space space, Cost cost, unsigned fetched,
                            Arrays& arrays) {
  Totals& totals = site_of(place, address, bytes, operation, space, arrays).totals;
  ++totals.requests;
  totals.cost += cost.actual;
  totals.ideal += cost.ideal;
  totals.fetched += fetched;
}

void Requests::publish() {
  const std::lock_guard lock(totals_mutex);
  for (Site& site : sites_) {
    Totals& totals = all_totals[site.key];
    totals.requests += site.totals.requests;
    totals.lanes += site.totals.lanes;
    totals.cost += site.totals.cost;
    totals.ideal += site.totals.ideal;
    totals.fetched += site.totals.fetched;
    if (totals.kept.empty() || site.totals.kept_block < totals.kept_block) {
      totals.kept = site.totals.kept;
      totals.kept_block = site.totals.kept_block;
      totals.kept_warp = site.totals.kept_warp;
    }
  }
  sites_.clear();
  cache_.assign(cache_.size(), {});
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
      line.array_bytes = key.array_bytes;
      line.space = key.space;
      line.operation = key.operation;
      line.bytes = key.bytes;
      line.kept = totals.kept;
      line.kept_warp = totals.kept_warp;
    }
    line.requests += totals.requests;
    line.lanes += totals.lanes;
    line.cost += totals.cost;
    line.ideal += totals.ideal;
    line.fetched += totals.fetched;
  }
  all_totals.clear();
  std::vector<MemoryLine> result;
  for (auto& [key, line] : merged) result.push_back(std::move(line));
  return result;
}

}  // namespace cpu_device
