#pragma once
// What tests of kernels begin with.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "harness/device.h"

namespace ladder {

// Skips its tests, by name, where select_device() finds no such GPU. The CPU device is always
// there.
template <int COMPUTE_CAPABILITY, bool NO_OTHER>
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef LADDER_CPU_DEVICE
    try {
      device = harness::select_device(0, COMPUTE_CAPABILITY, NO_OTHER);
    } catch (const harness::NoDevice& error) {
      GTEST_SKIP() << error.what();
    }
#endif
  }

  harness::Device device;
};

}  // namespace ladder
