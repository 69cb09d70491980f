// build/tune: what the candidates of 15_chosen_by_cost take on this GPU: the constants of the
// model, and with --shapes how good a choice they make. ./ladder tune makes a table of them.
//
// All candidates are launched in turn, in an order drawn anew each time, in bursts with rests
// between them, on rotated buffers. Exit codes: 0 all right; 1 a constant that cannot be, or a CUDA
// error; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/nvml.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/statistics.h"
#include "peers/arena.h"
#include "peers/race.h"
#include "peers/shapes.h"
#include "probes.h"
#include "tunables.h"

namespace ladder::tune {
namespace {

using harness::Shape;
using peers::name;
using tuned::Constants;
using tuned::Estimate;
using Json = nlohmann::ordered_json;
using Problem = Gemm<half, half>;

// Those of the project's comparisons with cuBLAS.
const std::vector<std::string> USUAL = {
#include "peers/usual_shapes.inc"
};

// Rows that divide by nothing at weights of public models, with which constants are calibrated.
const std::vector<std::string> AS_USED = [] {
  std::vector<std::string> all;
  const auto add = [&](std::initializer_list<int> rows,
                       std::initializer_list<const char*> weights) {
    for (const int m : rows)
      for (const char* weight : weights) all.push_back(std::to_string(m) + weight);
  };
  add({4, 9, 23, 37, 59, 90, 130, 190, 257, 327, 420, 555, 777, 1337, 2111, 3001},
      {"x4096x4096", "x14336x4096", "x4096x14336", "x2112x7168", "x7168x16384", "x5760x2880",
       "x1024x8192", "x3584x18944", "x6144x4096", "x28672x8192", "x18944x3584", "x3584x14336",
       "x5120x32768", "x5120x17920"});
  add({1, 2, 3, 5, 7, 11, 17, 29, 43, 67, 101, 151, 227, 347, 523, 787, 1181, 1777, 2683, 4093},
      {"x6144x4096", "x28672x8192", "x18944x3584", "x3584x14336", "x5120x32768", "x5120x17920",
       "x2112x7168", "x5760x2880"});
  return all;
}();

// And the gradients of such weights, of which the rows are K: those that A is by columns for.
const std::vector<std::string> GRADIENTS_AS_USED = [] {
  std::vector<std::string> all;
  for (const char* weight :
       {"4096x4096", "14336x4096", "2112x7168", "5760x2880", "3584x18944", "6144x4096",
        "28672x8192", "18944x3584", "3584x14336", "5120x17920", "32000x4096", "1024x1024"})
    for (const int k : {555, 787, 999, 1055, 1554, 1761, 2045, 3202, 4093, 7091})
      all.push_back(std::string(weight) + "x" + std::to_string(k));
  return all;
}();

struct Options {
  std::vector<std::string> shapes, calibrate;
  std::string json, gpu;
  int rounds = 100, device = 0, multiprocessors = 132;
  uint64_t seed = 1;
  bool list = false, explain = false;
};

Problem with_layout(Problem p, Layout layout) {
  p.transposed_a = layout == Layout::TN, p.transposed_b = layout == Layout::NT;
  if (p.transposed_a) p.lda = harness::leading_dimension<half>(p.M);
  if (p.transposed_b) p.ldb = harness::leading_dimension<half>(p.K);
  return p;
}
// Without matrices, for those who only look at sizes.
Problem problem_of(Shape s) {
  return {s.m,
          s.n,
          s.k,
          nullptr,
          harness::leading_dimension<half>(s.k),
          nullptr,
          harness::leading_dimension<half>(s.n),
          nullptr,
          harness::leading_dimension<half>(s.n)};
}

const char* name_of(Layout layout) {
  return LAYOUT_NAMES[static_cast<int>(layout)];
}
Json to_json(const Tunable& tunable) {
  const tuned::Candidate& c = tunable.candidate;
  return {{"stage", tuned::STAGES[static_cast<int>(c.kernel)]},
          {"BM", c.BM},
          {"BN", c.BN},
          {"down", c.down},
          {"across", c.across},
          {"split", c.split},
          {"resident", c.resident},
          {"layout", name_of(tunable.layout)}};
}

std::string name_of(const Tunable& tunable) {
  constexpr const char* MORE[] = {"", ", B by columns", ", A by columns"};
  return tuned::name(tunable.candidate) + MORE[static_cast<int>(tunable.layout)];
}
std::vector<Tunable> all_tunables() {
  std::vector<Tunable> all = tunables();
  for (const Tunable& tunable : tunables_of_library()) all.push_back(tunable);
  return all;
}

// What is launched: a candidate on a shape.
struct Contender {
  size_t candidate;
  Shape shape;
};

// The GPU, and the times of contenders on it.
class Bench {
 public:
  Bench(const std::vector<Tunable>& candidates, const std::vector<Shape>& shapes, uint64_t l2_bytes,
        uint64_t seed)
      : candidates_(candidates), stream_(make_stream()), arena_(shapes, l2_bytes), random_(seed) {
    arena_.draw(seed, stream_);
    try {
      meter_ = std::make_unique<harness::PowerMeter>(harness::current_pci_bus_id());
    } catch (const harness::NoNvml& error) {
      no_meter_ = error.what();
    }
  }

