// build/feed_forward: gelu(X W1 + b1) W2 + b2, in two launches of stage 16, with a second kernel
// for what follows each product, and in one kernel; beside the fastest of cublasLt's algorithms
// with the same epilogues. docs/feed_forward.md quotes it. Exit codes: 0 all right; 1 a wrong
// result or a CUDA error; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/bound.h"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/cublaslt.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/statistics.h"
#include "one_kernel.h"
#include "race.h"
#include "stages.h"

namespace ladder::peers {
namespace {

using harness::EpilogueChoice;
using harness::LaunchOn;
using harness::Output;
using harness::Rounds;
using harness::Timing;
using Problem = harness::Problem<half, half>;
using Sets = harness::BufferSets<half, half>;
using Product = Gemm<half, half>;

struct Options {
  int tokens = 4096, width = 4096, hidden = 16384, device = 0;
  double milliseconds = 150;
  uint64_t seed = 1;
  std::string json;
};

// Launches for each product, or for both.
struct Contender {
  std::string name;
  std::function<void(const Product&)> first, second;
  Rounds rounds = Rounds::ONCE;
  std::function<void(const Product& first, const Product& second)> both{};
};

// A bias and `activation`, with a factor that makes sums of K products about 1, as weights would.
EpilogueChoice epilogue(Activation activation, int K) {
  EpilogueChoice choice = harness::bias_and(activation);
  choice.alpha = static_cast<float>(3 / std::sqrt(K));
  return choice;
}

// The block: its hidden layer is the first product's C, and the second one's A.
class Block {
 public:
  Block(const Options& o, uint64_t l2_bytes, cudaStream_t stream)
      : hidden_({o.tokens, o.hidden, o.width}, harness::Data::UNIFORM, o.seed, {},
                harness::Sums::FP32, epilogue(Activation::GELU, o.width)),
        result_({o.tokens, o.width, o.hidden}, harness::Data::UNIFORM, o.seed + 1, {},
                harness::Sums::FP32, epilogue(Activation::NONE, o.hidden)),
        count_(1 + static_cast<int>(2.0 * static_cast<double>(l2_bytes) / bytes())),
        hidden_sets_(hidden_, count_),
        result_sets_(result_, count_),
        stream_(stream) {}

  int sets() const { return count_; }
  double tflop() const { return 4e-12 * hidden_.shape.m * hidden_.shape.n * hidden_.shape.k; }
  Product first(int set) const { return hidden_sets_.gemm(set, stream_); }
  Product second(int set) const {
    Product p = result_sets_.gemm(set, stream_);
    const Product before = first(set);
    p.A = before.C, p.lda = before.ldc;
    return p;
  }
  LaunchOn launches(const Contender& c) const {
    return [this, c](int set) {
      if (c.both) return c.both(first(set), second(set));
      c.first(first(set));
      c.second(second(set));
    };
  }

  // Throws what is wrong with some rows of the hidden layer, or with what has been made of it.
  void check(const Contender& c) {
    if (c.both) return check_result(c);
    const int m = hidden_.shape.m;
    const std::vector<int> rows = some_rows();
    const auto judge = [&](const char* of, const Problem& problem, const Output<half>& output) {
      const std::string wrong = check_against_double(problem, output, rows, c.rounds);
      if (!wrong.empty()) throw std::runtime_error(fmt::format("{}, {}: {}", c.name, of, wrong));
    };
    const Output<half> hidden = hidden_sets_.run_poisoned(c.first, stream_);
    judge("hidden layer", hidden_, hidden);
    // From here on the second problem's A is what the first one's C is.
    result_.lda = hidden.ld;
    result_.a.assign(hidden.row(0), hidden.row(0) + m * hidden.ld);
    for (const int row : rows) find_norm(row);
    judge("result", result_,
          result_sets_.run_poisoned([&](const Product&) { c.second(second(0)); }, stream_));
  }

 private:
  std::vector<int> some_rows() const {
    const int m = hidden_.shape.m;
    return {0, m / 3, static_cast<int>(2LL * m / 3), m - 1};
  }
  void find_norm(int row) {
    double squares = 0;
    for (int k = 0; k < result_.shape.k; ++k)
      squares += result_.at_a(row, k) * result_.at_a(row, k);
    result_.row_norms[static_cast<size_t>(row)] = std::sqrt(squares);
  }

