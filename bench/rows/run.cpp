#include "run.h"

#include <map>

#include "harness/own.h"

namespace ladder::rows_bench {
namespace {

const std::map<std::string, RowOperation> OPERATIONS{
    {"cross_entropy", RowOperation::CROSS_ENTROPY},
    {"layer_norm", RowOperation::LAYER_NORM},
    {"layer_norm_gelu", RowOperation::LAYER_NORM_GELU},
    {"rms_norm", RowOperation::RMS_NORM},
    {"softmax", RowOperation::SOFTMAX}};

struct Options : harness::OwnOptions {
#ifdef LADDER_CPU_DEVICE
  int rows = 5, width = 1000;
#else
  int rows = 8192, width = 8192;
#endif
  std::string operation = "layer_norm", type = "bf16";
};

std::optional<Options> parse(const char* stage, const std::vector<Variant>& all, int argc,
                             char** argv) {
  Options o;
  harness::OwnCommandLine line(
      "An operation on each row of a matrix: checked and, on a GPU, timed.", stage);
  line.number("--rows", o.rows, 0, "of X");
  line.number("--width", o.width, 1, "numbers of a row");
  std::vector<std::string> operations;
  for (const auto& [name, operation] : OPERATIONS) operations.push_back(name);
  line.one_of("--operation", o.operation, operations);
  line.one_of("--type", o.type, {"bf16", "fp32"});
  if (!line.parse(o, harness::names(all), {"random", "far_from_zero"},
                  "random, from -8 to 8; or far_from_zero, from 999 to 1001", argc, argv))
    return std::nullopt;
  if (double{1} * o.rows * o.width > MAX_DIMENSION)
    throw harness::UsageError("there are more numbers than a matrix may have here, 2^31 - 1");
  return o;
}

template <class T>
int check_all_shapes(const std::vector<Variant>& variants, uint64_t seed, cudaStream_t stream) {
  // A number, words of 16 bytes and what is none, the ends of a warp's, of a block's, of a large
  // block's and of clusters' words, more than these keep in registers.
  std::vector<int> widths{1, 7, 8, 33, 128, 130, 512, 1000, 1024, 1025, 4096, 8192, 9001};
  if (!harness::is_short()) widths.insert(widths.end(), {4100, 16384, 32768, 66000, 140000});
  const int many = harness::is_short() ? 1024 : 16384;
  int count = 0;
  for (const auto& [name, operation] : OPERATIONS)
    for (const int width : widths)
      for (const int rows : {0, 1, width > many ? 2 : 5})
        for (const Data data : {Data::RANDOM, Data::FAR_FROM_ZERO}) {
          if (rows == 0 && width != 8) continue;
          if (rows == 1 && width > 1024) continue;
          if (data == Data::FAR_FROM_ZERO && width > many) continue;
          Case<T> problem({operation, rows, width}, data, seed);
          harness::require_ok(harness::check_each(problem, variants, stream),
                              fmt::format(", {}, {} rows of {} numbers, {}", name, rows, width,
                                          data == Data::RANDOM ? "random" : "far from zero"));
          count += static_cast<int>(variants.size());
        }
  return count;
}

template <class T>
void run_variants(const char* stage, const std::vector<Variant>& variants, const Options& o,
                  const harness::Machine& machine) {
  const cudaStream_t stream = machine.stream;
  const Shape shape{OPERATIONS.at(o.operation), o.rows, o.width};
  const double bytes = Case<T>::bytes_per_set(shape);
  const bool timed = machine.l2_bytes > 0 && o.rows > 0;
  const int sets = timed ? harness::sets_beyond_l2(bytes, machine.l2_bytes) : 1;
  Case<T> problem(shape, o.data == "random" ? Data::RANDOM : Data::FAR_FROM_ZERO, o.seed, sets);
  const std::vector<harness::Checked> results = harness::check_each(problem, variants, stream);

  std::vector<harness::Timing> times;
#ifndef LADDER_CPU_DEVICE
  if (timed) {
    std::vector<harness::LaunchOn> launches;
    for (const Variant& variant : variants)
      launches.push_back([&](int set) { variant(problem.problem(set, stream)); });
    launches.push_back([&](int set) {
      const Rows<T> p = problem.problem(set, stream);
      const size_t size = sizeof(T) * static_cast<size_t>(p.rows) * static_cast<size_t>(p.width);
      LADDER_CUDA_CHECK(cudaMemcpyAsync(p.Y, p.X, size, cudaMemcpyDeviceToDevice, stream));
    });
    constexpr int WARMUP = 3;
    times = harness::time_interleaved(launches, {sets, WARMUP, o.iterations}, stream);
  }
#endif
  const auto gbytes = [&](const harness::Timing& t) { return bytes / (t.median * 1e6); };
  const double copied = 2.0 * sizeof(T) * o.rows * o.width;
  const auto percent = [&](const harness::Timing& t) {
    return 100 * bytes / copied * times.back().median / t.median;
  };
  fmt::print("{}: {} of {} rows of {} numbers, {}, {} data, on {}\n", stage, o.operation, o.rows,
             o.width, o.type, o.data, machine.name);
  std::vector<harness::Beside> beside;
  if (!times.empty()) beside.push_back({"a copy of X to Y", "copy", times.back(), copied});
  harness::report(
      stage, machine, o,
      {{"rows", o.rows}, {"width", o.width}, {"type", o.type}, {"operation", o.operation}}, results,
      times, {{"GB/s", "gbytes_per_s", 1, gbytes}, {"% of copy", "percent_of_copy", 1, percent}},
      beside);
}

}  // namespace

int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv) {
  return harness::run_own(
      stage, variants, [&] { return parse(stage, variants, argc, argv); },
      [](const std::vector<Variant>& wanted, uint64_t seed, cudaStream_t stream) {
        return check_all_shapes<bf16>(wanted, seed, stream) +
               check_all_shapes<float>(wanted, seed, stream);
      },
      [&](const Options& o, const std::vector<Variant>& wanted, const harness::Machine& machine) {
        (o.type == "bf16" ? run_variants<bf16> : run_variants<float>)(stage, wanted, o, machine);
      });
}

}  // namespace ladder::rows_bench
