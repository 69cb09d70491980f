#pragma once
// From what the warps of one multiprocessor recorded to the parts that are worth drawing.
#include <cstddef>
#include <map>
#include <vector>

#include "event.h"

namespace timeline {

// A warp's events as they were recorded, in order.
struct RawWarp {
  int block, warp;  // its number in the block
  std::vector<Event> events;
};

// The same with clocks that count from the multiprocessor's first event on.
struct Span {
  Kind kind;
  int line;
  int64_t begin, end;
};
enum class Role { ALL, COPIES, MULTIPLIES };  // ALL where every warp does both
struct Warp {
  int block, warp;
  Role role;
  std::vector<Span> spans;
};
struct Recording {
  // In the order in which they began, without those that only begin and end: a warp with a loop has
  // at least FEWEST_SPANS.
  std::vector<Warp> warps;
  double ns_per_clock;
};
constexpr size_t FEWEST_SPANS = 10;

// Throws std::runtime_error when there is too little to say anything.
Recording recording_of(const std::vector<RawWarp>& raw);

const char* name_of(Kind kind);
const char* name_of(Role role);

struct Window {
  int64_t begin, end;
};

constexpr int STEPS = 6;  // along K, of a window

// STEPS from the middle of a tile of C, not the first one that the multiprocessor had.
Window steady_window(const Recording& recording);

// From STEPS / 2 before the end of a tile of C to as many after the next one's beginning; there is
// one where the end is known, which is where a warp waits for all its wgmmas. Else both are 0.
Window change_window(const Recording& recording);

// What part of the time from their first event to their last the warps of a role wait, by kind.
std::map<Kind, double> waiting(const Recording& recording, Role role);

// A warp's spans inside the window, with the one before and the one after them.
std::vector<Span> spans_around(const Warp& warp, Window window);

}  // namespace timeline
