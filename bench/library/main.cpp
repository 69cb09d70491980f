// build/library: the library beside cuBLAS, in turn, on shapes that programs have. Results are
// compared first. Exit codes: 0 all right; 1 a result differs, or a CUDA error; 2 bad input; 77 no
// usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "gemm.h"
#include "harness/command_line.h"
#include "harness/cublas.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/report.h"
#include "harness/statistics.h"
#include "peers/arena.h"
#include "peers/race.h"
#include "peers/shapes.h"

namespace ladder::library_bench {
namespace {

using harness::Shape;
using peers::name;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> shapes;
  std::string json, type = "fp16";
  int rounds = 21, device = 0;
  uint64_t seed = 1;
  bool contiguous = false, explain = false, in_a_row = false;
};

// A hundred: squares; four projections of Llama 3.1 8B and of Qwen2.5 7B, with 1 to 8192 rows; and
// sizes that divide by nothing.
std::vector<std::string> usual() {
  std::vector<std::string> shapes;
  for (const int n : {256, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192})
    shapes.push_back(std::to_string(n));
  for (const char* projection : {"6144x4096", "4096x4096", "14336x4096", "4096x14336", "4608x3584",
                                 "3584x3584", "18944x3584", "3584x18944"})
    for (const int rows : {1, 8, 32, 64, 128, 512, 1024, 2048, 8192})
      shapes.push_back(fmt::format("{}x{}", rows, projection));
  for (const char* ragged : {"100", "333", "1000", "1111", "1999", "3000", "3333", "5000",
                             "4095x4097x4093", "77x1025x4099", "513x2049x1023", "2000x3000x1000",
                             "4097x129x8191", "1001x8000x515", "30x30000x300"})
    shapes.push_back(ragged);
  return shapes;
}

// Rows begin where those before end, as a program's often do, and not on 16 bytes.
template <class T>
Gemm<T, T> problem(const peers::Arena<T, T>& arena, Shape shape, int set, bool contiguous,
                   cudaStream_t stream) {
  Gemm<T, T> p = arena.gemm(shape, set, 0, stream);
  if (contiguous) p.lda = p.K, p.ldb = p.ldc = p.N;
  return arena.with_workspace(p, workspace_bytes(p));
}

// Of the host, until the call returns, in us; the GPU works meanwhile.
template <class Call>
double host_us(Call call, cudaStream_t stream) {
  constexpr int CALLS = 200;
  std::vector<double> us;
  for (int i = 0; i < CALLS; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                     .count());
    if (i % 50 == 49) LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  return harness::summarize(us).median;
}

// us of a launch, of as many in a row as a graph has, from replays in an order drawn anew.
std::vector<double> us_in_a_row(const std::vector<harness::LaunchOn>& contenders, int sets,
                                int rounds, std::mt19937_64& random, cudaStream_t stream) {
  constexpr int LAUNCHES = 64;
  std::vector<cudaGraphExec_t> graphs;
  for (const harness::LaunchOn& launch : contenders) {
    cudaGraph_t graph = nullptr;
    LADDER_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < LAUNCHES; ++i) launch(i % sets);
    LADDER_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    LADDER_CUDA_CHECK(cudaGraphInstantiate(&graphs.emplace_back(), graph, 0));
    LADDER_CUDA_CHECK(cudaGraphDestroy(graph));
  }
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<double>> us(contenders.size());
  harness::EventPair events;
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      const auto replay = [&](int) { LADDER_CUDA_CHECK(cudaGraphLaunch(graphs[i], stream)); };
      events.around(replay, 0, stream);
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
      us[i].push_back(events.milliseconds() * 1e3 / LAUNCHES);
    }
  }
  std::vector<double> medians;
  for (const auto& samples : us) medians.push_back(harness::summarize(samples).median);
  for (cudaGraphExec_t graph : graphs) LADDER_CUDA_CHECK(cudaGraphExecDestroy(graph));
  return medians;
}