  // Each launched `rounds` times, of which one takes about `estimates` ms.
  std::vector<harness::Timing> race(const std::vector<Contender>& contenders,
                                    const std::vector<double>& estimates, int rounds) {
    std::vector<harness::LaunchOn> launches;
    for (const Contender& contender : contenders) {
      std::vector<Problem> problems;
      for (int set = 0; set < arena_.sets(contender.shape); ++set)
        problems.push_back(with_layout(arena_.gemm(contender.shape, set, 0, stream_),
                                       candidates_[contender.candidate].layout));
      launches.push_back([problems, &gemm = candidates_[contender.candidate].gemm](int set) {
        gemm(problems[static_cast<size_t>(set) % problems.size()]);
      });
    }
    if (meter_) meter_->begin();
    const auto ms = race_.run(launches, estimates, rounds, random_);
    if (meter_) meter_->end();
    std::vector<harness::Timing> timings;
    for (const auto& of_one : ms) timings.push_back(harness::summarize(of_one));
    return timings;
  }

  // Of everything since the last call.
  Json clocks() {
    if (!meter_) return {{"unavailable", no_meter_}};
    const harness::PowerUse use = meter_->take();
    return {{"samples", use.samples},
            {"sm_mhz", use.sm_mhz},
            {"watts", use.watts},
            {"limit_watts", meter_->limit_watts()},
            {"at_power_limit", use.power_cap},
            {"thermal", use.thermal}};
  }

 private:
  static cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;  // to the end of the program
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
  }

