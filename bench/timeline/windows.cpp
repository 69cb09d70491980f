#include "windows.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace timeline {
namespace {

// Clocks and timers wrap; what is recorded is shorter than half their range.
int64_t since(uint32_t now, uint32_t first) {
  return static_cast<int32_t>(now - first);
}

bool is_wait(const Span& span) {
  return span.kind != Kind::COPY && span.kind != Kind::BULK_STORE;
}

// The first warps of the blocks, one after another: who was there from the beginning to the end.
std::vector<const Warp*> leaders(const Recording& recording) {
  std::vector<const Warp*> result;
  for (const Warp& warp : recording.warps)
    if (warp.warp == 0) result.push_back(&warp);
  if (result.empty()) throw std::runtime_error("no block has a recorded first warp");
  return result;
}

// The waits that come once a step: of those that are repeated about as often as any, the one in the
// lowest line.
std::vector<Span> steps_of(const Warp& warp) {
  std::map<int, std::vector<Span>> by_line;
  for (const Span& span : warp.spans)
    if (is_wait(span)) by_line[span.line].push_back(span);
  size_t most = 0;
  for (const auto& [line, spans] : by_line) most = std::max(most, spans.size());
  for (const auto& [line, spans] : by_line)
    if (10 * spans.size() > 9 * most) return spans;
  throw std::runtime_error("a warp waited for nothing");
}

std::vector<Span> drains_of(const Warp& warp) {
  std::vector<Span> result;
  for (const Span& span : warp.spans)
    if (span.kind == Kind::WGMMA_ALL) result.push_back(span);
  return result;
}

bool has(const Warp& warp, Kind kind) {
  return std::any_of(warp.spans.begin(), warp.spans.end(),
                     [=](const Span& span) { return span.kind == kind; });
}

// Where some warps wait for wgmmas and others do not, the others copy.
void set_roles(std::vector<Warp>& warps) {
  const auto multiplies = [](const Warp& warp) { return has(warp, Kind::WGMMA); };
  if (std::all_of(warps.begin(), warps.end(), multiplies) ||
      std::none_of(warps.begin(), warps.end(), multiplies))
    return;
  for (Warp& warp : warps) warp.role = multiplies(warp) ? Role::MULTIPLIES : Role::COPIES;
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::BARRIER:
      return "barrier";
    case Kind::CLUSTER:
      return "cluster";
    case Kind::CP_ASYNC:
      return "cp_async";
    case Kind::MBARRIER:
      return "mbarrier";
    case Kind::WGMMA:
      return "wgmma";
    case Kind::WGMMA_ALL:
      return "wgmma_all";
    case Kind::BULK_READ:
      return "bulk_read";
    case Kind::COPY:
      return "copy";
    case Kind::SPLIT_BARRIER:
      return "split_barrier";
    case Kind::BULK_STORE:
      return "bulk_store";
  }
  return "unknown";
}

const char* name_of(Role role) {
  switch (role) {
    case Role::ALL:
      return "all";
    case Role::COPIES:
      return "copies";
    case Role::MULTIPLIES:
      return "multiplies";
  }
  return "unknown";
}

Recording recording_of(const std::vector<RawWarp>& raw) {
  Recording recording{{}, 0};
  const RawWarp* first = nullptr;
  for (const RawWarp& warp : raw) {
    if (warp.events.size() < FEWEST_SPANS) continue;
    if (!first || since(warp.events[0].begin, first->events[0].begin) < 0) first = &warp;
  }
  if (!first) throw std::runtime_error("nothing was recorded");
  const Event* last = &first->events[0];
  for (const RawWarp& warp : raw) {
    if (warp.events.size() < FEWEST_SPANS) continue;
    Warp converted{warp.block, warp.warp, Role::ALL, {}};
    for (const Event& event : warp.events)
      converted.spans.push_back(
          {static_cast<Kind>(event.what >> 16), static_cast<int>(event.what & 0xFFFF),
           since(event.begin, first->events[0].begin), since(event.end, first->events[0].begin)});
    if (since(warp.events.back().end, last->end) > 0) last = &warp.events.back();
    recording.warps.push_back(std::move(converted));
  }
  set_roles(recording.warps);
  std::stable_sort(
      recording.warps.begin(), recording.warps.end(),
      [](const Warp& a, const Warp& b) { return a.spans[0].begin < b.spans[0].begin; });
  const int64_t clocks = since(last->end, first->events[0].end);
  const int64_t ns = since(last->timer, first->events[0].timer);
  if (clocks <= 0 || ns <= 0) throw std::runtime_error("no time went by while it was recorded");
  recording.ns_per_clock = static_cast<double>(ns) / static_cast<double>(clocks);
  return recording;
}

Window steady_window(const Recording& recording) {
  const std::vector<const Warp*> blocks = leaders(recording);
  const Warp& warp = *blocks[blocks.size() / 2];
  const std::vector<Span> steps = steps_of(warp);
  const size_t tiles = std::max<size_t>(1, drains_of(warp).size());
  const size_t first = steps.size() / tiles * (tiles / 2) + steps.size() / tiles / 2;
  if (first + STEPS >= steps.size()) throw std::runtime_error("too few steps along K");
  return {steps[first].begin, steps[first + STEPS].begin};
}

Window change_window(const Recording& recording) {
  std::vector<Span> steps, drains;
  for (const Warp* warp : leaders(recording)) {
    const std::vector<Span> its_steps = steps_of(*warp), its_drains = drains_of(*warp);
    steps.insert(steps.end(), its_steps.begin(), its_steps.end());
    drains.insert(drains.end(), its_drains.begin(), its_drains.end());
  }
  if (drains.size() < 2) return {0, 0};
  const int64_t end = drains[(drains.size() - 1) / 2].end;
  const auto next =
      std::find_if(steps.begin(), steps.end(), [=](const Span& step) { return step.begin >= end; });
  constexpr int HALF = STEPS / 2;
  if (next - steps.begin() < HALF || steps.end() - next <= HALF) return {0, 0};
  return {(next - HALF)->begin, (next + HALF)->begin};
}

std::map<Kind, double> waiting(const Recording& recording, Role role) {
  std::map<Kind, double> result;
  double total = 0;
  for (const Warp& warp : recording.warps) {
    if (warp.role != role) continue;
    total += static_cast<double>(warp.spans.back().end - warp.spans[0].begin);
    for (const Span& span : warp.spans)
      if (is_wait(span)) result[span.kind] += static_cast<double>(span.end - span.begin);
  }
  for (auto& [kind, clocks] : result) clocks /= total;
  return result;
}

std::vector<Span> spans_around(const Warp& warp, Window window) {
  const auto& all = warp.spans;
  auto first = std::find_if(all.begin(), all.end(),
                            [=](const Span& span) { return span.end > window.begin; });
  auto last =
      std::find_if(first, all.end(), [=](const Span& span) { return span.begin >= window.end; });
  if (first == last) return {};
  if (first != all.begin()) --first;
  if (last != all.end()) ++last;
  return {first, last};
}

}  // namespace timeline