// Launches in a row: one after the other's end, as cuBLAS's, and starting early.
template <class T>
Json run_in_a_row(const Options& options, const std::vector<Shape>& shapes, uint64_t l2_bytes) {
  cudaStream_t stream = nullptr;  // to the end of the program
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const peers::Arena<T, T> arena(shapes, l2_bytes);
  arena.draw(options.seed, stream);
  harness::Cublas cublas;
  std::mt19937_64 random(options.seed);
  fmt::print("launches in a row\n{:<18} {:>10} {:>10} {:>10}\n", "shape", "us", "early, us",
             "cuBLAS us");
  Json json = Json::array();
  for (const Shape shape : shapes) {
    const auto on = [&](int set, bool early) {
      Gemm<T, T> p = problem(arena, shape, set, options.contiguous, stream);
      p.starts_early = early;
      return p;
    };
    const std::vector<double> us =
        us_in_a_row({[&](int set) { gemm(on(set, false)); }, [&](int set) { gemm(on(set, true)); },
                     [&](int set) { cublas.gemm(on(set, false)); }},
                    arena.sets(shape), options.rounds, random, stream);
    fmt::print("{:<18} {:>10.2f} {:>10.2f} {:>10.2f}\n", name(shape), us[0], us[1], us[2]);
    json.push_back(
        {{"shape", name(shape)}, {"us", us[0]}, {"early_us", us[1]}, {"cublas_us", us[2]}});
  }
  return {{"type", options.type}, {"shapes", json}};
}

template <class T>
Json run(const Options& options, const std::vector<Shape>& shapes, uint64_t l2_bytes) {
  cudaStream_t stream = nullptr;  // to the end of the program
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const peers::Arena<T, T> arena(shapes, l2_bytes);
  arena.draw(options.seed, stream);
  harness::Cublas cublas;
  std::mt19937_64 random(options.seed);

  fmt::print("{:<18} {:>10} {:>10} {:>8}  {}\n", "shape", "us", "cuBLAS us", "of it", "stage");
  Json json = Json::array();
  std::vector<double> percents;
  std::string wrong;
  for (const Shape shape : shapes) {
    const int sets = arena.sets(shape);
    std::vector<Gemm<T, T>> problems;
    for (int set = 0; set < sets; ++set)
      problems.push_back(problem(arena, shape, set, options.contiguous, stream));
    const Gemm<T, T>& first = problems.front();
    cublas.gemm(first);
    LADDER_CUDA_CHECK(cudaMemcpyAsync(arena.reference(), first.C, arena.result_bytes(shape),
                                      cudaMemcpyDeviceToDevice, stream));
    LADDER_CUDA_CHECK(cudaMemsetAsync(first.C, harness::POISON, arena.result_bytes(shape), stream));
    gemm(first);
    const peers::Differences differences = peers::compare(
        first.C, arena.reference(), shape, first.ldc, peers::tolerance<T, T>(shape.k), stream);
    if (differences.wrong > 0)
      wrong +=
          fmt::format("{}: {} elements differ from cuBLAS's\n", name(shape), differences.wrong);

    const std::vector<harness::LaunchOn> contenders = {
        [&](int set) { gemm(problems[static_cast<size_t>(set)]); },
        [&](int set) { cublas.gemm(problems[static_cast<size_t>(set)]); }};
    peers::Race race(stream, sets);
    std::vector<double> estimates(2, 0.05);
    const auto roughly = race.run(contenders, estimates, 3, random);
    for (size_t i = 0; i < 2; ++i) estimates[i] = harness::summarize(roughly[i]).median;
    const auto times = race.run(contenders, estimates, options.rounds, random);
    const double own = harness::summarize(times[0]).median,
                 of_cublas = harness::summarize(times[1]).median;
    percents.push_back(100 * of_cublas / own);
    const std::string reasons = explain(first);
    const size_t line = reasons.find("stage ") + 6;
    const std::string stage = reasons.substr(line, reasons.find('\n', line) - line);
    fmt::print("{:<18} {:>10.2f} {:>10.2f} {:>7.1f}%  {}\n", name(shape), own * 1e3,
               of_cublas * 1e3, percents.back(), stage);
    json.push_back({{"shape", name(shape)},
                    {"us", own * 1e3},
                    {"cublas_us", of_cublas * 1e3},
                    {"percent", percents.back()},
                    {"stage", stage}});
  }
  double logarithms = 0;
  for (const double percent : percents) logarithms += std::log(percent);
  const double mean = std::exp(logarithms / static_cast<double>(percents.size()));
  const double least = *std::min_element(percents.begin(), percents.end());

  const Shape small{64, 64, 64};
  const Gemm<T, T> p = arena.gemm(small, 0, 0, stream);
  const double host = host_us([&] { gemm(p); }, stream),
               of_cublas = host_us([&] { cublas.gemm(p); }, stream),
               for_workspace = host_us([&] { workspace_bytes(p); }, stream);
  const KeptPlan<T, T> kept = plan(p);
  const double of_plan = host_us([&] { kept.run(p.A, p.B, p.C, stream); }, stream);
  fmt::print("{} shapes in {}{}: geometric mean {:.1f}% of cuBLAS, worst {:.1f}%\n", shapes.size(),
             options.type, options.contiguous ? ", contiguous" : "", mean, least);
  fmt::print(
      "host, at 64: gemm() {:.2f} us, a plan's run() {:.2f} us, workspace_bytes() {:.2f} us, "
      "cuBLAS "
      "{:.2f} us\n",
      host, of_plan, for_workspace, of_cublas);
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return {{"type", options.type},
          {"contiguous", options.contiguous},
          {"geometric_mean", mean},
          {"worst", least},
          {"host_us", host},
          {"plan_host_us", of_plan},
          {"workspace_bytes_host_us", for_workspace},
          {"cublas_host_us", of_cublas},
          {"shapes", json}};
}