  // Where nobody sees the hidden layer: the result against that of a hidden layer in double, which
  // is rounded as it has to be.
  void check_result(const Contender& c) {
    const std::vector<int> rows = some_rows();
    const auto sums = reference_rows(hidden_, rows);
    std::vector<double> off;  // of each row: the 2-norm of what two right hidden layers differ by
    for (size_t r = 0; r < rows.size(); ++r) {
      double squares = 0;
      for (int k = 0; k < hidden_.shape.n; ++k) {
        const double before = hidden_.epilogue.before(rows[r], k, sums[r][static_cast<size_t>(k)]),
                     after = hidden_.epilogue.after(rows[r], k, before);
        result_.a[static_cast<size_t>(rows[r] * result_.lda + k)] =
            __float2half(static_cast<float>(after));
        const double differ = bound_of(hidden_, rows[r], k, before, after, Activation::GELU);
        squares += differ * differ;
      }
      off.push_back(std::sqrt(squares));
      find_norm(rows[r]);
    }
    const auto products = reference_rows(result_, rows);
    const Output<half> output =
        result_sets_.run_poisoned([&](const Product&) { c.both(first(0), second(0)); }, stream_);
    for (size_t r = 0; r < rows.size(); ++r)
      for (int n = 0; n < result_.shape.n; ++n) {
        const double expected =
            result_.epilogue.before(rows[r], n, products[r][static_cast<size_t>(n)]);
        // The signs of W2 are chance's: six standard deviations of the sum of what each element of
        // the hidden layer is off by.
        const double bound = bound_of(result_, rows[r], n, expected, expected, Activation::NONE) +
                             6 * std::abs(result_.epilogue.factor(rows[r], n)) * off[r] *
                                 result_.column_norms[static_cast<size_t>(n)] /
                                 std::sqrt(result_.shape.k);
        const double got = __half2float(output.row(rows[r])[n]);
        if (!(std::abs(got - expected) <= bound))
          throw std::runtime_error(
              fmt::format("{}: row {}, column {}: got {:.9g}, expected {:.9g} within {:.3g}",
                          c.name, rows[r], n, got, expected, bound));
      }
  }
  static double bound_of(const Problem& p, int row, int col, double before, double after,
                         Activation activation) {
    const harness::Activated f = harness::properties(activation);
    return harness::difference_bound<half, float>(
        p.shape.k, p.row_norms[static_cast<size_t>(row)], p.column_norms[static_cast<size_t>(col)],
        after, harness::Sums::FP32,
        {p.epilogue.factor(row, col), before, p.epilogue.magnitude_added(row, col), f.lipschitz,
         f.relative, /*rounds_between*/ false});
  }