  const std::vector<Tunable>& candidates_;
  cudaStream_t stream_;
  peers::Arena<half, half> arena_;
  // Contenders have different numbers of sets: each takes what is left of this one.
  peers::Race race_{stream_, 1 << 20};
  std::mt19937_64 random_;
  std::unique_ptr<harness::PowerMeter> meter_;
  std::string no_meter_;
};

constexpr double NS_PER_MS = 1e6;
constexpr double SOME_MS = 0.05;  // before anything is known
constexpr int FIRST_ROUNDS = 7;
// Whoever is predicted to take this much longer than the first is not launched.
constexpr double PREDICTED_FACTOR = 1.5;

struct Measured {
  std::vector<Constants> constants;  // by candidate
  Json json;
  std::vector<std::string> wrong;
};

struct Roughly {
  size_t candidate;
  Estimate estimate;
  double predicted, ns;  // ns: what was predicted, until more is known
};

std::vector<harness::Timing> race(Bench& bench, const std::vector<Roughly>& all, Shape shape,
                                  int rounds) {
  std::vector<Contender> contenders;
  std::vector<double> ms;
  for (const Roughly& r : all) {
    contenders.push_back({r.candidate, shape});
    ms.push_back(r.ns / NS_PER_MS);
  }
  return bench.race(contenders, ms, rounds);
}

double least_ns(const std::vector<Roughly>& all) {
  const auto by_ns = [](const Roughly& a, const Roughly& b) { return a.ns < b.ns; };
  return std::min_element(all.begin(), all.end(), by_ns)->ns;
}

// What the candidates of a layout are expected to take, and took a few times: those of which much
// more is expected than of the first are left out. The first is the first.
std::vector<Roughly> roughly(Bench& bench, const std::vector<Tunable>& candidates,
                             const std::vector<Constants>& constants, int multiprocessors,
                             Shape shape, Layout layout) {
  std::vector<Roughly> all;
  for (size_t c = 0; c < candidates.size(); ++c)
    if (candidates[c].layout == layout) {
      const Estimate e = tuned::estimate(with_layout(problem_of(shape), layout),
                                         candidates[c].candidate, constants[c], multiprocessors);
      all.push_back({c, e, e.total, e.total});
    }
  const auto by_predicted = [](const Roughly& a, const Roughly& b) {
    return a.predicted < b.predicted;
  };
  std::stable_sort(all.begin(), all.end(), by_predicted);
  all.erase(std::upper_bound(all.begin(), all.end(),
                             Roughly{0, {}, PREDICTED_FACTOR * all[0].predicted, 0}, by_predicted),
            all.end());
  const auto times = race(bench, all, shape, FIRST_ROUNDS);
  for (size_t i = 0; i < all.size(); ++i) all[i].ns = times[i].median * NS_PER_MS;
  return all;
}

bool has(const std::vector<Tunable>& candidates, Layout layout) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Tunable& c) { return c.layout == layout; });
}

struct AsUsed {
  Layout layout;
  Shape shape;
};
// Of the layouts that there are candidates for: the shapes given, or the project's own.
std::vector<AsUsed> as_used(const std::vector<Tunable>& candidates,
                            const std::vector<std::string>& given) {
  std::vector<AsUsed> all;
  for (const Layout layout : LAYOUTS) {
    const auto& own = layout == Layout::TN ? GRADIENTS_AS_USED : AS_USED;
    if (has(candidates, layout))
      for (const std::string& text : given.empty() ? own : given)
        all.push_back({layout, peers::parse_shape(text)});
  }
  return all;
}

// What a candidate takes of what the model says, as a logarithm: `times` and the powers, by least
// squares. Where a candidate takes more than a tenth longer than the fastest it counts the less,
// the longer it takes; and what few shapes show is nearly nothing.
class Calibration {
 public:
  void add(const Roughly& r, double least_ns) {
    constexpr double NEAR = 0.1, FALL = 4;
    const std::array<double, tuned::POWERS> of = tuned::powered(r.estimate);
    const std::array<double, UNKNOWNS> row = {1, of[0], of[1], of[2]};
    const double weight = std::exp(-FALL * std::max(0.0, std::log(r.ns / least_ns) - NEAR));
    for (size_t i = 0; i < UNKNOWNS; ++i) {
      for (size_t j = 0; j < UNKNOWNS; ++j) matrix_[i][j] += weight * row[i] * row[j];
      right_[i] += weight * row[i] * std::log(r.ns / r.predicted);
    }
  }
  void say(Constants& constants) {
    for (size_t i = 0; i < UNKNOWNS; ++i)  // the matrix is positive: no row need change places
      for (size_t below = i + 1; below < UNKNOWNS; ++below) {
        const double factor = matrix_[below][i] / matrix_[i][i];
        for (size_t j = i; j < UNKNOWNS; ++j) matrix_[below][j] -= factor * matrix_[i][j];
        right_[below] -= factor * right_[i];
      }
    for (size_t i = UNKNOWNS; i-- > 0;) {
      for (size_t j = i + 1; j < UNKNOWNS; ++j) right_[i] -= matrix_[i][j] * right_[j];
      right_[i] /= matrix_[i][i];
    }
    constants.times = std::exp(right_[0]);
    constants.by_busy = right_[1], constants.by_steps = right_[2], constants.by_rows = right_[3];
  }

