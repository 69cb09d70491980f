#pragma once
// The rate that percentages of peak refer to.
#include <optional>
#include <string>

#include "device.h"

namespace ladder::harness {

// What the device's FMA (input "fp32") or tensor (input "fp16") pipes do at clock_mhz, in TFLOP/s:
// multiprocessors * operations per clock * clock. Nothing for a compute capability or an input that
// we do not know.
std::optional<double> peak_tflops(const Device& device, const std::string& input);

}  // namespace ladder::harness