  double bytes() const {
    return harness::bytes_per_set<half, half>(hidden_.shape) +
           harness::bytes_per_set<half, half>(result_.shape);
  }
  Problem hidden_, result_;
  int count_;
  Sets hidden_sets_, result_sets_;
  cudaStream_t stream_;
};

// The fastest of cublasLt's algorithms for a product with its epilogue.
std::function<void(const Product&)> best_of_cublaslt(Race& race,
                                                     const std::function<Product(int set)>& product,
                                                     const void* workspace,
                                                     std::mt19937_64& random) {
  using Lt = harness::CublasLt<half, half>;
  const auto lt = std::make_shared<const Lt>(product(0));
  const auto gemm = [=](int algorithm, Product p) {
    p.workspace = const_cast<void*>(workspace);
    p.workspace_bytes = Lt::WORKSPACE_BYTES;
    lt->gemm(algorithm, p);
  };
  std::vector<LaunchOn> algorithms;
  for (int i = 0; i < lt->algorithms(); ++i)
    algorithms.push_back([=](int set) { gemm(i, product(set)); });
  const int fastest = static_cast<int>(race.fastest(algorithms, random));
  return [=](const Product& p) { gemm(fastest, p); };
}

void run(const Options& o, const harness::Device& device) {
  cudaStream_t stream = nullptr;  // to the end of the program
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Block block(o, device.l2_bytes, stream);
  Race race(stream, block.sets());
  std::mt19937_64 random(o.seed);

  std::vector<Contender> contenders;
  const auto kernels = stages<half, half>();
  for (const auto& variant : kernels.front().variants)
    contenders.push_back(
        {kernels.front().stage + " " + variant.name, variant.gemm, variant.gemm, variant.rounds});
  contenders.push_back({"one kernel", {}, {}, Rounds::ONCE, feed_forward_in_one_kernel});
  const harness::DeviceBuffer<unsigned char> workspace(
      harness::CublasLt<half, half>::WORKSPACE_BYTES);
  contenders.push_back(
      {"best of cublasLt",
       best_of_cublaslt(
           race, [&](int set) { return block.first(set); }, workspace.get(), random),
       best_of_cublaslt(
           race, [&](int set) { return block.second(set); }, workspace.get(), random)});
  for (const Contender& contender : contenders) block.check(contender);

  // Without a bias and without GELU: what everything but the products costs.
  const auto alone = [gemm = kernels.front().variants.back().gemm](Product p) {
    p.epilogue = {};
    gemm(p);
  };
  contenders.push_back({"the products alone", alone, alone});
  std::vector<LaunchOn> launches;
  for (const Contender& contender : contenders) launches.push_back(block.launches(contender));
  constexpr int FIRST_ROUNDS = 3, FEWEST_ROUNDS = 9, MOST_ROUNDS = 100;
  std::vector<double> estimates(launches.size(), 1);
  const auto first = race.run(launches, estimates, FIRST_ROUNDS, random);
  for (size_t i = 0; i < first.size(); ++i) estimates[i] = harness::summarize(first[i]).p10;
  const int rounds = rounds_for(estimates, o.milliseconds, FEWEST_ROUNDS, MOST_ROUNDS);
  const auto times = race.run(launches, estimates, rounds, random);

  fmt::print("gelu(X W1 + b1) W2 + b2, {} tokens, {} -> {} -> {}, fp16, on {}\n", o.tokens, o.width,
             o.hidden, o.width, device.name);
  nlohmann::ordered_json json = {{"gpu", device.name}, {"driver", device.driver},
                                 {"tokens", o.tokens}, {"width", o.width},
                                 {"hidden", o.hidden}, {"contenders", nlohmann::json::array()}};
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Timing time = harness::summarize(times[i]);
    const double tflops = block.tflop() / (time.median * 1e-3);
    fmt::print("  {:<34}  {:>9.4f} ms  {:>9.4f}-{:.4f}  {:>7.1f} TFLOP/s\n", contenders[i].name,
               time.median, time.p10, time.p90, tflops);
    json["contenders"].push_back({{"name", contenders[i].name},
                                  {"ms", time.median},
                                  {"p10", time.p10},
                                  {"p90", time.p90},
                                  {"samples", time.samples},
                                  {"tflops", tflops}});
  }
  if (!o.json.empty()) harness::write_whole(o.json, json.dump(2) + "\n");
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  CLI::App app("Times gelu(X W1 + b1) W2 + b2 in two launches, with more, and in one.",
               "feed_forward");
  const auto size = [&](const char* name, int& to, const char* what) {
    app.add_option(name, to, what)->check(CLI::Range(1, 1 << 16))->capture_default_str();
  };
  size("--tokens", o.tokens, "rows of X");
  size("--width", o.width, "columns of X and of the result");
  size("--hidden", o.hidden, "columns of the hidden layer");
  app.add_option("--milliseconds", o.milliseconds, "of the last, precise race")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  harness::add_output_file(app, "--json", o.json, "also write the times to this file");
  app.add_option("--seed", o.seed, "of the operands and the order")->capture_default_str();
  app.add_option("--device", o.device, "number of the GPU")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  return o;
}

}  // namespace
}  // namespace ladder::peers

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run_program("feed_forward", [&] {
    const auto options = peers::parse(argc, argv);
    if (!options) return;
    if (!options->json.empty()) harness::require_writable("--json", options->json);
    peers::run(*options, harness::select_device(options->device, 90, /*no_other*/ true));
  });
}
