// build/groups: one launch for all groups, beside a launch for each: by stage 15, by stage 21, by
// cuBLAS, and by the fastest of cublasLt's algorithms for each of them; and beside cuBLAS's one
// call for groups. docs/21_grouped.md quotes it. Exit codes: 0 all right; 1 a wrong result or a
// CUDA error; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cublas_groups.h"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/cublas.h"
#include "harness/cublaslt.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/statistics.h"
#include "matrices.h"
#include "race.h"
#include "stages.h"

namespace ladder::peers {
namespace {

using harness::DeviceBuffer;
using harness::LaunchOn;
using harness::Timing;
using Product = Gemm<half, half>;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> workloads;
  int n = 7168, k = 4096, device = 0;
  double milliseconds = 150;
  uint64_t seed = 1;
  std::string json;
};

// The operands of one workload, as often as it takes to go beyond the L2 cache.
class Operands {
 public:
  Operands(const std::vector<int>& rows, const Options& o, uint64_t l2_bytes, cudaStream_t stream)
      : n_(o.n),
        k_(o.k),
        ends_(rows.size()),
        size_a_(static_cast<size_t>(std::accumulate(rows.begin(), rows.end(), 0)) *
                static_cast<size_t>(ld_k())),
        size_b_(rows.size() * static_cast<size_t>(k_) * static_cast<size_t>(ld_n())),
        size_c_(size_a_ / static_cast<size_t>(ld_k()) * static_cast<size_t>(ld_n()) +
                harness::GUARD),
        sets_(1 + static_cast<int>(2 * l2_bytes / ((size_a_ + size_b_ + size_c_) * sizeof(half)))),
        ab_(static_cast<size_t>(sets_) * (size_a_ + size_b_)),
        c_(static_cast<size_t>(sets_) * size_c_),
        reference_(size_c_),
        device_ends_(rows.size()) {
    std::partial_sum(rows.begin(), rows.end(), ends_.begin());
    device_ends_.upload(ends_);
    draw_uniform(ab_.get(), static_cast<size_t>(sets_) * (size_a_ + size_b_), o.seed, stream);
  }

  int sets() const { return sets_; }
  Product gemm(int set, cudaStream_t stream) const {
    const half* const a = ab_.get() + static_cast<size_t>(set) * (size_a_ + size_b_);
    Product p{ends_.back(), n_,          k_,     a,
              ld_k(),       a + size_a_, ld_n(), c_.get() + static_cast<size_t>(set) * size_c_,
              ld_n(),       stream};
    p.groups = {static_cast<int>(ends_.size()), device_ends_.get(), ends_.data()};
    return p;
  }
  size_t result_bytes() const { return size_c_ * sizeof(half); }
  half* reference() const { return reference_.get(); }

 private:
  int64_t ld_n() const { return harness::leading_dimension<half>(n_); }
  int64_t ld_k() const { return harness::leading_dimension<half>(k_); }

  int n_, k_;
  std::vector<int> ends_;
  size_t size_a_, size_b_, size_c_;
  int sets_;
  DeviceBuffer<half> ab_, c_, reference_;
  DeviceBuffer<int> device_ends_;
};

// A function for one group after the other.
std::function<void(const Product&)> one_by_one(const std::function<void(const Product&)>& gemm) {
  return [=](const Product& p) {
    for (int g = 0; g < p.groups.count; ++g)
      if (const Product product = product_of_group(p, g); product.M > 0) gemm(product);
  };
}

struct Contender {
  std::string name;
  std::function<void(const Product&)> gemm;
  Timing time{};
};

class Contest {
 public:
  Contest(const std::vector<int>& rows, const Options& options, uint64_t l2_bytes,
          cudaStream_t stream)
      : operands_(rows, options, l2_bytes, stream),
        milliseconds_(options.milliseconds),
        stream_(stream),
        race_(stream, operands_.sets()),
        tolerance_(tolerance<half, half>(options.k)),
        random_(options.seed),
        workspace_(harness::CublasLt<half, half>::WORKSPACE_BYTES) {}

