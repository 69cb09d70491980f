// build/jit: what kernels that are compiled at run time take. With --call, a call in a process that
// has made none: with an empty cache it compiles. With --shapes, how near the tile that tuning
// finds comes to the fastest of all, and the model's to both. --prepare fills the cache with all
// tiles, without a GPU.
//
// Exit codes: 0 all right; 1 a CUDA error, or a compiler's; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/statistics.h"
#include "jit.h"
#include "library/jit/compile.h"
#include "peers/arena.h"
#include "peers/race.h"
#include "peers/shapes.h"
#include "tuned/gpus.h"

namespace ladder::jit_bench {
namespace {

using harness::Shape;
using peers::name;
using tuned::Candidate;
using Json = nlohmann::ordered_json;
using Problem = Gemm<half, half>;

struct Options {
  std::vector<std::string> shapes;
  std::string call, json;
  int rounds = 15, device = 0, prepare = 0;
};

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// A hundred: squares; products of public models' projections, at 1 to 8192 rows; ragged ones.
std::vector<Shape> hundred_shapes() {
  std::vector<Shape> shapes;
  for (const int n : {256, 384, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584,
                      4096, 5120, 6144, 7168, 8192})
    shapes.push_back({n, n, n});
  const Shape projections[] = {{0, 4096, 4096},  {0, 6144, 4096},  {0, 28672, 4096},
                               {0, 4096, 14336}, {0, 11008, 4096}, {0, 4096, 11008},
                               {0, 7168, 2048}};
  for (const Shape projection : projections)
    for (const int rows : {1, 16, 64, 128, 256, 512, 1024, 2048, 4096})
      shapes.push_back({rows, projection.n, projection.k});
  std::mt19937_64 random(24);
  while (shapes.size() < 100) {
    const auto size = [&] {
      return static_cast<int>(std::exp2(std::uniform_real_distribution<>(7, 12.5)(random)));
    };
    shapes.push_back({size(), size(), size()});
  }
  return shapes;
}

// Of all GPUs' tables, those that are compiled here.
std::vector<Candidate> all_candidates() {
  std::vector<Candidate> candidates;
  for (const tuned::Gpu* gpu : tuned::GPUS)
    for (size_t i = 0; i < gpu->count; ++i) {
      const Candidate& c = gpu->rows[i].candidate;
      if (c.kernel != tuned::Kernel::CHOSEN_BY_SHAPE &&
          std::find(candidates.begin(), candidates.end(), c) == candidates.end())
        candidates.push_back(c);
    }
  return candidates;
}

void prepare(int threads) {
  const std::vector<Candidate> candidates = all_candidates();
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = 0; (i = next++) < candidates.size();)
      jit::code_of(jit::source_of(candidates[i], {}, 0), jit::Cache(jit::cache_folder()));
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  fmt::print("{} kernels in {}: {:.1f} s\n", candidates.size(), jit::cache_folder().string(),
             ms_since(begin) / 1e3);
}

// Operands that any shape of a run fits into, of uniform numbers.
class Operands {
 public:
  Operands(const std::vector<Shape>& shapes, uint64_t l2_bytes) : arena_(shapes, l2_bytes) {
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const Problem first = arena_.gemm(shapes.front(), 0, 0, stream_);
    std::vector<half> some(1 << 22);
    std::mt19937 random(1);
    for (half& x : some) x = __float2half(std::uniform_real_distribution<float>(-1, 1)(random));
    int64_t elements = 0;
    for (const Shape& shape : shapes) {
      const peers::SetSize<half, half> size(shape);
      elements = std::max(elements, (size.a + size.b) * size.sets(l2_bytes));
    }
    for (int64_t at = 0; at < elements; at += static_cast<int64_t>(some.size()))
      LADDER_CUDA_CHECK(
          cudaMemcpy(const_cast<half*>(first.A) + at, some.data(),
                     std::min(some.size(), static_cast<size_t>(elements - at)) * sizeof(half),
                     cudaMemcpyHostToDevice));
  }

  cudaStream_t stream() const { return stream_; }
  std::vector<Problem> sets(Shape shape) const {
    std::vector<Problem> problems;
    for (int set = 0; set < arena_.sets(shape); ++set)
      problems.push_back(arena_.gemm(shape, set, 0, stream_));
    return problems;
  }