 private:
  static constexpr size_t UNKNOWNS = 1 + tuned::POWERS;
  // As if so many shapes had shown nothing.
  static constexpr double TIMES = 3, POWER = 10;
  std::array<std::array<double, UNKNOWNS>, UNKNOWNS> matrix_{
      {{TIMES}, {0, POWER}, {0, 0, POWER}, {0, 0, 0, POWER}}};
  std::array<double, UNKNOWNS> right_{};
};

void calibrate(Bench& bench, const std::vector<Tunable>& candidates,
               std::vector<Constants>& constants, int multiprocessors,
               const std::vector<AsUsed>& as_used) {
  std::vector<Calibration> all(candidates.size());
  for (const auto& [layout, shape] : as_used) {
    const std::vector<Roughly> took =
        roughly(bench, candidates, constants, multiprocessors, shape, layout);
    for (const Roughly& r : took) all[r.candidate].add(r, least_ns(took));
  }
  for (size_t c = 0; c < candidates.size(); ++c) all[c].say(constants[c]);
}

Measured measure(Bench& bench, const std::vector<Tunable>& candidates, int multiprocessors,
                 const std::vector<AsUsed>& as_used, int rounds) {
  std::vector<Contender> contenders;
  for (size_t c = 0; c < candidates.size(); ++c)
    for (int probe = 0; probe < PROBES; ++probe)
      contenders.push_back(
          {c, shape_of(candidates[c].candidate, static_cast<Probe>(probe), multiprocessors)});

  std::vector<double> estimates(contenders.size(), SOME_MS);
  const auto first = bench.race(contenders, estimates, FIRST_ROUNDS);
  for (size_t i = 0; i < first.size(); ++i) estimates[i] = first[i].median;
  bench.clocks();  // those of the warm-up
  const auto times = bench.race(contenders, estimates, rounds);

  std::vector<ProbeTimes> ns(candidates.size());
  for (size_t i = 0; i < times.size(); ++i)
    ns[i / PROBES][i % PROBES] = times[i].median * NS_PER_MS;
  std::vector<tuned::Candidate> shapes;
  for (const Tunable& candidate : candidates) shapes.push_back(candidate.candidate);
  Measured result{constants_of(shapes, ns, multiprocessors), Json::array(), {}};
  calibrate(bench, candidates, result.constants, multiprocessors, as_used);
  for (size_t c = 0; c < candidates.size(); ++c) {
    const Constants& constants = result.constants[c];
    const std::string wrong = what_is_wrong(constants);
    if (!wrong.empty()) result.wrong.push_back(name_of(candidates[c]) + ": " + wrong);
    Json json = to_json(candidates[c]);
    json["start_ns"] = constants.start;
    json["start_alone_ns"] = constants.start_alone;
    json["step_ns"] = constants.step;
    json["step_in_row_ns"] = constants.step_in_row;
    json["step_off_lines_ns"] = constants.step_off_lines;
    json["step_alone_ns"] = constants.step_alone;
    json["later"] = constants.later;
    json["tile_ns"] = constants.tile;
    json["bytes_per_ns"] = constants.bytes_per_ns;
    json["times"] = constants.times;
    json["by_busy"] = constants.by_busy;
    json["by_steps"] = constants.by_steps;
    json["by_rows"] = constants.by_rows;
    for (size_t probe = 0; probe < PROBES; ++probe) {
      const size_t i = c * PROBES + probe;
      json["probes"][PROBE_NAMES[probe]] = {{"shape", name(contenders[i].shape)},
                                            {"ns", times[i].median * NS_PER_MS},
                                            {"p10", times[i].p10 * NS_PER_MS},
                                            {"p90", times[i].p90 * NS_PER_MS}};
    }
    result.json.push_back(json);
  }
  return result;
}

void print_constants(const std::vector<Tunable>& candidates, const Measured& measured) {
  fmt::print("{:<50} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "ns", "start",
             "alone", "step", "in a row", "off lines", "alone", "later", "tile", "bytes/ns",
             "times");
  for (size_t c = 0; c < candidates.size(); ++c) {
    const Constants& k = measured.constants[c];
    fmt::print(
        "{:<50} {:>9.0f} {:>9.0f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.3f} {:>9.0f} {:>9.0f} "
        "{:>9.3f}\n",
        name_of(candidates[c]), k.start, k.start_alone, k.step, k.step_in_row, k.step_off_lines,
        k.step_alone, k.later, k.tile, k.bytes_per_ns, k.times);
  }
  for (const std::string& wrong : measured.wrong) fmt::print("{}\n", wrong);
}

