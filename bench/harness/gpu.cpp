// Runs on a GPU: each variant is checked against cuBLAS and timed beside it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

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

// Throws UsageError unless one set of buffers fits the device. Nothing has been allocated yet.
void require_memory(double needed) {
  size_t available = 0, total = 0;
  LADDER_CUDA_CHECK(cudaMemGetInfo(&available, &total));
  if (needed > static_cast<double>(available))
    throw UsageError(fmt::format(
        "A, B, C and the workspace need {:.0f} bytes of device memory; {} are available", needed,
        available));
}

// Enough sets to be larger than twice the L2 cache together, as far as memory beside `workspace`
// goes.
int buffer_sets(double bytes, double workspace, const Device& device) {
  size_t available = 0, total = 0;
  LADDER_CUDA_CHECK(cudaMemGetInfo(&available, &total));
  const double wanted = 2.0 * static_cast<double>(device.l2_bytes) / bytes;
  const double possible = (static_cast<double>(available) - workspace) / bytes;
  return static_cast<int>(std::max(1.0, std::min(std::ceil(wanted), std::floor(possible))));
}

// Of the first kernel that `gemm` launches, which is its main one: it is captured into a graph, not
// run, and the graph knows what would be launched.
template <class In, class Out>
KernelFacts kernel_facts(const GemmFunction<In, Out>& gemm, const Gemm<In, Out>& p) {
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
  if (first == nodes.end()) throw std::runtime_error("a variant launches no kernel");
  cudaKernelNodeParams launch{};
  LADDER_CUDA_CHECK(cudaGraphKernelNodeGetParams(*first, &launch));
  LADDER_CUDA_CHECK(cudaGraphDestroy(graph));

  const int threads = static_cast<int>(launch.blockDim.x * launch.blockDim.y * launch.blockDim.z);
  cudaFuncAttributes attributes{};
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, launch.func));
  int blocks = 0;
  LADDER_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.func, threads,
                                                                  launch.sharedMemBytes));
  const int threads_at_most = device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  return {attributes.numRegs, attributes.sharedSizeBytes + launch.sharedMemBytes, threads,
          static_cast<double>(blocks * threads) / threads_at_most};
}

// Sampled rows of cuBLAS's result against a double reference: who checks the checker.
template <class In, class Out>
void check_cublas(const Problem<In, Out>& problem, const Output<Out>& result) {
  const int m = problem.shape.m;
  const std::string error =
      check_against_double(problem, result, {0, m / 3, static_cast<int>(2LL * m / 3), m - 1});
  if (!error.empty())
    throw std::runtime_error("cuBLAS disagrees with a double-precision reference at " + error);
}

template <class In, class Out>
class Session {
 public:
  Session(const Stage& stage, const std::vector<Variant<In, Out>>& variants, const Options& options)
      : stage_(stage),
        options_(options),
        device_(select_device(options.device, stage.compute_capability, stage.no_other)),
        shape_{options.m, options.n, options.k} {
    const double bytes = bytes_per_set<In, Out>(shape_);
    const auto workspace =
        static_cast<double>(Workspace::footprint(workspace_bytes(variants, shape_)));
    require_memory(bytes + workspace);
    progress("drawing data");
    problem_.emplace(shape_, options.exact ? Data::EXACT : Data::UNIFORM, options.seed);
    sets_.emplace(*problem_, buffer_sets(bytes, workspace, device_), variants);
    report_ = {stage.name,
               device_,
               shape_,
               problem_->data,
               options.seed,
               Number<In>::NAME,
               Number<typename Formats<In, Out>::Accumulate>::NAME,
               Number<Out>::NAME,
               "",
               {}};
  }

  void profile(const Variant<In, Out>& variant) {
    {
      const ProfilerRange range(variant.name.c_str());
      variant.gemm(sets_->gemm(0, stream_.handle, variant));
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_.handle));
    }
    VariantReport& result = report_.variants.emplace_back();
    result.name = variant.name;
    result.kernel = kernel_facts(variant.gemm, sets_->gemm(0, stream_.handle, variant));
  }

  void prepare_reference() {
    cublas_.emplace();
    report_.cublas_version = cublas_->version();
    if (!options_.check) return;
    progress("computing the reference");
    reference_ =
        sets_->run_poisoned([&](const Gemm<In, Out>& p) { cublas_->gemm(p); }, stream_.handle);
    check_cublas(*problem_, *reference_);
  }

  void measure(const Variant<In, Out>& variant) {
    VariantReport& result = report_.variants.emplace_back();
    result.name = variant.name;
    if (options_.check) {
      progress("checking " + variant.name);
      const Output<Out> output = sets_->run_poisoned(variant, stream_.handle);
      result.check = verify(output, *reference_, problem_->bound());
    }
    progress("timing " + variant.name);
    const LaunchOn stage = [&](int set) {
      variant.gemm(sets_->gemm(set, stream_.handle, variant));
    };
    const LaunchOn cublas = [&](int set) { cublas_->gemm(sets_->gemm(set, stream_.handle)); };
    const Plan plan{sets_->count(), options_.warmup, options_.iterations};
    const Interleaved both = time_interleaved(stage, cublas, plan, stream_.handle);
    result.time = both.stage;
    result.cublas = both.cublas;
    // Tensor cores are what reaches the power limit: their stages always report both.
    if (options_.sustained || stage_.tensor_cores) {
      const SteadyState steady =
          time_sustained(stage, cublas, sets_->count(), both, stream_.handle);
      result.sustained = {tflops(shape_, steady.stage), 100.0 * steady.cublas / steady.stage};
    }
    result.kernel = kernel_facts(variant.gemm, sets_->gemm(0, stream_.handle, variant));
  }

  Report& report() { return report_; }

 private:
  const Stage& stage_;
  const Options& options_;
  Device device_;
  Shape shape_;
  Stream stream_;
  std::optional<Problem<In, Out>> problem_;
  std::optional<BufferSets<In, Out>> sets_;
  std::optional<Cublas> cublas_;
  std::optional<Output<Out>> reference_;
  Report report_;
};

}  // namespace

template <class In, class Out>
Report execute(const Stage& stage, const std::vector<Variant<In, Out>>& variants,
               const Options& options) {
  const bool profile = options.profile || under_profiler();
  Session<In, Out> session(stage, variants, options);
  if (!profile) session.prepare_reference();
  for (const auto& variant : variants) {
    if (profile)
      session.profile(variant);
    else
      session.measure(variant);
  }
  return std::move(session.report());
}

#define INSTANTIATE(In, Out, Accumulate) \
  template Report execute(const Stage&, const std::vector<Variant<In, Out>>&, const Options&);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
