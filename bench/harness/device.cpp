#include "device.h"

#include <fmt/format.h>

#include "launch.cuh"
#include "options.h"

namespace ladder::harness {
namespace {

int attribute(cudaDeviceAttr which, int id) {
  int value = 0;
  LADDER_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, id));
  return value;
}

std::string version_string(int version) {  // 13000 means 13.0
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

Device select_device(int id, int compute_capability, bool no_other) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    throw NoDevice(fmt::format(
        "no usable GPU: {}", status == cudaSuccess ? "there is none" : cudaGetErrorString(status)));
  if (id >= count)
    throw UsageError(
        fmt::format("--device: there is no device {}; they are numbered 0 to {}", id, count - 1));
  LADDER_CUDA_CHECK(cudaSetDevice(id));

  cudaDeviceProp properties{};
  LADDER_CUDA_CHECK(cudaGetDeviceProperties(&properties, id));
  Device device;
  device.kind = "cuda";
  device.name = properties.name;
  device.sm = properties.major * 10 + properties.minor;
  if (device.sm < compute_capability || (no_other && device.sm != compute_capability))
    throw NoDevice(fmt::format("needs compute capability {}.{}{}; device {} ({}) has {}.{}",
                               compute_capability / 10, compute_capability % 10,
                               no_other ? ", no other" : "", id, device.name, properties.major,
                               properties.minor));
  device.multiprocessors = properties.multiProcessorCount;
  device.l2_bytes = static_cast<uint64_t>(properties.l2CacheSize);
  device.clock_mhz = attribute(cudaDevAttrClockRate, id) / 1e3;
  // Double data rate: two transfers a clock.
  device.memory_gb_s = 2.0 * attribute(cudaDevAttrMemoryClockRate, id) * 1e3 *
                       (attribute(cudaDevAttrGlobalMemoryBusWidth, id) / 8) / 1e9;
  int driver = 0, runtime = 0;
  LADDER_CUDA_CHECK(cudaDriverGetVersion(&driver));
  LADDER_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  device.driver = version_string(driver);
  device.toolkit = version_string(runtime);
  return device;
}

std::string current_pci_bus_id() {
  int id = 0;
  char text[32] = "";
  LADDER_CUDA_CHECK(cudaGetDevice(&id));
  LADDER_CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof text, id));
  return text;
}

}  // namespace ladder::harness