template <class T>
void explain_shapes(const std::vector<Shape>& shapes, bool contiguous) {
  for (const Shape s : shapes) {
    Gemm<T, T> p{};
    p.M = s.m, p.N = s.n, p.K = s.k;
    p.lda = contiguous ? s.k : harness::leading_dimension<T>(s.k);
    p.ldb = p.ldc = contiguous ? s.n : harness::leading_dimension<T>(s.n);
    fmt::print("{}\n", explain(p));
  }
}

template <class T>
void measure(const Options& options, const std::vector<Shape>& shapes) {
  if (!options.json.empty()) harness::require_writable("--json", options.json);
  const harness::Device device = harness::select_device(options.device, 80, false);
  if (options.explain) return explain_shapes<T>(shapes, options.contiguous);
  fmt::print("{}, driver {}, cuBLAS {}\n", device.name, device.driver, harness::Cublas().version());
  Json json = options.in_a_row ? run_in_a_row<T>(options, shapes, device.l2_bytes)
                               : run<T>(options, shapes, device.l2_bytes);
  json["gpu"] = device.name;
  json["driver"] = device.driver;
  if (!options.json.empty()) harness::write_whole(options.json, json.dump(1) + "\n");
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  CLI::App app("The library beside cuBLAS.", "library");
  app.add_option("--shapes", o.shapes, "MxNxK, or N; a hundred unless given");
  app.add_option("--type", o.type, "of the matrices")
      ->check(CLI::IsMember({"fp16", "bf16", "fp32"}))
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "launches of each")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  harness::add_seed_and_device(app, o.seed, o.device);
  app.add_flag("--contiguous", o.contiguous, "rows are as long as they are wide, without padding");
  app.add_flag("--in-a-row", o.in_a_row,
               "launches without a pause, and what it gives that they start early");
  app.add_flag("--explain", o.explain, "no measurement: what the library would do, and why");
  harness::add_output_file(app, "--json", o.json, "where to write what was measured");
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  if (o.shapes.empty()) o.shapes = usual();
  return o;
}

}  // namespace
}  // namespace ladder::library_bench

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run_program("library", [&] {
    const auto options = library_bench::parse(argc, argv);
    if (!options) return;
    std::vector<harness::Shape> shapes;
    for (const std::string& text : options->shapes) shapes.push_back(peers::parse_shape(text));
    if (options->type == "fp16")
      library_bench::measure<half>(*options, shapes);
    else if (options->type == "bf16")
      library_bench::measure<bf16>(*options, shapes);
    else
      library_bench::measure<float>(*options, shapes);
  });
}
