#pragma once
// Running under a profiler.

namespace ladder::harness {

// Whether Nsight Compute is injected into this process.
bool under_profiler();

// A named range on the profiler's timeline, for as long as it lives.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace ladder::harness
