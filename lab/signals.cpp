// What cpu_device/signals.cpp does with signals. In a page a fault is a trap, which engine.mjs
// catches, and an endless loop is seen by the calls in its basic blocks.
#include "cpu_device/signals.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "cpu_device/block.h"
#include "cpu_device/findings.h"
#include "lab/signals.h"

namespace cpu_device {
namespace {

using Clock = std::chrono::steady_clock;
// Somebody looks on. But a page knows no processor time, and others may have the processor: what
// never waits for another thread is ended soon, a loop that does later.
constexpr double MOST_SECONDS_AT_ONCE = 2, MOST_SECONDS = 20;  // of a thread, of a block
constexpr double PER_PROCESSOR_SECOND = 5;   // of a block, where less is allowed, as by the grader
constexpr unsigned BETWEEN_LOOKS = 1 << 14;  // basic blocks

Fiber* home = nullptr;  // null while no fiber runs
Outcome outcome = Outcome::ENDED;
Clock::time_point block_began, thread_went_on;
unsigned until_look = BETWEEN_LOOKS;
bool has_switched = false;  // since the last look; asking the clock takes longer than a switch
const void* running = nullptr;

double most_seconds() {
  return std::min(MOST_SECONDS, PER_PROCESSOR_SECOND * settings().block_seconds);
}

bool is_past(Clock::time_point begin, double seconds) {
  return std::chrono::duration<double>(Clock::now() - begin).count() > seconds;
}

[[noreturn]] void go_home(Outcome how) {
  Fiber lost, *to = home;
  home = nullptr;
  outcome = how;
  Fiber::switch_to(lost, *to, true);
  __builtin_unreachable();
}

}  // namespace

void thread_goes_on() {
  has_switched = true;
}

SignalGuard::SignalGuard() = default;
SignalGuard::~SignalGuard() = default;

Outcome run_fibers(Fiber& from, Fiber& first) {
  block_began = Clock::now();
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
  if (--until_look > 0) return;
  until_look = BETWEEN_LOOKS;
  if (home == nullptr || settings().block_seconds == 0) return;
  if (std::exchange(has_switched, false)) thread_went_on = Clock::now();
  const bool is_long = is_past(block_began, most_seconds());
  if (!is_long && !is_past(thread_went_on, MOST_SECONDS_AT_ONCE)) return;
  const double seconds = is_long ? most_seconds() : MOST_SECONDS_AT_ONCE;
  report_finding({nullptr, 0, pc},
                 "still running after " + std::to_string(static_cast<int>(seconds)) +
                     " s of one block: an endless loop",
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
