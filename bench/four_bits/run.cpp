#include "run.h"

#include <map>

#include "harness/own.h"
#ifndef LADDER_CPU_DEVICE
  #include "harness/cublas.h"
#endif

namespace ladder::four_bits_bench {
namespace {

using harness::Data, harness::Shape;

struct Options : harness::OwnOptions {
#ifdef LADDER_CPU_DEVICE
  Shape shape{5, 200, 500};
#else
  Shape shape{16, 8192, 8192};
#endif
  std::string type = "bf16";
};

std::optional<Options> parse(const char* stage, const std::vector<Variant>& all, int argc,
                             char** argv) {
  Options o;
  harness::OwnCommandLine line("A product by packed numbers: checked and, on a GPU, timed.", stage);
  line.number("--m", o.shape.m, 0, "rows of A and C");
  line.number("--n", o.shape.n, 0, "columns of W and C");
  line.number("--k", o.shape.k, 0, "columns of A, rows of W");
  line.one_of("--type", o.type, {"bf16", "fp16"}, "of A and C: ");
  if (!line.parse(o, harness::names(all), {"random", "exact"},
                  "random; or exact, small integers of which C has no rounding", argc, argv))
    return std::nullopt;
  const auto numbers = [](int a, int b) { return double{1} * a * b; };
  if (std::max({numbers(o.shape.m, o.shape.k), numbers(o.shape.n, o.shape.k),
                numbers(o.shape.m, o.shape.n)}) > MAX_DIMENSION)
    throw harness::UsageError("there are more numbers than a matrix may have here, 2^31 - 1");
  return o;
}

Data data_of(const std::string& name) {
  return name == "exact" ? Data::EXACT : Data::UNIFORM;
}

// A problem for each kind of numbers that a variant multiplies by.
template <class T>
using Problems = std::map<Numbers, Case<T>>;
template <class T>
Problems<T> problems_of(const std::vector<Variant>& variants, Shape shape, Data data, uint64_t seed,
                        int sets = 1) {
  Problems<T> problems;
  for (const Variant& variant : variants)
    problems.try_emplace(variant.numbers, variant.numbers, shape, data, seed, sets);
  return problems;
}
template <class T>
std::vector<harness::Checked> check_each(Problems<T>& problems,
                                         const std::vector<Variant>& variants,
                                         cudaStream_t stream) {
  std::vector<harness::Checked> results;
  for (const Variant& variant : variants)
    results.push_back(
        harness::checked(variant.name, problems.at(variant.numbers).check(variant, stream)));
  return results;
}

// One number, none, what fills tiles and groups and what does not, more rows than a tile, more
// groups than buffers; and, where there is a GPU, shapes of users, and rows of several bands.
template <class T>
int check_all_shapes(const std::vector<Variant>& variants, uint64_t seed, cudaStream_t stream) {
  std::vector<Shape> shapes{{1, 1, 1},     {0, 8, 8},     {3, 0, 8},
                            {3, 8, 0},     {1, 64, 128},  {16, 256, 256},
                            {17, 72, 300}, {5, 130, 129}, {8, 200, 1000}};
  if (!harness::is_short())
    shapes.insert(shapes.end(), {{65, 100, 200}, {33, 264, 127}, {1, 64, 5000}, {130, 70, 260}});
#ifndef LADDER_CPU_DEVICE
  shapes.insert(shapes.end(),
                {{1, 4096, 4096}, {7, 2112, 7168}, {100, 5000, 3000}, {2500, 1000, 520}});
  if (!harness::is_short())
    shapes.insert(shapes.end(), {{16, 28672, 8192}, {64, 11008, 4097}, {333, 4096, 14336}});
#endif
  int count = 0;
  for (const Shape shape : shapes)
    for (const Data data : {Data::EXACT, Data::UNIFORM}) {
      // Where time is short, each type has one kind.
      if (harness::is_short() && (data == Data::EXACT) != std::is_same_v<T, bf16>) continue;
      Problems<T> problems = problems_of<T>(variants, shape, data, seed);
      harness::require_ok(check_each(problems, variants, stream),
                          fmt::format(", {}x{}x{}, {}", shape.m, shape.n, shape.k, name(data)));
      count += static_cast<int>(variants.size());
    }
  return count;
}

template <class T>
void run_variants(const char* stage, const std::vector<Variant>& variants, const Options& o,
                  const harness::Machine& machine) {
  const cudaStream_t stream = machine.stream;
  const auto [m, n, k] = o.shape;
  // Numbers of one stage have as many bits.
  const Numbers numbers = variants.front().numbers;
  const double bytes = Case<T>::bytes_per_set(numbers, o.shape);
  const size_t packed = Case<T>::packed_bytes(numbers, o.shape);
  const bool timed = machine.l2_bytes > 0 && packed > 0 && m > 0;
  const int sets = timed ? harness::sets_beyond_l2(bytes, machine.l2_bytes) : 1;
  Problems<T> problems = problems_of<T>(variants, o.shape, data_of(o.data), o.seed, sets);
  const std::vector<harness::Checked> results = check_each(problems, variants, stream);

  std::vector<harness::Timing> times;
#ifndef LADDER_CPU_DEVICE
  harness::Cublas cublas;
  if (timed) {
    harness::DeviceBuffer<unsigned char> copy(packed);
    std::vector<harness::LaunchOn> launches;
    const Case<T>& first = problems.at(numbers);
    for (const Variant& variant : variants)
      launches.push_back(
          [&](int set) { variant(problems.at(variant.numbers).problem(set, stream)); });
    launches.push_back([&](int set) { cublas.gemm(first.problem(set, stream).sixteen); });
    launches.push_back([&](int set) {
      LADDER_CUDA_CHECK(
          cudaMemcpyAsync(copy.get(), first.packed(set), packed, cudaMemcpyDeviceToDevice, stream));
    });
    constexpr int WARMUP = 3;
    times = harness::time_interleaved(launches, {sets, WARMUP, o.iterations}, stream);
  }
#endif
  const auto gbytes = [&](const harness::Timing& t) { return bytes / (t.median * 1e6); };
  const auto copied = [&] { return 2 * static_cast<double>(packed) / (times.back().median * 1e6); };
  const auto of_copy = [&](const harness::Timing& t) { return 100 * gbytes(t) / copied(); };
  const auto of_cublas = [&](const harness::Timing& t) {
    return 100 * times[variants.size()].median / t.median;
  };
  fmt::print("{}: {}x{}x{}, {}, {} data, on {}\n", stage, m, n, k, o.type, o.data, machine.name);
  std::vector<harness::Beside> beside;
  if (!times.empty()) {
    beside.push_back({"cuBLAS with W in 16 bits", "cublas", times[variants.size()]});
    beside.push_back({"a copy of W", "copy", times.back(), 2 * static_cast<double>(packed)});
  }
  harness::report(stage, machine, o, {{"m", m}, {"n", n}, {"k", k}, {"type", o.type}}, results,
                  times,
                  {{"GB/s", "gbytes_per_s", 1, gbytes},
                   {"% of copy", "percent_of_copy", 1, of_copy},
                   {"% of cuBLAS", "percent_of_cublas", 1, of_cublas}},
                  beside);
}

}  // namespace

int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv) {
  return harness::run_own(
      stage, variants, [&] { return parse(stage, variants, argc, argv); },
      [](const std::vector<Variant>& wanted, uint64_t seed, cudaStream_t stream) {
        return check_all_shapes<bf16>(wanted, seed, stream) +
               check_all_shapes<half>(wanted, seed, stream);
      },
      [&](const Options& o, const std::vector<Variant>& wanted, const harness::Machine& machine) {
        (o.type == "bf16" ? run_variants<bf16> : run_variants<half>)(stage, wanted, o, machine);
      });
}

}  // namespace ladder::four_bits_bench
