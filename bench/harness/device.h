#pragma once
// The device a run happens on.
#include <cstdint>
#include <stdexcept>
#include <string>

namespace ladder::harness {

struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Device {
  std::string kind;  // "cuda", or "cpu", of which only the name is known
  std::string name;
  int sm = 0;  // compute capability, 90 for 9.0
  int multiprocessors = 0;
  double clock_mhz = 0;  // the highest the multiprocessors may run at
  double memory_gb_s = 0;
  uint64_t l2_bytes = 0;
  std::string driver, toolkit;  // CUDA versions, "13.0"
};

// Makes device number `id` current. Throws NoDevice when there is none or its compute capability is
// lower than `compute_capability` (90 for 9.0) or, with `no_other`, another; UsageError when the
// number is too large.
Device select_device(int id, int compute_capability, bool no_other);

// Of the current device, as NVML writes it too.
std::string current_pci_bus_id();

}  // namespace ladder::harness
