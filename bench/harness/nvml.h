#pragma once
// What NVML, a library of the driver, says while launches are in flight: power, clock, and what
// limits the clock.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ladder::harness {

// Why nothing can be sampled.
struct NoNvml : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Over the samples of a run.
struct PowerUse {
  int samples = 0;
  double watts = 0, sm_mhz = 0;  // means
  // Shares of the samples, 0 to 1, in which NVML named this as a reason for the clock.
  double power_cap = 0;          // the driver keeps the power below the limit
  double hardware_slowdown = 0;  // the hardware halves the clock or more: power or temperature
  double thermal = 0;            // the driver or the hardware, for temperature
};

class PowerMeter {
 public:
  // Of the GPU with this PCI bus id, which CUDA and NVML write alike; their numbers of devices can
  // differ. Throws NoNvml.
  explicit PowerMeter(const std::string& pci_bus_id,
                      const std::string& library = "libnvidia-ml.so.1");
  PowerMeter(const PowerMeter&) = delete;
  PowerMeter& operator=(const PowerMeter&) = delete;
  ~PowerMeter();

  // Between the two a thread takes samples, every few milliseconds. One that was not complete when
  // the launches were over is left out.
  void begin();
  void end();
  // Of the samples since the last call.
  PowerUse take();

  // "instant" where the driver has that, else "average": over the last second on most GPUs.
  std::string sensor() const { return instant_ ? "instant" : "average"; }
  double limit_watts() const { return limit_watts_; }

 private:
  struct Sample {
    unsigned milliwatts, sm_mhz;
    unsigned long long reasons;
  };
  struct Library;

  bool read(Sample& sample) const;

  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
  bool instant_ = true;
  double limit_watts_ = 0;
  std::vector<Sample> samples_;
  std::thread thread_;
  std::atomic<bool> over_{false};
};

}  // namespace ladder::harness
