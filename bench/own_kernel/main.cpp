// The main of a kernel of one's own. own_kernel.h, which scripts/try.sh writes, includes the
// kernel's header, opens the namespaces of that header, and gives its name as OWN_KERNEL.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

#include "harness/harness.h"
#include "harness/number.h"
// After all others: a `using namespace` must not reach them.
#include "own_kernel.h"

template <class In, class Out, class = void>
constexpr bool HAS_GEMM = false;
template <class In, class Out>
constexpr bool
    HAS_GEMM<In, Out, std::void_t<decltype(gemm(std::declval<const ladder::Gemm<In, Out>&>()))>> =
        true;

template <class In, class Out, class = void>
constexpr bool HAS_WORKSPACE = false;
template <class In, class Out>
constexpr bool HAS_WORKSPACE<
    In, Out, std::void_t<decltype(workspace_bytes(std::declval<const ladder::Gemm<In, Out>&>()))>> =
    true;

// The exit code; nothing where the kernel is not of these types.
template <class In, class Out>
std::optional<int> run(int argc, char** argv) {
  if constexpr (HAS_GEMM<In, Out>) {
    using Problem = ladder::Gemm<In, Out>;
    ladder::harness::Variant<In, Out> variant{"gemm", [](const Problem& p) { gemm(p); }};
    if constexpr (HAS_WORKSPACE<In, Out>)
      variant.workspace_bytes = [](const Problem& p) -> uint64_t { return workspace_bytes(p); };
    const ladder::harness::Stage stage{OWN_KERNEL,
                                       /*compute_capability*/ 50,
                                       /*no_other*/ false,
                                       /*aligned_rows*/ true,
                                       /*tensor_cores*/ false};
    return ladder::harness::run<In, Out>(stage, {variant}, argc, argv);
  }
  return std::nullopt;
}

bool has_returned = false;
// Of a program that a kernel ends with exit(0) nobody would know that nothing was checked.
void refuse_exit() {
  if (has_returned) return;
  std::fprintf(stderr, "%s: the kernel has ended the program, by exit()\n", OWN_KERNEL);
  std::_Exit(1);
}

int main(int argc, char** argv) {
  std::atexit(refuse_exit);
#define IS_OF(In, Out, Accumulate) || HAS_GEMM<In, Out>
  static_assert(false LADDER_FORMATS(IS_OF),
                "there is no function gemm(const ladder::Gemm<float, float>&), nor one of half");
#define RUN(In, Out, Accumulate)                    \
  if (const auto code = run<In, Out>(argc, argv)) { \
    has_returned = true;                            \
    return *code;                                   \
  }
  LADDER_FORMATS(RUN)
}
