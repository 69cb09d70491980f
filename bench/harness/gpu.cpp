// Runs on a GPU: each variant is checked against cuBLAS and timed beside it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>

#include "best.h"
#include "buffers.h"
#include "cublas.h"
#include "execute.h"
#include "profiler.h"
#include "timer.h"

namespace ladder::harness {

const Target TARGET = Target::GPU;

namespace {

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

// How many sets of buffers to have: enough to be larger than twice the L2 cache together, as far as
// memory beside `workspace` goes. Throws UsageError when one does not fit. Nothing has been
// allocated yet.
template <class In, class Out>
int buffer_sets(Shape shape, const EpilogueChoice& epilogue, Layout layout, size_t groups,
                uint64_t workspace, const Device& device) {
  size_t available = 0, total = 0;
  LADDER_CUDA_CHECK(cudaMemGetInfo(&available, &total));
  const double bytes = bytes_per_set<In, Out>(shape, epilogue, layout, groups),
               products = epilogue.is_product_alone() ? 0 : sizeof(float) * 1.0 * shape.m * shape.n,
               beside = static_cast<double>(Workspace::footprint(workspace)) + products;
  if (bytes + beside > static_cast<double>(available))
    throw UsageError(fmt::format(
        "A, B, C and the workspace need {:.0f} bytes of device memory; {} are available",
        bytes + beside, available));
  const double wanted = 2.0 * static_cast<double>(device.l2_bytes) / bytes;
  const double possible = (static_cast<double>(available) - beside) / bytes;
  return static_cast<int>(std::max(1.0, std::min(std::ceil(wanted), std::floor(possible))));
}

// Of the first kernel that `gemm` launches, which is its main one: it is captured into a graph, not
// run, and the graph knows what would be launched. Nothing where it launches none, or one of a
// library, of which the runtime knows nothing.
template <class In, class Out>
std::optional<KernelFacts> kernel_facts(const GemmFunction<In, Out>& gemm, const Gemm<In, Out>& p) {
  cudaGraph_t graph = nullptr;
  LADDER_CUDA_CHECK(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
  gemm(p);
  LADDER_CUDA_CHECK(cudaStreamEndCapture(p.stream, &graph));
  size_t count = 0;
  LADDER_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);  // in the order in which they were captured
  LADDER_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  const auto is_kernel = [](cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    LADDER_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    return type == cudaGraphNodeTypeKernel;
  };
  const auto first = std::find_if(nodes.begin(), nodes.end(), is_kernel);
  cudaKernelNodeParams launch{};
  const cudaError_t asked = first == nodes.end() ? cudaErrorInvalidDeviceFunction
                                                 : cudaGraphKernelNodeGetParams(*first, &launch);
  LADDER_CUDA_CHECK(cudaGraphDestroy(graph));
  if (asked == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();  // the next check is not to see it
    return std::nullopt;
  }
  LADDER_CUDA_CHECK(asked);

  const int threads = static_cast<int>(launch.blockDim.x * launch.blockDim.y * launch.blockDim.z);
  cudaFuncAttributes attributes{};
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, launch.func));
  int blocks = 0;
  LADDER_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.func, threads,
                                                                  launch.sharedMemBytes));
  const int threads_at_most = device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  return KernelFacts{attributes.numRegs, attributes.sharedSizeBytes + launch.sharedMemBytes,
                     threads, static_cast<double>(blocks * threads) / threads_at_most};
}

// Sampled rows of cuBLAS's result against a double reference, of groups the last of each: who
// checks the checker.
template <class In, class Out>
void check_cublas(const Problem<In, Out>& problem, const Output<Out>& result) {
  const int m = problem.shape.m;
  std::vector<int> rows{0, m / 3, static_cast<int>(2LL * m / 3), m - 1};
  for (const int end : problem.ends)
    if (end > 0) rows.push_back(end - 1);
  const std::string error = check_against_double(problem, result, rows);
  if (!error.empty())
    throw std::runtime_error("cuBLAS disagrees with a double-precision reference at " + error);
}

