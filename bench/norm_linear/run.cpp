#include "run.h"

#include "harness/own.h"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/block.h"
#endif

namespace ladder::norm_linear_bench {
namespace {

using harness::Shape;

struct Options : harness::OwnOptions {
#ifdef LADDER_CPU_DEVICE
  Shape shape{70, 300, 200};
#else
  Shape shape{8192, 4096, 4096};
#endif
};

std::optional<Options> parse(const char* stage, const std::vector<Variant>& all, int argc,
                             char** argv) {
  Options o;
  CLI::App app("A linear layer behind a LayerNorm, bf16: checked and, on a GPU, timed.", stage);
  const auto size = [&](const char* name, int& to, const char* what) {
    app.add_option(name, to, what)->check(CLI::Range(0, 1 << 24))->capture_default_str();
  };
  size("--m", o.shape.m, "rows of X and Y");
  size("--n", o.shape.n, "columns of W and Y");
  size("--k", o.shape.k, "columns of X, rows of W; a multiple of 8");
  harness::add_own_options(app, o, all, {"random", "off_centre"},
                           "X: random, from -1 to 1; or off_centre, from 15 to 17");
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  const auto numbers = [](int a, int b) { return double{1} * a * b; };
  if (std::max({numbers(o.shape.m, o.shape.k), numbers(o.shape.n, o.shape.k),
                numbers(o.shape.m, o.shape.n)}) > MAX_DIMENSION)
    throw harness::UsageError("there are more numbers than a matrix may have here, 2^31 - 1");
  if (!o.json.empty()) harness::require_writable("--json", o.json);
  return o;
}

// The least, none, what fills tiles and what does not, fewer and more steps along K than buffers;
// and, where there is a GPU, shapes of users.
int check_all_shapes(const std::vector<Variant>& variants, uint64_t seed, cudaStream_t stream) {
  std::vector<Shape> shapes{{1, 1, 8},      {0, 8, 8},      {3, 0, 8},    {128, 256, 64},
                            {129, 300, 72}, {70, 600, 136}, {5, 8, 1000}, {300, 260, 328}};
#ifndef LADDER_CPU_DEVICE
  shapes.insert(shapes.end(), {{8192, 1024, 4096}, {1000, 4095, 4104}, {4096, 14336, 1024}});
#endif
  int count = 0;
  for (const Shape shape : shapes)
    for (const Data data : {Data::RANDOM, Data::OFF_CENTRE}) {
#ifdef LADDER_CPU_DEVICE
      // Few for one kind of data: then a block has several tiles.
      cpu_device::settings().multiprocessors = data == Data::RANDOM ? 2 : 132;
#endif
      Case problem(shape, data, seed);
      harness::require_ok(harness::check_each(problem, variants, stream),
                          fmt::format(", {}x{}x{}, {}", shape.m, shape.n, shape.k,
                                      data == Data::RANDOM ? "random" : "off centre"));
      count += static_cast<int>(variants.size());
    }
  return count;
}

void run_variants(const char* stage, const std::vector<Variant>& variants, const Options& o,
                  const harness::Machine& machine) {
  const cudaStream_t stream = machine.stream;
  const auto [m, n, k] = o.shape;
  const double mn = double{1} * m * n, mk = double{1} * m * k, nk = double{1} * n * k;
  const bool timed = machine.l2_bytes > 0 && mn > 0;
  const int sets =
      timed ? harness::sets_beyond_l2((mn + mk + nk) * sizeof(bf16), machine.l2_bytes) : 1;
  Case problem(o.shape, o.data == "random" ? Data::RANDOM : Data::OFF_CENTRE, o.seed, sets);
  const std::vector<harness::Checked> results = harness::check_each(problem, variants, stream);

  std::vector<harness::Timing> times;
#ifndef LADDER_CPU_DEVICE
  if (timed) {
    std::vector<harness::LaunchOn> launches;
    for (const Variant& variant : variants)
      launches.push_back([&](int set) { variant.run(problem.problem(set, stream)); });
    constexpr int WARMUP = 3;
    times = harness::time_interleaved(launches, {sets, WARMUP, o.iterations}, stream);
  }
#endif
  fmt::print("{}: {}x{}x{}, bf16, {} data, on {}\n", stage, m, n, k, o.data, machine.name);
  const nlohmann::ordered_json json{
      {"stage", stage},
      {"device", machine.name},
      {"m", m},
      {"n", n},
      {"k", k},
      {"data", o.data},
      {"seed", o.seed},
      {"variants", harness::print_variants(
                       results, times,
                       {{"TFLOP/s", "tflops", 1,
                         [&](const harness::Timing& t) { return 2 * mn * k / (t.median * 1e9); }},
                        {"x the first", "times_the_first", 3, [&](const harness::Timing& t) {
                           return times.front().median / t.median;
                         }}})}};
  harness::finish(o, json, results);
}

}  // namespace

int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv) {
  return harness::run_own(
      stage, variants, [&] { return parse(stage, variants, argc, argv); }, check_all_shapes,
      [&](const Options& o, const std::vector<Variant>& wanted, const harness::Machine& machine) {
        run_variants(stage, wanted, o, machine);
      });
}

}  // namespace ladder::norm_linear_bench