 private:
  cudaStream_t stream_ = nullptr;  // to the end of the program
  peers::Arena<half, half> arena_;
};

// ---- A call ------------------------------------------------------------------------------------

Json time_call(const Operands& operands, Shape shape) {
  struct Arguments {
    const half* bias;
    float slope;
  };
  const jit::Epilogue epilogue{"x += __half2float(bias[n]);\nreturn x > 0 ? x : slope * x;",
                               "const half* bias; float slope;"};
  const Problem p = operands.sets(shape).front();
  const Arguments arguments{p.A, 0.125f};
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  const auto call = [&](int times) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) jit::gemm(p, epilogue, arguments);
    const double enqueued = ms_since(begin);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(operands.stream()));
    return std::pair{enqueued, ms_since(begin)};
  };
  const double first = call(1).second;
  const double later = call(1).second;
  // As many as a stream takes without the host waiting for it.
  constexpr int MANY = 200;
  const double us = call(MANY).first * 1e3 / MANY;
  fmt::print("{}: first call {:.2f} ms, the next {:.3f} ms, the host's part {:.2f} us a call; {}\n",
             name(shape), first, later, us,
             tuned::name(jit::chosen(p, epilogue, sizeof(Arguments)).tile()));
  return {{"shape", name(shape)}, {"first_ms", first}, {"next_ms", later}, {"host_us", us}};
}

// ---- Tuning ------------------------------------------------------------------------------------

constexpr double NS_PER_MS = 1e6;
constexpr int FIRST_ROUNDS = 3;
// As build/tune: who is expected to take this much longer than the first is not launched, and who
// then is this much slower, not timed.
constexpr double PREDICTED_FACTOR = 3, MEASURED_FACTOR = 1.15;

struct Contender {
  jit::Gemm gemm;
  double ms;  // expected, then measured
};

void race(std::vector<Contender>& contenders, const std::vector<Problem>& sets, int rounds,
          peers::Race& race, std::mt19937_64& random) {
  std::vector<harness::LaunchOn> launches;
  std::vector<double> ms;
  for (const Contender& contender : contenders) {
    launches.push_back([&sets, &gemm = contender.gemm](int set) {
      gemm(sets[static_cast<size_t>(set) % sets.size()]);
    });
    ms.push_back(contender.ms);
  }
  const auto times = race.run(launches, ms, rounds, random);
  for (size_t i = 0; i < contenders.size(); ++i)
    contenders[i].ms = harness::summarize(times[i]).median;
}

