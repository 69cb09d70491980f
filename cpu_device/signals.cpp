#include "signals.h"

#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <new>
#include <vector>

#include "block.h"
#include "findings.h"
#include "global_memory.h"
#include "memory.h"
#include "symbols.h"

#ifndef sigev_notify_thread_id
  #define sigev_notify_thread_id _sigev_un._tid
#endif

namespace cpu_device {
#ifdef LADDER_NO_TRACE

SignalGuard::SignalGuard() = default;
SignalGuard::~SignalGuard() = default;
Outcome run_fibers(Fiber& home, Fiber& first) {
  Fiber::switch_to(home, first);
  return Outcome::ENDED;
}

#else

namespace {

constexpr int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int CLOCK = SIGVTALRM;
constexpr size_t STACK_BYTES = 256 * 1024;  // for unwinding
constexpr int FRAMES = 64;
constexpr long RETRY_NANOSECONDS = 10'000'000;

// What this OS thread's handlers know.
struct Guarded {
  Fiber* home = nullptr;  // where to go; null while no fiber runs
  void* stack = nullptr;
  timer_t clock{};
  // Of the signal that ended the launch. Instructions: the interrupted one and its callers'.
  int signal = 0;
  bool in_kernel_mode = false, is_store = false;
  uintptr_t address = 0, stack_pointer = 0;
  void* instructions[FRAMES];
  int count = 0;
  bool ended = false;  // by end_launch()
};
__thread Guarded* guarded = nullptr;

// Where the program's own code is.
struct Code {
  uintptr_t begin = UINTPTR_MAX, end = 0;
};
Code code;

struct Interrupted {
  const char* instruction;
  uintptr_t stack_pointer;
};
Interrupted interrupted(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
  #if defined(__x86_64__)
  return {reinterpret_cast<const char*>(registers.gregs[REG_RIP]),
          static_cast<uintptr_t>(registers.gregs[REG_RSP])};
  #elif defined(__aarch64__)
  return {reinterpret_cast<const char*>(registers.pc), registers.sp};
  #else
  return {};
  #endif
}

// Leaves the handler without coming back.
[[noreturn]] void go_home() {
  Fiber lost, *home = guarded->home;
  guarded->home = nullptr;
  Fiber::switch_to(lost, *home, true);
  __builtin_unreachable();
}

void keep_instructions(const char* interrupted) {
  guarded->instructions[0] = const_cast<char*>(interrupted);
  guarded->count = 1;
  void* frames[FRAMES];
  const int count = backtrace(frames, FRAMES);
  int i = 0;  // the handler's own come first
  while (i < count && frames[i] != interrupted) ++i;
  for (++i; i < count; ++i) guarded->instructions[guarded->count++] = frames[i];
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (guarded == nullptr || guarded->home == nullptr) {  // not a kernel's: as if we were not there
    std::signal(signal, SIG_DFL);
    if (info->si_code <= 0) std::raise(signal);
    return;
  }
  if (guarded->signal != 0) go_home();  // a fault in what follows
  guarded->signal = signal;
  guarded->address = reinterpret_cast<uintptr_t>(info->si_addr);
  guarded->in_kernel_mode = info->si_code == SI_KERNEL;
  #if defined(__x86_64__)
  guarded->is_store =
      (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
  #endif
  const Interrupted at = interrupted(context);
  guarded->stack_pointer = at.stack_pointer;
  keep_instructions(at.instruction);
  go_home();
}

// Whoever holds a lock must not be left: of the C library's, outside the program's own code, and
// that of the findings. The clock ticks on until it finds a better moment.
void on_clock(int, siginfo_t*, void* context) {
  if (guarded == nullptr || guarded->home == nullptr || guarded->signal != 0) return;
  const char* instruction = interrupted(context).instruction;
  const auto address = reinterpret_cast<uintptr_t>(instruction);
  if (address < code.begin || address >= code.end || is_reporting() || is_touching_global()) return;
  guarded->signal = CLOCK;
  keep_instructions(instruction);
  if (guarded->count == 1) {  // in the middle of a switch between fibers
    guarded->signal = 0;
    return;
  }
  go_home();
}

void install_handlers() {
  void* frames[1];
  backtrace(frames, 1);  // loads what it needs, which a handler must not
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          code.begin = std::min<uintptr_t>(code.begin, info->dlpi_addr + part.p_vaddr);
          code.end = std::max<uintptr_t>(code.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
        }
        return 1;  // the program itself comes first
      },
      nullptr);
  struct sigaction action {};
  // Not deferred: a handler that is left for good would leave its signal blocked.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  action.sa_sigaction = on_fault;
  for (const int signal : FAULTS) sigaction(signal, &action, nullptr);
  action.sa_sigaction = on_clock;
  sigaction(CLOCK, &action, nullptr);
}

// The line of the kernel where it happened: of its innermost function, should the instruction be
// one of a library or of the device.
Place place_of(const Guarded& at) {
  // A line is looked up for the instruction before a return address: the interrupted one is none.
  std::vector<const void*> instructions{static_cast<char*>(at.instructions[0]) + 1};
  instructions.insert(instructions.end(), at.instructions + 1, at.instructions + at.count);
  const std::vector<SourceLine> lines = source_lines(instructions);
  const auto known = std::find_if(lines.begin(), lines.end(),
                                  [](const SourceLine& line) { return !line.file.empty(); });
  return {nullptr, 0,
          instructions[known == lines.end() ? 0 : static_cast<size_t>(known - lines.begin())]};
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

constexpr uintptr_t NULL_PAGES = 64 * 1024, NEAR_STACK = 64 * 1024;

std::string cause_of(const Guarded& at) {
  const std::string verb = at.is_store ? "writes to" : "reads from";
  switch (at.signal) {
    case SIGFPE:
      return "divides an integer by zero";
    case SIGILL:
      return "reaches what the compiler takes for impossible";
    case SIGABRT:
      return "aborts, as a failed assert does";
    case CLOCK:
      return "still running after " + number(settings().block_seconds) +
             " s of one block: an endless loop";
    default:
      break;
  }
  if (at.in_kernel_mode)
    return "accesses an address that no memory has, or a vector that is not aligned";
  if (at.address < NULL_PAGES) return verb + " a null pointer";
  if (at.address - at.stack_pointer + NEAR_STACK < 2 * NEAR_STACK)
    return "has used up the stack of its thread: an endless recursion, or large local arrays";
  return verb + " memory that belongs to nobody";
}

std::string example_of(const Guarded& at) {
  std::string example = current_thread();
  if ((at.signal != SIGSEGV && at.signal != SIGBUS) || at.in_kernel_mode) return example;
  if (at.address < NULL_PAGES) return example + ", at byte " + std::to_string(at.address);
  const std::string where = describe_address(at.address);
  return where.empty() ? example : example + ", " + where;
}

}  // namespace

SignalGuard::SignalGuard() {
  static std::once_flag installed;
  std::call_once(installed, install_handlers);
  auto* self = new Guarded;
  self->stack =
      mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (self->stack == MAP_FAILED) throw std::bad_alloc();
  stack_t stack{};
  stack.ss_sp = self->stack;
  stack.ss_size = STACK_BYTES;
  sigaltstack(&stack, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = CLOCK;
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &self->clock);
  guarded = self;
}

SignalGuard::~SignalGuard() {
  timer_delete(guarded->clock);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(guarded->stack, STACK_BYTES);
  delete guarded;
  guarded = nullptr;
}

Outcome run_fibers(Fiber& home, Fiber& first) {
  const double seconds = settings().block_seconds;
  itimerspec deadline{};
  deadline.it_interval.tv_nsec = RETRY_NANOSECONDS;
  deadline.it_value.tv_sec = static_cast<time_t>(seconds);
  deadline.it_value.tv_nsec =
      static_cast<long>((seconds - static_cast<double>(deadline.it_value.tv_sec)) * 1e9);
  timer_settime(guarded->clock, 0, &deadline, nullptr);
  guarded->signal = 0;
  guarded->count = 0;
  guarded->ended = false;
  guarded->home = &home;
  Fiber::switch_to(home, first);
  guarded->home = nullptr;
  if (guarded->signal == 0) return guarded->ended ? Outcome::GIVEN_UP : Outcome::ENDED;
  report_finding(place_of(*guarded), cause_of(*guarded), example_of(*guarded));
  return guarded->signal == CLOCK ? Outcome::INTERRUPTED : Outcome::GIVEN_UP;
}

void end_launch(const Place& place, const std::string& cause, const std::string& example) {
  report_finding(place, cause, example);
  guarded->ended = true;
  go_home();
}

#endif

}  // namespace cpu_device