// ---- How good the choice is --------------------------------------------------------------------

// Who then takes this much longer than the fastest is not timed.
constexpr double MEASURED_FACTOR = 1.15;

size_t fastest(const std::vector<harness::Timing>& times) {
  const auto by_median = [](const auto& a, const auto& b) { return a.median < b.median; };
  return static_cast<size_t>(std::min_element(times.begin(), times.end(), by_median) -
                             times.begin());
}

// By the model with the constants that were measured just now.
Json try_shape(Bench& bench, const std::vector<Tunable>& candidates, const Measured& measured,
               int multiprocessors, Shape shape, Layout layout, int rounds) {
  std::vector<Roughly> all =
      roughly(bench, candidates, measured.constants, multiprocessors, shape, layout);
  Json json = {{"shape", name(shape)}, {"layout", name_of(layout)}};
  const auto named = [&](const Roughly& r) {
    return tuned::name(candidates[r.candidate].candidate);
  };
  json["roughly"] = Json::array();
  for (const Roughly& r : all)
    json["roughly"].push_back({{"name", named(r)}, {"ns", r.ns}, {"predicted_ns", r.predicted}});
  const double slowest = MEASURED_FACTOR * least_ns(all);
  // The chosen one is the first, and stays.
  all.erase(
      std::remove_if(all.begin() + 1, all.end(), [&](const Roughly& r) { return r.ns >= slowest; }),
      all.end());
  const auto times = race(bench, all, shape, rounds);
  json["candidates"] = Json::array();
  for (size_t i = 0; i < all.size(); ++i)
    json["candidates"].push_back({{"name", named(all[i])},
                                  {"ns", times[i].median * NS_PER_MS},
                                  {"p10", times[i].p10 * NS_PER_MS},
                                  {"p90", times[i].p90 * NS_PER_MS},
                                  {"predicted_ns", all[i].predicted}});
  const size_t best = fastest(times);
  json["chosen"] = json["candidates"][0]["name"];
  json["fastest"] = json["candidates"][best]["name"];
  json["percent_of_fastest"] = 100 * times[best].median / times[0].median;
  json["error_percent"] = 100 * (all[0].predicted / (times[0].median * NS_PER_MS) - 1);
  return json;
}

Json try_shapes(Bench& bench, const std::vector<Tunable>& candidates, const Measured& measured,
                int multiprocessors, const std::vector<Shape>& shapes, Layout layout, int rounds) {
  fmt::print("\n{}\n", name_of(layout));
  fmt::print("{:<16} {:<36} {:>9} {:>7} {:>8}  {}\n", "shape", "chosen", "us", "error", "of best",
             "fastest");
  Json all = Json::array();
  double logarithms = 0;
  for (const Shape shape : shapes) {
    all.push_back(try_shape(bench, candidates, measured, multiprocessors, shape, layout, rounds));
    const Json& json = all.back();
    const double percent = json["percent_of_fastest"];
    logarithms += std::log(percent);
    fmt::print("{:<16} {:<36} {:>9.2f} {:>+6.1f}% {:>7.1f}%  {}\n", name(shape),
               json["chosen"].get<std::string>(), json["candidates"][0]["ns"].get<double>() / 1e3,
               json["error_percent"].get<double>(), percent, json["fastest"].get<std::string>());
  }
  fmt::print("geometric mean: {:.1f}% of the fastest\n",
             std::exp(logarithms / static_cast<double>(shapes.size())));
  return all;
}

// ---- The program -------------------------------------------------------------------------------

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

