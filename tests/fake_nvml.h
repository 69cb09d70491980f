#pragma once
// A library with the functions of NVML that the harness calls, and what they are to answer.
#include <atomic>
#include <string>
#include <vector>

struct FakeNvml {
  struct Reading {
    unsigned milliwatts, sm_mhz;
    unsigned long long reasons;
  };
  static constexpr int SUCCESS = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9;

  int init = SUCCESS, device = SUCCESS, limit = SUCCESS, instant = SUCCESS, average = SUCCESS;
  std::vector<Reading> readings{{100000, 1000, 0}};  // one after the other, again and again
  std::atomic<int> started{0};                       // readings
  std::atomic<bool> hang{false};                     // a reading does not end meanwhile
  std::string bus_id;                                // that was asked for
  int open = 0;                                      // nvmlInit less nvmlShutdown
};