// tf32's products in fp32, as they are of floats.
template <class In, class Out>
const Gemm<In, Out>& in_full(const Gemm<In, Out>& p) {
  return p;
}
Gemm<float, float> in_full(const Gemm<tf32, float>& p) {
  Gemm<float, float> full{p.M,         p.N,   p.K, &p.A->value, p.lda,
                          &p.B->value, p.ldb, p.C, p.ldc,       p.stream};
  full.transposed_a = p.transposed_a, full.transposed_b = p.transposed_b;
  return full;
}

// The epilogue, in double, of cuBLAS's products, which are not rounded to Out before.
template <class In, class Out>
Output<Out> reference_by_cublas(Cublas& cublas, const Problem<In, Out>& problem,
                                const BufferSets<In, Out>& sets, cudaStream_t stream) {
  using Accumulate = typename Formats<In, Out>::Accumulate;
  const auto n = static_cast<size_t>(problem.shape.n);
  std::vector<Accumulate> products(static_cast<size_t>(problem.shape.m) * n);
  const DeviceBuffer<Accumulate> device(products.size());
  const auto p = in_full(sets.gemm(0, stream));
  if constexpr (!std::is_integral_v<In>)
    cublas.product(p, device.get(), problem.shape.n);
  else if (!cublas.has(p, device.get(), problem.shape.n))
    return reference_output(problem);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  device.download(products);
  return reference_of_products(problem, [&](int i, int j) {
    return static_cast<double>(products[static_cast<size_t>(i) * n + static_cast<size_t>(j)]);
  });
}

// What a stage is compared with: cuBLAS, whose checked result is the reference, and the best of
// cublasLt.
template <class In, class Out>
struct Yardsticks {
  std::string cublas_version;
  std::optional<Variant<In, Out>> cublas;  // nothing where it has none
  std::optional<Output<Out>> reference;    // nothing with --no-check
  std::optional<Best<In, Out>> best;
};

// What cuBLAS chooses itself; of what it leaves to cublasLt, that one's first choice.
// Nothing where that one has none.
template <class In, class Out>
std::optional<Variant<In, Out>> own_choice(const std::shared_ptr<Cublas>& cublas,
                                           const Gemm<In, Out>& p, Sums sums) {
  if constexpr (BY_CUBLASLT_ALONE<In, Out>) {
    const auto cublaslt = std::make_shared<const CublasLt<In, Out>>(p, sums);
    if (cublaslt->algorithms() == 0) return std::nullopt;
    return Variant<In, Out>(
        "cuBLAS", [=](const Gemm<In, Out>& p) { cublaslt->gemm(0, p); },
        any_of_cublaslt<In, Out>().workspace_bytes);
  } else {
    if constexpr (std::is_integral_v<In>)
      if (!cublas->has(p, p.C, p.ldc)) return std::nullopt;
    return Variant<In, Out>("cuBLAS", [=](const Gemm<In, Out>& p) { cublas->gemm(p); });
  }
}

// cuBLAS's result, as far as it has one for the problem that is as exact as it can be.
template <class In, class Out>
Output<Out> make_reference(Cublas& handle, const std::optional<Variant<In, Out>>& cublas,
                           const Problem<In, Out>& problem, BufferSets<In, Out>& sets,
                           cudaStream_t stream) {
  constexpr bool INEXACT = std::is_same_v<In, tf32>;
  if (!INEXACT && problem.epilogue.choice.is_product_alone() && cublas)
    return sets.run_poisoned(*cublas, stream);
  if constexpr (BY_CUBLASLT_ALONE<In, Out> && !std::is_integral_v<In>)
    return reference_output(problem);
  else
    return reference_by_cublas(handle, problem, sets, stream);
}

template <class In, class Out>
Yardsticks<In, Out> make_yardsticks(const Problem<In, Out>& problem, BufferSets<In, Out>& sets,
                                    bool check, bool best, cudaStream_t stream) {
  const auto handle = std::make_shared<Cublas>();
  Yardsticks<In, Out> yardsticks{
      handle->version(), own_choice(handle, sets.gemm(0, stream), problem.sums), {}, {}};
  if (check) {
    progress("computing the reference");
    yardsticks.reference = make_reference(*handle, yardsticks.cublas, problem, sets, stream);
    check_cublas(problem, *yardsticks.reference);
  }
  if (best && yardsticks.cublas) {
    progress("looking for the best of cublasLt");
    const Output<Out>* const reference = check ? &*yardsticks.reference : nullptr;
    constexpr Rounds ROUNDS = std::is_same_v<In, tf32> ? Rounds::CUT_TO_TF32 : Rounds::ONCE;
    yardsticks.best = find_best(sets, reference, check ? problem.bound(reference, ROUNDS) : Bound(),
                                stream, problem.sums);
  }
  return yardsticks;
}

