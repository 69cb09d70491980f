#pragma once
// The stages that are recorded.
#include <vector>

#include "event.h"

namespace timeline {

// A stage's own variant, compiled twice.
struct Stage {
  const char* name;
  bool half;
  void (*plain)(const Operands&);
  void (*recorded)(const Operands&);
  void (*set_recorder)(const Recorder&);  // for the recorded launches that follow
};

const std::vector<Stage>& stages();

}  // namespace timeline
