#include "peak.h"

#include <map>

namespace ladder::harness {
namespace {

// Floating-point operations (two an FMA) per clock and multiprocessor.
struct Rates {
  int fp32, fp16_tensor;  // and bf16, from 8.0 on
};
// fp32: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions". Tensor, dense,
// with fp32 accumulation: the architectures' whitepapers; GeForce parts of 7.5 and 8.6 do half.
const std::map<int, Rates> RATES = {
    {70, {128, 1024}}, {75, {128, 1024}}, {80, {128, 2048}}, {86, {256, 1024}},
    {87, {256, 1024}}, {89, {256, 1024}}, {90, {256, 4096}}, {100, {256, 8192}},
};
const std::map<std::string, int Rates::*> PIPES = {
    {"fp32", &Rates::fp32}, {"fp16", &Rates::fp16_tensor}, {"bf16", &Rates::fp16_tensor}};

}  // namespace

std::optional<double> peak_tflops(const Device& device, const std::string& input) {
  const auto rates = RATES.find(device.sm);
  // Twice as many of 8 bits, integers from 8.0 and others from 8.9 on, and half as many of tf32.
  const bool of_8_bits = (input == "int8" && device.sm >= 80) ||
                         ((input == "e4m3" || input == "e5m2") && device.sm >= 89),
             tf32 = input == "tf32" && device.sm >= 80;
  const auto pipe = PIPES.find(of_8_bits || tf32 ? "fp16" : input);
  if (rates == RATES.end() || pipe == PIPES.end()) return std::nullopt;
  const double by_halves = of_8_bits ? 2 : tf32 ? 0.5 : 1;
  return by_halves * device.multiprocessors * (rates->second.*pipe->second) * device.clock_mhz *
         1e6 / 1e12;
}

}  // namespace ladder::harness
