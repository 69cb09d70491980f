#include "device.h"

#include <fmt/format.h>

#include <map>

#include "common.cuh"
#include "options.h"

namespace harness {
namespace {

int attribute(cudaDeviceAttr which, int id) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, id));
  return value;
}

std::string version_string(int version) {  // 13000 means 13.0
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Floating-point operations (two an FMA) per clock and multiprocessor.
struct Rates {
  int fp32, fp16_tensor;
};
// fp32: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions". Tensor, dense,
// with fp32 accumulation: the architectures' whitepapers; GeForce parts of 7.5 and 8.6 do half.
const std::map<int, Rates> RATES = {
    {70, {128, 1024}}, {75, {128, 1024}}, {80, {128, 2048}}, {86, {256, 1024}},
    {87, {256, 1024}}, {89, {256, 1024}}, {90, {256, 4096}}, {100, {256, 8192}},
};

}  // namespace

Device select_device(int id, int min_sm) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw NoDevice(fmt::format(
        "no usable GPU: {}", status == cudaSuccess ? "there is none" : cudaGetErrorString(status)));
  if (id >= count)
    throw UsageError(
        fmt::format("--device: there is no device {}; they are numbered 0 to {}", id, count - 1));
  CUDA_CHECK(cudaSetDevice(id));

  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, id));
  Device device;
  device.name = properties.name;
  device.sm = properties.major * 10 + properties.minor;
  if (device.sm < min_sm)
    throw NoDevice(fmt::format("needs compute capability {}.{}; device {} ({}) has {}.{}",
                               min_sm / 10, min_sm % 10, id, device.name, properties.major,
                               properties.minor));
  device.multiprocessors = properties.multiProcessorCount;
  device.l2_bytes = static_cast<uint64_t>(properties.l2CacheSize);
  device.clock_mhz = attribute(cudaDevAttrClockRate, id) / 1e3;
  // Double data rate: two transfers a clock.
  device.memory_gb_s = 2.0 * attribute(cudaDevAttrMemoryClockRate, id) * 1e3 *
                       (attribute(cudaDevAttrGlobalMemoryBusWidth, id) / 8) / 1e9;
  int driver = 0, runtime = 0;
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  device.driver = version_string(driver);
  device.toolkit = version_string(runtime);
  return device;
}

std::optional<double> peak_tflops(const Device& device, const std::string& input) {
  const auto rates = RATES.find(device.sm);
  if (rates == RATES.end()) return std::nullopt;
  const int per_clock = input == "fp32" ? rates->second.fp32 : rates->second.fp16_tensor;
  return device.multiprocessors * per_clock * device.clock_mhz * 1e6 / 1e12;
}

}  // namespace harness
