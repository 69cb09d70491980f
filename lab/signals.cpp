// What cpu_device/signals.cpp does with signals. In a page a fault is a trap, which engine.mjs
// catches, and an endless loop is seen by the calls in its basic blocks.
#include "cpu_device/signals.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "cpu_device/block.h"
#include "cpu_device/findings.h"

namespace cpu_device {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double MOST_SECONDS = 2;           // of a block: somebody looks on
constexpr unsigned BETWEEN_LOOKS = 1 << 14;  // basic blocks

Fiber* home = nullptr;  // null while no fiber runs
Outcome outcome = Outcome::ENDED;
Clock::time_point deadline;
unsigned until_look = BETWEEN_LOOKS;
const void* running = nullptr;

double block_seconds() {
  return std::min(settings().block_seconds, MOST_SECONDS);
}

[[noreturn]] void go_home(Outcome how) {
  Fiber lost, *to = home;
  home = nullptr;
  outcome = how;
  Fiber::switch_to(lost, *to, true);
  __builtin_unreachable();
}

}  // namespace

SignalGuard::SignalGuard() = default;
SignalGuard::~SignalGuard() = default;

Outcome run_fibers(Fiber& from, Fiber& first) {
  const auto seconds = std::chrono::duration<double>(block_seconds());
  deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
  outcome = Outcome::ENDED;
  home = &from;
  Fiber::switch_to(from, first);
  home = nullptr;
  return outcome;
}

void end_launch(const Place& place, const std::string& cause, const std::string& example) {
  report_finding(place, cause, example);
  go_home(Outcome::GIVEN_UP);
}

void basic_block_begins(const void* pc) {
  running = pc;
  if (home == nullptr || settings().block_seconds == 0 || --until_look > 0) return;
  until_look = BETWEEN_LOOKS;
  if (Clock::now() < deadline) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", block_seconds());
  report_finding({nullptr, 0, pc},
                 "still running after " + std::string(seconds) + " s of one block: an endless loop",
                 current_thread());
  go_home(Outcome::INTERRUPTED);
}

}  // namespace cpu_device

// A trap has ended the fiber that ran; engine.mjs says which. Returns the one to continue, or null
// where it was no kernel's.
extern "C" [[clang::export_name("lab_fault")]] const void* lab_fault(const char* cause) {
  using namespace cpu_device;
  if (home == nullptr) return nullptr;
  report_finding({nullptr, 0, running}, cause, current_thread());
  outcome = Outcome::GIVEN_UP;
  return std::exchange(home, nullptr);
}