template <class In, class Out>
VariantReport profile(const Variant<In, Out>& variant, const BufferSets<In, Out>& sets,
                      cudaStream_t stream) {
  const Gemm<In, Out> p = sets.gemm(0, stream, variant);
  {
    const ProfilerRange range(variant.name.c_str());
    variant.gemm(p);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  VariantReport result;
  result.name = variant.name;
  result.kernel = kernel_facts(variant.gemm, p);
  return result;
}

// Each variant with as many sets of data as prove its product, compared with what the host computes
// in double; up to its first wrong one.
template <class In, class Out>
Report prove(const Stage& stage, const std::vector<Variant<In, Out>>& variants,
             const Options& options, const EpilogueChoice& epilogue, Layout layout,
             const Device& device) {
  const Stream stream;
  Report report;
  for (int run = 0; run < report.runs; ++run) {
    progress(fmt::format("run {} of {}", run + 1, report.runs));
    const uint64_t seed = options.seed + static_cast<uint64_t>(run);
    const Problem<In, Out> problem({options.m, options.n, options.k}, options.data, seed, {},
                                   stage.sums, epilogue, layout, options.groups);
    if (run == 0) {
      report = describe_run(stage, device, problem, seed);
      report.runs = problem.wide.runs();
      if (report.runs == 0)
        throw UsageError(fmt::format("--prove: {} values for A and B prove nothing: K is too large",
                                     problem.wide.values()));
      for (const auto& variant : variants) report.variants.emplace_back().name = variant.name;
    }
    BufferSets<In, Out> sets(problem, 1, variants);
    const Output<Out> reference = reference_output(problem);
    for (size_t v = 0; v < variants.size(); ++v) {
      VariantReport& result = report.variants[v];
      if (result.check && !result.check->ok) continue;
      const Output<Out> output = sets.run_poisoned(variants[v], stream.handle);
      result.check = verify(output, reference, problem.bound(&reference, variants[v].rounds));
      if (!result.check->ok)
        result.check->message = fmt::format("seed {}: {}", seed, result.check->message);
      if (run == 0)
        result.kernel = kernel_facts(variants[v].gemm, sets.gemm(0, stream.handle, variants[v]));
    }
  }
  return report;
}

// Each contender by itself, which favours none: their times beside each other are measured already.
PowerReport sample_power(const std::vector<LaunchOn>& contenders, const std::vector<Timing>& usual,
                         int sets, Shape shape, cudaStream_t stream) {
  constexpr const char* NAMES[] = {"stage", "cublas", "best"};
  try {
    PowerMeter meter(current_pci_bus_id());
    PowerReport report{"", meter.sensor(), meter.limit_watts()};
    const auto in_flight = [&](bool yes) { yes ? meter.begin() : meter.end(); };
    for (size_t c = 0; c < contenders.size(); ++c) {
      progress(fmt::format("sampling the power of {}", NAMES[c]));
      const auto run = [&](const Pace& pace) {
        const double ms = time_alone(contenders[c], sets, usual[c].median, pace, in_flight, stream);
        return PowerRun{tflops(shape, ms), meter.take()};
      };
      // In this order: after the run without rests the GPU is hot.
      const PowerRun bursts = run(IN_BURSTS);
      report.contenders.push_back({NAMES[c], bursts, run(WITHOUT_RESTS)});
    }
    return report;
  } catch (const NoNvml& error) {
    return {error.what()};
  }
}

template <class In, class Out>
VariantReport measure(const Variant<In, Out>& variant, const Yardsticks<In, Out>& yardsticks,
                      const Problem<In, Out>& problem, BufferSets<In, Out>& sets,
                      const Options& options, bool sustained, cudaStream_t stream) {
  VariantReport result;
  result.name = variant.name;
  if (yardsticks.reference) {
    progress("checking " + variant.name);
    const Output<Out> output = sets.run_poisoned(variant, stream);
    const Output<Out>& reference = *yardsticks.reference;
    result.check = verify(output, reference, problem.bound(&reference, variant.rounds));
  }
  progress("timing " + variant.name);
  const bool best = yardsticks.best && yardsticks.best->variant;
  enum Contender : size_t { STAGE, CUBLAS, BEST };
  std::vector<LaunchOn> contenders{sets.launches(variant, stream)};
  if (yardsticks.cublas) contenders.push_back(sets.launches(*yardsticks.cublas, stream));
  if (best) contenders.push_back(sets.launches(*yardsticks.best->variant, stream));
  const std::vector<Timing> times =
      time_interleaved(contenders, {sets.count(), options.warmup, options.iterations}, stream);
  result.time = times[STAGE];
  if (yardsticks.cublas) result.cublas = times[CUBLAS];
  if (best) result.best = times[BEST];
  result.cublas_does_all = problem.epilogue.choice.is_product_alone() || BY_CUBLASLT_ALONE<In, Out>;
  if (sustained && yardsticks.cublas) {
    const std::vector<double> steady = time_sustained(contenders, sets.count(), times, stream);
    result.sustained = {tflops(problem.shape, steady[STAGE]),
                        100.0 * steady[CUBLAS] / steady[STAGE]};
    if (best)
      result.sustained->percent_of_best =
          100.0 * (result.cublas_does_all ? std::min(steady[BEST], steady[CUBLAS]) : steady[BEST]) /
          steady[STAGE];
  }
  if (options.sustained)
    result.power = sample_power(contenders, times, sets.count(), problem.shape, stream);
  result.kernel = kernel_facts(variant.gemm, sets.gemm(0, stream, variant));
  return result;
}

}  // namespace

