#pragma once
// The device a run happens on.
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace harness {

struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Device {
  std::string name;
  int sm;  // compute capability, 90 for 9.0
  int multiprocessors;
  double clock_mhz;  // the highest the multiprocessors may run at
  double memory_gb_s;
  uint64_t l2_bytes;
  std::string driver, toolkit;  // CUDA versions, "13.0"
};

// Makes device number `id` current. Throws NoDevice when there is none or its compute capability is
// below min_sm, UsageError when the number is too large.
Device select_device(int id, int min_sm);

// What the device's FMA (input "fp32") or tensor (input "fp16") pipes do at clock_mhz, in TFLOP/s:
// multiprocessors * operations per clock * clock. Nothing for a compute capability we do not know.
std::optional<double> peak_tflops(const Device& device, const std::string& input);

}  // namespace harness
