// build/jit: what kernels that are compiled at run time take. With --call, a call in a process that
// has made none: with an empty cache it compiles. With --shapes, how near the tile that tuning
// finds comes to the fastest of all, and the model's to both. --prepare fills the cache with all
// tiles of a type and a layout, without a GPU.
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
#include "harness/number.h"
#include "harness/problem.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/statistics.h"
#include "jit.h"
#include "library/jit/compile.h"
#include "peers/arena.h"
#include "peers/race.h"
#include "peers/shapes.h"
#include "tuned/choice.h"

namespace ladder::jit_bench {
namespace {

using harness::Layout;
using harness::Shape;
using peers::name;
using tuned::Candidate;
using Json = nlohmann::ordered_json;
template <class T>
using Problem = Gemm<T, T>;

struct Options {
  std::vector<std::string> shapes;
  std::string call, json, type = "fp16", layout = "NN";
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

// Of all GPUs' tables, those that are compiled for such operands.
std::vector<Candidate> all_candidates(const jit::Operands& operands) {
  std::vector<Candidate> candidates;
  for (const tuned::Gpu* gpu : tuned::GPUS)
    for (size_t i = 0; i < gpu->count; ++i) {
      const Candidate& c = gpu->rows[i].candidate;
      if (jit::has_kernel(c, operands) &&
          std::find(candidates.begin(), candidates.end(), c) == candidates.end())
        candidates.push_back(c);
    }
  return candidates;
}

void prepare(int threads, const jit::Operands& operands) {
  const std::vector<Candidate> candidates = all_candidates(operands);
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = 0; (i = next++) < candidates.size();)
      jit::code_of(jit::source_of(candidates[i], operands, {}, 0), jit::Cache(jit::cache_folder()));
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  fmt::print("{} kernels in {}: {:.1f} s\n", candidates.size(), jit::cache_folder().string(),
             ms_since(begin) / 1e3);
}

// Operands that any shape of a run fits into, of uniform numbers.
template <class T>
class Operands {
 public:
  Operands(std::vector<Shape> shapes, Layout layout, uint64_t l2_bytes)
      : layout_(layout), arena_(rounded(shapes), l2_bytes) {
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const Problem<T> first = arena_.gemm(rounded(shapes.front()), 0, 0, stream_);
    std::vector<T> some(1 << 22);
    std::mt19937 random(1);
    for (T& x : some)
      x = harness::Number<T>::from_float(std::uniform_real_distribution<float>(-1, 1)(random));
    int64_t elements = 0;
    for (const Shape& shape : shapes) {
      const peers::SetSize<T, T> size(rounded(shape));
      elements = std::max(elements, (size.a + size.b) * size.sets(l2_bytes));
    }
    for (int64_t at = 0; at < elements; at += static_cast<int64_t>(some.size()))
      LADDER_CUDA_CHECK(
          cudaMemcpy(const_cast<T*>(first.A) + at, some.data(),
                     std::min(some.size(), static_cast<size_t>(elements - at)) * sizeof(T),
                     cudaMemcpyHostToDevice));
  }

  cudaStream_t stream() const { return stream_; }
  std::vector<Problem<T>> sets(Shape shape) const {
    std::vector<Problem<T>> problems;
    for (int set = 0; set < arena_.sets(rounded(shape)); ++set) {
      Problem<T> p = arena_.gemm(rounded(shape), set, 0, stream_);
      p.M = shape.m, p.N = shape.n, p.K = shape.k;
      p.transposed_a = layout_.transposed_a, p.transposed_b = layout_.transposed_b;
      p.lda = harness::leading_dimension_a<T>(shape, layout_);
      p.ldb = harness::leading_dimension_b<T>(shape, layout_);
      problems.push_back(p);
    }
    return problems;
  }

 private:
  // As long in every layout.
  static Shape rounded(Shape s) {
    const auto up = [](int size) { return static_cast<int>(harness::leading_dimension<T>(size)); };
    return {up(s.m), up(s.n), up(s.k)};
  }
  static std::vector<Shape> rounded(std::vector<Shape> shapes) {
    for (Shape& shape : shapes) shape = rounded(shape);
    return shapes;
  }

