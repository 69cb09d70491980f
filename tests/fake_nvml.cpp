#include "fake_nvml.h"

#include <memory>
#include <thread>

namespace {

auto fake = std::make_unique<FakeNvml>();
int a_device;

const FakeNvml::Reading& reading() {
  return fake->readings[static_cast<size_t>(fake->started - 1) % fake->readings.size()];
}

int power(int status, unsigned* milliwatts) {
  if (status != FakeNvml::SUCCESS) return status;
  ++fake->started;
  while (fake->hang) std::this_thread::yield();
  *milliwatts = reading().milliwatts;
  return FakeNvml::SUCCESS;
}

// As nvml.h has it: nvmlFieldValue_t.
struct Field {
  unsigned id, scope;
  long long timestamp, latency;
  int type, status;
  union {
    double d;
    unsigned number;
  } value;
};

}  // namespace

extern "C" {

FakeNvml* start_again() {
  fake = std::make_unique<FakeNvml>();
  return fake.get();
}

int nvmlInit_v2() {
  if (fake->init == FakeNvml::SUCCESS) ++fake->open;
  return fake->init;
}
int nvmlShutdown() {
  --fake->open;
  return FakeNvml::SUCCESS;
}
const char* nvmlErrorString(int status) {
  return status == FakeNvml::DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Not Supported";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  fake->bus_id = bus_id;
  *device = &a_device;
  return fake->device;
}
int nvmlDeviceGetFieldValues(void* device, int count, Field* fields) {
  if (device != &a_device || count != 1 || fields->id != 186 || fields->scope != 0) return -1;
  fields->status = power(fake->instant, &fields->value.number);
  return FakeNvml::SUCCESS;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  return power(fake->average, milliwatts);
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return fake->limit;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) {
  *mhz = which == 1 ? reading().sm_mhz : 0;
  return FakeNvml::SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = reading().reasons;
  return FakeNvml::SUCCESS;
}
}
