#pragma once
// How finely the GPU tells the time, and what a recording costs.
#include "event.h"

namespace timeline {

struct Clocks {
  double timer_step_ns;       // the smallest step of %globaltimer that was seen
  double clocks_a_recording;  // of a warp that records one event after another
};

// `events` has room for EVENTS.
Clocks measure_clocks(Event* events, CUstream_st* stream);

}  // namespace timeline