void tune(const Options& options, const std::vector<Shape>& shapes) {
  const auto start = std::chrono::steady_clock::now();
  if (!options.json.empty()) harness::require_writable("--json", options.json);
  const harness::Device device = harness::select_device(options.device, 90, /*no_other*/ true);
  const std::vector<Tunable> candidates = all_tunables();
  const std::vector<AsUsed> used = as_used(candidates, options.calibrate);
  std::vector<Shape> all(shapes);
  for (const AsUsed& one : used) all.push_back(one.shape);
  for (const Tunable& candidate : candidates)
    for (int probe = 0; probe < PROBES; ++probe)
      all.push_back(
          shape_of(candidate.candidate, static_cast<Probe>(probe), device.multiprocessors));
  Bench bench(candidates, all, device.l2_bytes, options.seed);

  const Measured measured =
      measure(bench, candidates, device.multiprocessors, used, options.rounds);
  fmt::print("{}, {} multiprocessors, driver {}\n", device.name, device.multiprocessors,
             device.driver);
  if (!tuned::remark(device.name).empty()) fmt::print("{}\n", tuned::remark(device.name));
  print_constants(candidates, measured);
  Json json = {{"gpu", device.name},
               {"date", today()},
               {"driver", device.driver},
               {"toolkit", device.toolkit},
               {"multiprocessors", device.multiprocessors},
               {"clocks", bench.clocks()},
               {"rounds", options.rounds},
               {"count", candidates.size()},
               {"candidates", measured.json}};
  for (const Layout layout : LAYOUTS) {
    if (shapes.empty() || !has(candidates, layout)) continue;
    for (const Json& found : try_shapes(bench, candidates, measured, device.multiprocessors, shapes,
                                        layout, std::min(options.rounds, 30)))
      json["shapes"].push_back(found);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  json["seconds"] = seconds.count();
  if (!options.json.empty()) harness::write_whole(options.json, json.dump(1) + "\n");
  fmt::print("{:.0f} s\n", seconds.count());
  if (!measured.wrong.empty())
    throw std::runtime_error(fmt::format("{} of {} candidates have constants that cannot be: {}",
                                         measured.wrong.size(), candidates.size(),
                                         measured.wrong.front()));
}

void list() {
  Json json = Json::array();
  for (const Tunable& candidate : all_tunables()) json.push_back(to_json(candidate));
  fmt::print("{}\n", json.dump(1));
}

void explain_shapes(const Options& options, const std::vector<Shape>& shapes) {
  constexpr size_t LINES = 4;
  for (const Shape shape : shapes)
    fmt::print("{}\n{}", name(shape),
               tune::explain(problem_of(shape), options.gpu, options.multiprocessors, LINES));
  if (!tuned::remark(options.gpu).empty()) fmt::print("{}\n", tuned::remark(options.gpu));
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  o.gpu = "NVIDIA H200";
  CLI::App app("Measures the constants with which 15_chosen_by_cost chooses.", "tune");
  harness::add_output_file(app, "--json", o.json, "where to write what was measured");
  auto* const shapes =
      app.add_option("--shapes", o.shapes, "MxNxK, or N, or \"usual\": how good the choice is");
  app.add_option("--calibrate", o.calibrate, "MxNxK, or N: shapes as they are used")
      ->default_str("rows that divide by nothing at weights of public models, and gradients");
  app.add_option("--rounds", o.rounds, "launches of each")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  harness::add_seed_and_device(app, o.seed, o.device);
  app.add_flag("--list", o.list, "no measurement: the candidates");
  app.add_flag("--explain", o.explain, "no measurement: the committed tables' choice, and why")
      ->needs(shapes);
  app.add_option("--gpu", o.gpu, "with --explain, the name of the GPU")->capture_default_str();
  app.add_option("--multiprocessors", o.multiprocessors, "with --explain, how many it has")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  if (o.shapes == std::vector<std::string>{"usual"}) o.shapes = USUAL;
  return o;
}

}  // namespace
}  // namespace ladder::tune

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run_program("tune", [&] {
    const auto options = tune::parse(argc, argv);
    if (!options) return;
    std::vector<harness::Shape> shapes;
    for (const std::string& text : options->shapes) shapes.push_back(peers::parse_shape(text));
    if (options->list)
      tune::list();
    else if (options->explain)
      tune::explain_shapes(*options, shapes);
    else
      tune::tune(*options, shapes);
  });
}
