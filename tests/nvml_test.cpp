// The sampler with a library of the test's own in place of NVML.
#include "harness/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fake_nvml.h"

namespace ladder::harness {
namespace {

constexpr const char* BUS_ID = "0000:18:00.0";

class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    library = dlopen(LADDER_FAKE_NVML, RTLD_NOW);
    ASSERT_NE(nullptr, library) << dlerror();
    fake = reinterpret_cast<FakeNvml* (*)()>(dlsym(library, "start_again"))();
  }
  void TearDown() override {
    EXPECT_EQ(0, fake->open);
    dlclose(library);
  }
  // That many readings at least.
  PowerUse sample(PowerMeter& meter, int readings) const {
    const int first = fake->started;
    meter.begin();
    while (fake->started < first + readings) std::this_thread::yield();
    meter.end();
    return meter.take();
  }
  static std::string refusal(const std::string& path = LADDER_FAKE_NVML) {
    try {
      PowerMeter(BUS_ID, path);
    } catch (const NoNvml& error) {
      return error.what();
    }
    return "accepted";
  }

  void* library = nullptr;
  FakeNvml* fake = nullptr;
};

TEST_F(Nvml, TheDeviceIsFoundByItsBusId) {
  const PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  EXPECT_EQ(BUS_ID, fake->bus_id);
  EXPECT_EQ(700, meter.limit_watts());
  EXPECT_EQ("instant", meter.sensor());
}

TEST_F(Nvml, MeansAndShares) {
  // The first is read when the device is opened, and counts for nothing.
  fake->readings = {{900000, 1, 0xFF},         {500000, 1980, 0},          {600000, 1500, 0x4},
                    {700000, 1400, 0x4 | 0x8}, {710000, 1300, 0x4 | 0x80}, {650000, 1600, 0x24},
                    {550000, 1700, 0x40},      {560000, 1710, 0x40}};
  const std::vector<FakeNvml::Reading> r = fake->readings;
  PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  fake->readings.erase(fake->readings.begin());
  fake->started = 0;
  const PowerUse use = sample(meter, 20);
  ASSERT_GE(use.samples, 19);
  double watts = 0, mhz = 0, cap = 0, hardware = 0, thermal = 0;
  for (int i = 0; i < use.samples; ++i) {
    const size_t which = static_cast<size_t>(i % 7) + 1;
    watts += r[which].milliwatts / 1e3;
    mhz += r[which].sm_mhz;
    cap += which >= 2 && which <= 5;
    hardware += which == 3 || which == 4;
    thermal += which >= 5;
  }
  EXPECT_DOUBLE_EQ(watts / use.samples, use.watts);
  EXPECT_DOUBLE_EQ(mhz / use.samples, use.sm_mhz);
  EXPECT_DOUBLE_EQ(cap / use.samples, use.power_cap);
  EXPECT_DOUBLE_EQ(hardware / use.samples, use.hardware_slowdown);
  EXPECT_DOUBLE_EQ(thermal / use.samples, use.thermal);
}

// What is idle, or was read between two runs, is no sample.
TEST_F(Nvml, NothingIsReadOutsideOfARun) {
  PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  EXPECT_EQ(0, meter.take().samples);
  sample(meter, 5);
  const int before = fake->started;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(before, fake->started);
  EXPECT_EQ(0, meter.take().samples);
}

// The samples of several bursts are those of one run.
TEST_F(Nvml, SamplesAddUpUntilTheyAreTaken) {
  PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  for (int burst = 0; burst < 3; ++burst) {
    const int first = fake->started;
    meter.begin();
    while (fake->started < first + 4) std::this_thread::yield();
    meter.end();
  }
  EXPECT_GE(meter.take().samples, 9);
  EXPECT_EQ(0, meter.take().samples);
}

TEST_F(Nvml, AReadingThatOutlastsTheLaunchesIsLeftOut) {
  PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  fake->hang = true;
  const int before = fake->started;
  meter.begin();
  while (fake->started == before) std::this_thread::yield();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    fake->hang = false;
  });
  meter.end();
  later.join();
  EXPECT_EQ(0, meter.take().samples);
}

TEST_F(Nvml, WithoutTheInstantSensorItIsTheAverage) {
  fake->instant = FakeNvml::NOT_SUPPORTED;
  PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  EXPECT_EQ("average", meter.sensor());
  EXPECT_EQ(100, sample(meter, 3).watts);
}

TEST_F(Nvml, AMeterMayGoWhileItSamples) {
  PowerMeter meter(BUS_ID, LADDER_FAKE_NVML);
  meter.begin();
}

TEST_F(Nvml, EachThingThatIsMissingIsSaid) {
  EXPECT_NE(refusal("libnvidia-ml.so.none").find("libnvidia-ml.so.none"), std::string::npos);
  EXPECT_EQ("the library has no nvmlInit_v2", refusal("libc.so.6"));
  fake->init = FakeNvml::DRIVER_NOT_LOADED;
  EXPECT_EQ("nvmlInit: Driver Not Loaded", refusal());
  fake->init = FakeNvml::SUCCESS;
  fake->device = FakeNvml::NOT_SUPPORTED;
  EXPECT_EQ("no device of this bus id: Not Supported", refusal());
  fake->device = FakeNvml::SUCCESS;
  fake->limit = FakeNvml::NOT_SUPPORTED;
  EXPECT_EQ("no power limit: Not Supported", refusal());
  fake->limit = FakeNvml::SUCCESS;
  fake->instant = fake->average = FakeNvml::NOT_SUPPORTED;
  EXPECT_EQ("this GPU says nothing of its power, clock or what limits it", refusal());
}

}  // namespace
}  // namespace ladder::harness
