#include "nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>

namespace ladder::harness {
namespace {

constexpr std::chrono::milliseconds PAUSE{2};  // between two samples; a sample takes some, too

// From here to the end of the namespace: nvml.h, as far as it is needed. Not every toolkit has that
// header, and the library comes with the driver, so that a machine that builds may have neither.
using Status = int;
constexpr Status SUCCESS = 0;

constexpr int CLOCK_SM = 1;
constexpr unsigned POWER_INSTANT = 186;  // a field; milliwatts
constexpr unsigned GPU_ALONE = 0;        // the field's scope

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  int value_type;
  Status status;
  union {
    unsigned number;
    double widest;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

enum Reason : unsigned long long {
  SOFTWARE_POWER_CAP = 0x4,
  HARDWARE_SLOWDOWN = 0x8,  // set with each of the three that say more
  SOFTWARE_THERMAL = 0x20,
  HARDWARE_THERMAL = 0x40,
  HARDWARE_POWER_BRAKE = 0x80,
};

}  // namespace

struct PowerMeter::Library {
  explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) throw NoNvml(dlerror());
    try {
      find(init, "nvmlInit_v2");
      find(shutdown, "nvmlShutdown");
      find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
      find(error_string, "nvmlErrorString");
      find(field_values, "nvmlDeviceGetFieldValues");
      find(power_usage, "nvmlDeviceGetPowerUsage");
      find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
      find(clock, "nvmlDeviceGetClockInfo");
      // Since driver 535 ...GetCurrentClocksEventReasons; the older name is still there.
      find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
      require(init(), "nvmlInit");
    } catch (...) {
      dlclose(handle);
      throw;
    }
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    shutdown();
    dlclose(handle);
  }

  void require(Status status, const char* what) const {
    if (status != SUCCESS) throw NoNvml(fmt::format("{}: {}", what, error_string(status)));
  }

  void* handle;
  Status (*init)();
  Status (*shutdown)();
  Status (*by_bus_id)(const char*, void** device);
  const char* (*error_string)(Status);
  Status (*field_values)(void* device, int count, FieldValue*);
  Status (*power_usage)(void* device, unsigned* milliwatts);
  Status (*power_limit)(void* device, unsigned* milliwatts);
  Status (*clock)(void* device, int which, unsigned* mhz);
  Status (*reasons)(void* device, unsigned long long*);

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) throw NoNvml(fmt::format("the library has no {}", name));
  }
};

PowerMeter::PowerMeter(const std::string& pci_bus_id, const std::string& library)
    : library_(std::make_unique<Library>(library)) {
  library_->require(library_->by_bus_id(pci_bus_id.c_str(), &device_), "no device of this bus id");
  unsigned milliwatts = 0;
  library_->require(library_->power_limit(device_, &milliwatts), "no power limit");
  limit_watts_ = milliwatts / 1e3;
  Sample sample{};
  if (read(sample)) return;
  instant_ = false;
  if (!read(sample)) throw NoNvml("this GPU says nothing of its power, clock or what limits it");
}

PowerMeter::~PowerMeter() {
  if (thread_.joinable()) end();
}

bool PowerMeter::read(Sample& sample) const {
  FieldValue power{};
  power.field = POWER_INSTANT;
  power.scope = GPU_ALONE;
  if (instant_) {
    if (library_->field_values(device_, 1, &power) != SUCCESS || power.status != SUCCESS)
      return false;
    sample.milliwatts = power.value.number;
  } else if (library_->power_usage(device_, &sample.milliwatts) != SUCCESS) {
    return false;
  }
  return library_->clock(device_, CLOCK_SM, &sample.sm_mhz) == SUCCESS &&
         library_->reasons(device_, &sample.reasons) == SUCCESS;
}

void PowerMeter::begin() {
  over_ = false;
  thread_ = std::thread([this] {
    while (!over_) {
      Sample sample{};
      const bool good = read(sample);
      if (good && !over_) samples_.push_back(sample);
      std::this_thread::sleep_for(PAUSE);
    }
  });
}

void PowerMeter::end() {
  over_ = true;
  thread_.join();
}

PowerUse PowerMeter::take() {
  PowerUse use;
  for (const Sample& s : samples_) {
    const auto has = [&](unsigned long long reasons) { return (s.reasons & reasons) != 0 ? 1 : 0; };
    use.watts += s.milliwatts / 1e3;
    use.sm_mhz += s.sm_mhz;
    use.power_cap += has(SOFTWARE_POWER_CAP);
    use.hardware_slowdown += has(HARDWARE_SLOWDOWN | HARDWARE_POWER_BRAKE);
    use.thermal += has(SOFTWARE_THERMAL | HARDWARE_THERMAL);
  }
  use.samples = static_cast<int>(samples_.size());
  samples_.clear();
  if (use.samples > 0)
    for (double* sum :
         {&use.watts, &use.sm_mhz, &use.power_cap, &use.hardware_slowdown, &use.thermal})
      *sum /= use.samples;
  return use;
}

}  // namespace ladder::harness