Json try_shape(const Operands& operands, const harness::Device& device, Shape shape, int rounds,
               peers::Race& one_race, std::mt19937_64& random) {
  const std::vector<Problem> sets = operands.sets(shape);
  const Problem& p = sets.front();
  const tuned::Gpu* table = tuned::GPUS[0];
  for (const tuned::Gpu* gpu : tuned::GPUS)
    if (device.name == gpu->name) table = gpu;

  const auto begin = std::chrono::steady_clock::now();
  const std::vector<jit::Timed> tuned_tiles = jit::tune(p);
  const double tuning_ms = ms_since(begin);
  const Candidate found = tuned_tiles.front().tile;

  std::vector<std::pair<double, Candidate>> predicted;
  for (size_t i = 0; i < table->count; ++i) {
    const tuned::Row& row = table->rows[i];
    if (row.candidate.kernel != tuned::Kernel::CHOSEN_BY_SHAPE)
      predicted.emplace_back(
          tuned::estimate(p, row.candidate, row.constants, device.multiprocessors).total /
              NS_PER_MS,
          row.candidate);
  }
  std::stable_sort(predicted.begin(), predicted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const Candidate by_model = predicted.front().second;
  std::vector<Contender> contenders;
  for (const auto& [ms, candidate] : predicted)
    if (ms < PREDICTED_FACTOR * predicted.front().first || candidate == found) {
      contenders.push_back({jit::compile(candidate), ms});
      contenders.back().gemm(p);  // what the first launch takes is nobody's
    }
  LADDER_CUDA_CHECK(cudaStreamSynchronize(operands.stream()));
  race(contenders, sets, FIRST_ROUNDS, one_race, random);
  const auto least = [&] {
    return std::min_element(contenders.begin(), contenders.end(),
                            [](const auto& a, const auto& b) { return a.ms < b.ms; });
  };
  const double slowest = MEASURED_FACTOR * least()->ms;
  contenders.erase(std::remove_if(contenders.begin(), contenders.end(),
                                  [&](const Contender& c) {
                                    return c.ms > slowest && !(c.gemm.tile() == found) &&
                                           !(c.gemm.tile() == by_model);
                                  }),
                   contenders.end());
  race(contenders, sets, rounds, one_race, random);

  const auto best = least();
  const auto percent = [&](const Candidate& tile) {
    for (const Contender& c : contenders)
      if (c.gemm.tile() == tile) return 100 * best->ms / c.ms;
    return 0.0;
  };
  Json json = {{"shape", name(shape)},
               {"best", tuned::name(best->gemm.tile())},
               {"best_us", best->ms * 1e3},
               {"tuned", tuned::name(found)},
               {"tuned_percent", percent(found)},
               {"model", tuned::name(by_model)},
               {"model_percent", percent(by_model)},
               {"tuning_ms", tuning_ms}};
  for (const Contender& c : contenders) json["contenders"][tuned::name(c.gemm.tile())] = c.ms * 1e3;
  for (const jit::Timed& timed : tuned_tiles) json["tuning_us"][tuned::name(timed.tile)] = timed.us;
  return json;
}

Json try_shapes(const Operands& operands, const harness::Device& device,
                const std::vector<Shape>& shapes, int rounds) {
  // Contenders have different numbers of sets: each takes what is left of this one.
  peers::Race race(operands.stream(), 1 << 20);
  std::mt19937_64 random(1);
  fmt::print("{:<16} {:>9} {:>7} {:>7} {:>9}  {:<30} {}\n", "shape", "best us", "tuned", "model",
             "tuning ms", "tuned", "best");
  Json all = Json::array();
  double tuned = 0, model = 0, worst = 100;
  for (const Shape shape : shapes) {
    all.push_back(try_shape(operands, device, shape, rounds, race, random));
    const Json& json = all.back();
    tuned += std::log(json["tuned_percent"].get<double>());
    model += std::log(json["model_percent"].get<double>());
    worst = std::min(worst, json["tuned_percent"].get<double>());
    fmt::print("{:<16} {:>9.2f} {:>6.1f}% {:>6.1f}% {:>9.0f}  {:<30} {}\n", name(shape),
               json["best_us"].get<double>(), json["tuned_percent"].get<double>(),
               json["model_percent"].get<double>(), json["tuning_ms"].get<double>(),
               json["tuned"].get<std::string>(), json["best"].get<std::string>());
    std::fflush(stdout);
  }
  const auto mean = [&](double logarithms) {
    return std::exp(logarithms / static_cast<double>(shapes.size()));
  };
  fmt::print(
      "geometric mean of {} shapes: tuned {:.1f}% of the fastest, worst {:.1f}%; the model "
      "{:.1f}%\n",
      shapes.size(), mean(tuned), worst, mean(model));
  return all;
}

// ---- The program -------------------------------------------------------------------------------

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  CLI::App app("Times kernels that are compiled at run time.", "jit");
  app.add_option("--call", o.call, "MxNxK, or N: a process's first calls, with an epilogue");
  app.add_option("--shapes", o.shapes, "MxNxK, or N, or \"hundred\": how good a tile tuning finds");
  app.add_option("--prepare", o.prepare, "compile all tiles into the cache, with so many threads")
      ->check(CLI::Range(1, 1024));
  app.add_option("--rounds", o.rounds, "launches of each with --shapes")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--json", o.json, "where to write what was measured");
  app.add_option("--device", o.device, "number of the GPU")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  if (o.call.empty() && o.shapes.empty() && o.prepare == 0)
    throw harness::UsageError("one of --call, --shapes and --prepare says what to do");
  return o;
}

void run(const Options& options, const std::vector<Shape>& shapes) {
  if (!options.json.empty()) harness::require_writable("--json", options.json);
  if (options.prepare > 0) prepare(options.prepare);
  if (options.call.empty() && shapes.empty()) return;
  const harness::Device device = harness::select_device(options.device, 90, /*no_other*/ true);
  std::vector<Shape> all = shapes;
  if (!options.call.empty()) all.push_back(peers::parse_shape(options.call));
  const Operands operands(all, device.l2_bytes);
  Json json = {{"gpu", device.name}, {"driver", device.driver}, {"toolkit", device.toolkit}};
  if (!options.call.empty()) json["call"] = time_call(operands, all.back());
  if (!shapes.empty()) json["shapes"] = try_shapes(operands, device, shapes, options.rounds);
  if (!options.json.empty()) harness::write_whole(options.json, json.dump(1) + "\n");
}

}  // namespace
}  // namespace ladder::jit_bench

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run_program("jit", [&] {
    const auto options = jit_bench::parse(argc, argv);
    if (!options) return;
    std::vector<harness::Shape> shapes;
    if (options->shapes == std::vector<std::string>{"hundred"})
      shapes = jit_bench::hundred_shapes();
    else
      for (const std::string& text : options->shapes) shapes.push_back(peers::parse_shape(text));
    if (!options->call.empty()) peers::parse_shape(options->call);
    jit_bench::run(*options, shapes);
  });
}
