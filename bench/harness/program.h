#pragma once
// The end of a program beside the stages: its errors in one line each, and the exit code.
#include <fmt/format.h>

#include "device.h"
#include "harness.h"
#include "options.h"
#include "output.h"

namespace ladder::harness {

// Calls body() and returns the exit code. What it throws goes to stderr behind the program's name.
template <class Body>
int run_program(const char* name, Body body) {
  const auto fail = [&](const std::exception& error, Exit code) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return code;
  };
  occupy_standard_streams();
  try {
    body();
    require_printed();
  } catch (const NoDevice& error) {
    return fail(error, EXIT_NO_DEVICE);
  } catch (const UsageError& error) {
    return fail(error, EXIT_BAD_INPUT);
  } catch (const std::exception& error) {
    return fail(error, EXIT_FAILED);
  }
  return EXIT_OK;
}

}  // namespace ladder::harness