  // The first contender's result, once doubles agree with it, is the reference for the others.
  std::vector<Contender> run(std::vector<Contender> contenders) {
    contenders.push_back({"best of cublasLt, one by one", best_of_cublaslt()});
    std::vector<std::unique_ptr<CublasGroups>> calls;
    for (int set = 0; set < operands_.sets(); ++set)
      calls.push_back(std::make_unique<CublasGroups>(operands_.gemm(set, stream_)));
    contenders.push_back({"cuBLAS's call for groups", [&](const Product& p) {
                            for (int set = 0; set < operands_.sets(); ++set)
                              if (operands_.gemm(set, stream_).C == p.C)
                                calls[static_cast<size_t>(set)]->gemm(stream_);
                          }});
    std::vector<Contender> right;
    for (const Contender& contender : contenders) try {
        check(contender, right.empty());
        right.push_back(contender);
      } catch (const CudaError& error) {  // what a library cannot do
        cudaGetLastError();
        LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
        fmt::print("  {}: left out: {}\n", contender.name, error.what());
      }
    const std::vector<Timing> times = race(right);
    for (size_t i = 0; i < right.size(); ++i) right[i].time = times[i];
    return right;
  }

 private:
  // Throws what is wrong with its result.
  void check(const Contender& contender, bool is_reference) {
    const Product p = operands_.gemm(0, stream_);
    LADDER_CUDA_CHECK(cudaMemsetAsync(p.C, harness::POISON, operands_.result_bytes(), stream_));
    contender.gemm(p);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
    unsigned long long wrong = 0;
    if (is_reference) {
      for (int g = 0; g < p.groups.count; ++g)
        if (const Product product = product_of_group(p, g); product.M > 0)
          wrong += compare_with_doubles(product, tolerance_).wrong;
      LADDER_CUDA_CHECK(cudaMemcpyAsync(operands_.reference(), p.C, operands_.result_bytes(),
                                        cudaMemcpyDeviceToDevice, stream_));
    }
    const Differences differences =
        compare(p.C, operands_.reference(), {p.M, p.N, p.K}, p.ldc, tolerance_, stream_);
    wrong += differences.wrong;
    if (wrong + differences.beside > 0)
      throw std::runtime_error(fmt::format("{}: {} elements are wrong, {} beside C are written",
                                           contender.name, wrong, differences.beside));
  }

  std::vector<Timing> race(const std::vector<Contender>& contenders) {
    std::vector<LaunchOn> launches;
    std::vector<double> estimates;
    for (const Contender& contender : contenders) {
      launches.push_back([&](int set) { contender.gemm(operands_.gemm(set, stream_)); });
      estimates.push_back(1);
    }
    constexpr int FIRST_ROUNDS = 3, FEWEST_ROUNDS = 9, MOST_ROUNDS = 100;
    const auto run = [&](int rounds) {
      std::vector<Timing> timings;
      for (const auto& times : race_.run(launches, estimates, rounds, random_))
        timings.push_back(harness::summarize(times));
      return timings;
    };
    const std::vector<Timing> first = run(FIRST_ROUNDS);
    for (size_t i = 0; i < first.size(); ++i) estimates[i] = first[i].p10;
    return run(rounds_for(estimates, milliseconds_, FEWEST_ROUNDS, MOST_ROUNDS));
  }

  // Its algorithms race at the product of each number of rows.
  std::function<void(const Product&)> best_of_cublaslt() {
    using Lt = harness::CublasLt<half, half>;
    struct Choice {
      std::shared_ptr<const Lt> lt;
      int algorithm = 0;
    };
    std::map<int, Choice> choices;
    const auto on = [this](Product p) {
      p.workspace = workspace_.get();
      p.workspace_bytes = Lt::WORKSPACE_BYTES;
      return p;
    };
    const Product all = operands_.gemm(0, stream_);
    for (int g = 0; g < all.groups.count; ++g) {
      const Product product = on(product_of_group(all, g));
      if (product.M == 0 || choices.count(product.M) > 0) continue;
      Choice& choice = choices[product.M];
      choice.lt = std::make_shared<const Lt>(product);
      std::vector<LaunchOn> algorithms;
      for (int i = 0; i < choice.lt->algorithms(); ++i)
        algorithms.push_back([&, i](int set) {
          choice.lt->gemm(i, on(product_of_group(operands_.gemm(set, stream_), g)));
        });
      choice.algorithm = static_cast<int>(race_.fastest(algorithms, random_));
    }
    return one_by_one([=](const Product& p) {
      const Choice& choice = choices.at(p.M);
      choice.lt->gemm(choice.algorithm, on(p));
    });
  }

