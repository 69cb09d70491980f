// Runs on the CPU device: each variant is checked against a double-precision reference, and its
// memory accesses are counted.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "access_digest.h"
#include "buffers.h"
#include "execute.h"
#include "findings.h"

namespace ladder::harness {

const Target TARGET = Target::CPU;

namespace {

#ifdef __wasm__  // in a page: lab/README.md

std::string processor_name() {
  return "WebAssembly";
}
double memory_bytes() {
  return 0x1p31;
}

#else

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "CPU";
}

double memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

#endif

// Operands and results lie in memory twice, as the host's and as the device's. Throws UsageError.
template <class In, class Out>
void require_memory(Shape shape, const EpilogueChoice& epilogue, Layout layout, size_t groups,
                    uint64_t workspace) {
  const double needed = 2 * bytes_per_set<In, Out>(shape, epilogue, layout, groups) +
                        static_cast<double>(Workspace::footprint(workspace));
  const double available = memory_bytes();
  if (needed > available)
    throw UsageError(fmt::format(
        "A, B, C and the workspace need {:.0f} bytes of memory; this machine has {:.0f}", needed,
        available));
}

// The trace keeps offsets in an array as 32-bit numbers. Throws UsageError.
template <class In, class Out>
void require_traceable(const Gemm<In, Out>& p, size_t groups, uint64_t workspace) {
  const auto bytes = [](int64_t rows, int64_t ld, size_t size) {
    return static_cast<uint64_t>(rows) * static_cast<uint64_t>(ld) * size;
  };
  if (std::max(
          {bytes(p.transposed_a ? p.K : p.M, p.lda, sizeof(In)),
           bytes(p.transposed_b ? p.N : p.K * static_cast<int64_t>(std::max(size_t{1}, groups)),
                 p.ldb, sizeof(In)),
           bytes(p.M, p.ldc, sizeof(Out)), workspace}) > UINT32_MAX)
    throw UsageError("--memory counts accesses to matrices of up to 4 GiB; use --no-memory");
}

constexpr unsigned TRACED_REQUESTS = 32;  // of each line, with --trace

// Bytes from a row to the next, of A, B and C; 0 for other arrays.
template <class In, class Out>
uint64_t pitch_of(const std::string& array, const Gemm<In, Out>& p) {
  if (array == "A") return static_cast<uint64_t>(p.lda) * sizeof(In);
  if (array == "B") return static_cast<uint64_t>(p.ldb) * sizeof(In);
  return array == "C" || array == "addend" || array == "residual"
             ? static_cast<uint64_t>(p.ldc) * sizeof(Out)
             : 0;
}

template <class In, class Out>
std::vector<MemoryRow> memory_rows(const Gemm<In, Out>& p) {
  std::vector<MemoryRow> rows;
  for (cpu_device::MemoryLine& line : cpu_device::take_memory_lines()) {
    std::vector<RequestRow> first;
    for (cpu_device::KeptRequest& request : line.kept)
      first.push_back({std::move(request.offsets), std::move(request.to), request.cost});
    rows.push_back({line.file, line.line, line.text, line.array,
                    line.space == cpu_device::Space::SHARED, cpu_device::name_of(line.operation),
                    line.bytes, line.requests, line.lanes, line.cost, line.ideal, line.fetched,
                    line.array_bytes, pitch_of(line.array, p), line.kept_warp, std::move(first)});
  }
  return rows;
}

}  // namespace

template <class In, class Out>
Report execute(const Stage& stage, const std::vector<Variant<In, Out>>& variants,
               const Options& options, const EpilogueChoice& epilogue, Layout layout) {
  const Shape shape{options.m, options.n, options.k};
  const uint64_t workspace = workspace_bytes(variants, shape, {}, layout);
  require_memory<In, Out>(shape, epilogue, layout, options.groups.size(), workspace);
  if (options.memory)
    require_traceable(without_matrices<In, Out>(shape, {}, layout), options.groups.size(),
                      workspace);
  progress("drawing data and computing the reference");
  const Problem<In, Out> problem(shape, options.data, options.seed, {}, stage.sums, epilogue,
                                 layout, options.groups);
  BufferSets<In, Out> sets(problem, 1, variants);
  const Gemm<In, Out> p = sets.gemm(0, nullptr);
  std::optional<Output<Out>> reference;
  if (options.check) reference = reference_output(problem);

  Device device;
  device.kind = "cpu";
  device.name = processor_name();
  Report report = describe_run(stage, device, problem, options.seed);
  cpu_device::settings().trace = options.memory;
  cpu_device::settings().digest = options.digest;
  if (options.digest) cpu_device::settings().os_threads = 1;
  if (!options.trace.empty()) cpu_device::settings().kept_requests = TRACED_REQUESTS;
  for (const auto& variant : variants) {
    progress("running " + variant.name);
    VariantReport& result = report.variants.emplace_back();
    result.name = variant.name;
    watch(sets.gemm(0, nullptr, variant));
    const Output<Out> output = sets.run_poisoned(variant, nullptr);
    if (reference)
      result.check = verify(output, *reference, problem.bound(&*reference, variant.rounds));
    if (options.memory) result.memory = memory_rows(p);
    if (options.digest) result.digest = access_digest();
    result.findings = finding_texts();
  }
  return report;
}

#define INSTANTIATE(In, Out, Accumulate)                                                      \
  template Report execute(const Stage&, const std::vector<Variant<In, Out>>&, const Options&, \
                          const EpilogueChoice&, Layout);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