  cudaStream_t stream_ = nullptr;  // to the end of the program
  Layout layout_;
  peers::Arena<T, T> arena_;
};

// ---- A call ------------------------------------------------------------------------------------

template <class T>
Json time_call(const Operands<T>& operands, Shape shape) {
  struct Arguments {
    const T* bias;
    float slope;
  };
  const std::string type = std::is_same_v<T, half> ? "half" : "bf16";
  const jit::Epilogue epilogue{"x += float(bias[n]);\nreturn x > 0 ? x : slope * x;",
                               "const " + type + "* bias; float slope;"};
  const Problem<T> p = operands.sets(shape).front();
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

template <class T>
struct Contender {
  jit::Gemm<T> gemm;
  double ms;  // expected, then measured
};

template <class T>
void race(std::vector<Contender<T>>& contenders, const std::vector<Problem<T>>& sets, int rounds,
          peers::Race& race, std::mt19937_64& random) {
  std::vector<harness::LaunchOn> launches;
  std::vector<double> ms;
  for (const Contender<T>& contender : contenders) {
    launches.push_back([&sets, &gemm = contender.gemm](int set) {
      gemm(sets[static_cast<size_t>(set) % sets.size()]);
    });
    ms.push_back(contender.ms);
  }
  const auto times = race.run(launches, ms, rounds, random);
  for (size_t i = 0; i < contenders.size(); ++i)
    contenders[i].ms = harness::summarize(times[i]).median;
}

template <class T>
Json try_shape(const Operands<T>& operands, const harness::Device& device, Shape shape, int rounds,
               peers::Race& one_race, std::mt19937_64& random) {
  const std::vector<Problem<T>> sets = operands.sets(shape);
  const Problem<T>& p = sets.front();
  const tuned::Gpu& table = tuned::table_of(device.name);

  const auto begin = std::chrono::steady_clock::now();
  const std::vector<jit::Timed> tuned_tiles = jit::tune(p);
  const double tuning_ms = ms_since(begin);
  const Candidate found = tuned_tiles.front().tile;

  std::vector<std::pair<double, Candidate>> predicted;
  for (size_t i = 0; i < table.count; ++i) {
    const tuned::Row& row = table.rows[i];
    if (jit::has_kernel(row.candidate, jit::operands_of(p)))
      predicted.emplace_back(
          tuned::estimate(p, row.candidate, row.constants, device.multiprocessors).total /
              NS_PER_MS,
          row.candidate);
  }
  std::stable_sort(predicted.begin(), predicted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const Candidate by_model = predicted.front().second;
  std::vector<Contender<T>> contenders;
  for (const auto& [ms, candidate] : predicted)
    if (ms < PREDICTED_FACTOR * predicted.front().first || candidate == found) {
      contenders.push_back({jit::compile(p, candidate), ms});
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
                                  [&](const Contender<T>& c) {
                                    return c.ms > slowest && !(c.gemm.tile() == found) &&
                                           !(c.gemm.tile() == by_model);
                                  }),
                   contenders.end());
  race(contenders, sets, rounds, one_race, random);

  const auto best = least();
  const auto percent = [&](const Candidate& tile) {
    for (const Contender<T>& c : contenders)
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
  for (const Contender<T>& c : contenders)
    json["contenders"][tuned::name(c.gemm.tile())] = c.ms * 1e3;
  for (const jit::Timed& timed : tuned_tiles) json["tuning_us"][tuned::name(timed.tile)] = timed.us;
  return json;
}

template <class T>
Json try_shapes(const Operands<T>& operands, const harness::Device& device,
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
  app.add_option("--type", o.type, "of the matrices")
      ->check(CLI::IsMember({"fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--layout", o.layout, "of A and B: N by rows, T transposed")
      ->check(CLI::IsMember({"NN", "NT", "TN", "TT"}))
      ->capture_default_str();
  app.add_option("--prepare", o.prepare, "compile all tiles into the cache, with so many threads")
      ->check(CLI::Range(1, 1024));
  app.add_option("--rounds", o.rounds, "launches of each with --shapes")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  harness::add_output_file(app, "--json", o.json, "where to write what was measured");
  app.add_option("--device", o.device, "number of the GPU")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  if (o.call.empty() && o.shapes.empty() && o.prepare == 0)
    throw harness::UsageError("one of --call, --shapes and --prepare says what to do");
  return o;
}

template <class T>
void run(const Options& options, const std::vector<Shape>& shapes) {
  const Layout layout{options.layout[0] == 'T', options.layout[1] == 'T'};
  if (!options.json.empty()) harness::require_writable("--json", options.json);
  if (options.prepare > 0) {
    Problem<T> p{};
    p.transposed_a = layout.transposed_a, p.transposed_b = layout.transposed_b;
    prepare(options.prepare, jit::operands_of(p));
  }
  if (options.call.empty() && shapes.empty()) return;
  const harness::Device device = harness::select_device(options.device, 90, /*no_other*/ true);
  std::vector<Shape> all = shapes;
  if (!options.call.empty()) all.push_back(peers::parse_shape(options.call));
  const Operands<T> operands(all, layout, device.l2_bytes);
  Json json = {{"gpu", device.name},
               {"driver", device.driver},
               {"toolkit", device.toolkit},
               {"type", options.type},
               {"layout", options.layout}};
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
    if (options->type == "fp16")
      jit_bench::run<half>(*options, shapes);
    else
      jit_bench::run<bf16>(*options, shapes);
  });
}