  Operands operands_;
  double milliseconds_;
  cudaStream_t stream_;
  Race race_;
  Tolerance tolerance_;
  std::mt19937_64 random_;
  DeviceBuffer<unsigned char> workspace_;
};

void run_all(const Options& options, const std::vector<std::vector<int>>& workloads,
             const harness::Device& device) {
  cudaStream_t stream = nullptr;  // to the end of the program
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto cublas = std::make_shared<harness::Cublas>();
  std::vector<Contender> contenders{
      {"cuBLAS, one by one", one_by_one([=](const Product& p) { cublas->gemm(p); })}};
  for (const auto& stage : stages<half, half>()) {
    contenders.push_back({stage.stage + ", one by one", one_by_one(stage.variants.back().gemm)});
    if (stage.stage == "21_grouped")
      contenders.push_back({stage.stage, stage.variants.back().gemm});
  }

  Json json = {{"gpu", device.name}, {"driver", device.driver}, {"cublas", cublas->version()},
               {"n", options.n},     {"k", options.k},          {"workloads", Json::array()}};
  for (const std::vector<int>& rows : workloads) {
    fmt::print("{} groups of {} rows, N = {}, K = {}, fp16, on {}\n", rows.size(),
               fmt::join(rows, ", "), options.n, options.k, device.name);
    Contest contest(rows, options, device.l2_bytes, stream);
    const std::vector<Contender> result = contest.run(contenders);
    Json line = {{"groups", rows}, {"contenders", Json::array()}};
    const double all = std::accumulate(rows.begin(), rows.end(), 0);
    for (const Contender& c : result) {
      const double tflops = 2e-9 * all * options.n * options.k / c.time.median;
      fmt::print("  {:<30}  {:>9.4f} ms  {:>9.4f}-{:.4f}  {:>7.1f} TFLOP/s\n", c.name,
                 c.time.median, c.time.p10, c.time.p90, tflops);
      line["contenders"].push_back({{"name", c.name},
                                    {"ms", c.time.median},
                                    {"p10", c.time.p10},
                                    {"p90", c.time.p90},
                                    {"samples", c.time.samples},
                                    {"tflops", tflops}});
    }
    json["workloads"].push_back(line);
  }
  if (!options.json.empty()) harness::write_whole(options.json, json.dump(2) + "\n");
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  CLI::App app(
      "Times groups of products in one launch beside a launch for each, of stages, cuBLAS and "
      "cublasLt.",
      "groups");
  app.add_option("groups", o.workloads, "rows of each group, with commas; several of these")
      ->required();
  app.add_option("--n", o.n, "columns of each B")
      ->check(CLI::Range(1, 1 << 17))
      ->capture_default_str();
  app.add_option("--k", o.k, "rows of each B")
      ->check(CLI::Range(1, 1 << 17))
      ->capture_default_str();
  app.add_option("--milliseconds", o.milliseconds, "of the last, precise race")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  harness::add_output_file(app, "--json", o.json, "also write the times to this file");
  harness::add_seed_and_device(app, o.seed, o.device);
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  return o;
}

}  // namespace
}  // namespace ladder::peers

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run_program("groups", [&] {
    const auto options = peers::parse(argc, argv);
    if (!options) return;
    std::vector<std::vector<int>> workloads;
    for (const std::string& text : options->workloads)
      workloads.push_back(harness::parse_groups(text));
    if (!options->json.empty()) harness::require_writable("--json", options->json);
    const harness::Device device = harness::select_device(options->device, 90, /*no_other*/ true);
    peers::run_all(*options, workloads, device);
  });
}