template <class In, class Out>
Report execute(const Stage& stage, const std::vector<Variant<In, Out>>& variants,
               const Options& options, const EpilogueChoice& epilogue, Layout layout) {
  const Device device = select_device(options.device, stage.compute_capability, stage.no_other);
  const Shape shape{options.m, options.n, options.k};
  const bool profiling = options.profile || under_profiler();
  const bool best = !profiling && options.reference.value_or(stage.reference) == Reference::BEST;

  std::vector<Variant<In, Out>> with_workspace = variants;
  if (best || BY_CUBLASLT_ALONE<In, Out>) with_workspace.push_back(any_of_cublaslt<In, Out>());
  const int sets_for_timing =
      buffer_sets<In, Out>(shape, epilogue, layout, options.groups.size(),
                           workspace_bytes(with_workspace, shape, {}, layout), device);
  if (options.prove) return prove(stage, variants, options, epilogue, layout, device);
  const int count = profiling ? 1 : sets_for_timing;
  progress("drawing data");
  const Problem<In, Out> problem(shape, options.data, options.seed, {}, stage.sums, epilogue,
                                 layout, options.groups);
  BufferSets<In, Out> sets(problem, count, with_workspace);
  const Stream stream;

  Report report = describe_run(stage, device, problem, options.seed);
  if (profiling) {
    for (const auto& variant : variants)
      report.variants.push_back(profile(variant, sets, stream.handle));
    return report;
  }
  const Yardsticks<In, Out> yardsticks =
      make_yardsticks(problem, sets, options.check, best, stream.handle);
  report.cublas_version = yardsticks.cublas_version;
  if (yardsticks.best) report.best = yardsticks.best->facts;
  // Tensor cores are what reaches the power limit: their stages always report both.
  const bool sustained = options.sustained || stage.tensor_cores;
  for (const auto& variant : variants)
    report.variants.push_back(
        measure(variant, yardsticks, problem, sets, options, sustained, stream.handle));
  return report;
}

#define INSTANTIATE(In, Out, Accumulate)                                                      \
  template Report execute(const Stage&, const std::vector<Variant<In, Out>>&, const Options&, \
                          const EpilogueChoice&, Layout);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
