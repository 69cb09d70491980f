#include "run.h"

#include <climits>

#include "cudnn.h"
#include "harness/own.h"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/block.h"
#endif

namespace ladder::attention_bench {
namespace {

using harness::UsageError;

struct Options : harness::OwnOptions {
#ifdef LADDER_CPU_DEVICE
  Shape shape{1, 2, 0, 150, 200, 128};
#else
  Shape shape{4, 16, 0, 4096, 4096, 128};
#endif
  bool copy = false, cudnn = false;
};

std::optional<Options> parse(const char* stage, const std::vector<Variant>& all, int argc,
                             char** argv) {
  Options o;
  harness::OwnCommandLine line("Attention, forward, in bf16: checked and, on a GPU, timed.", stage);
  line.number("--batch", o.shape.batch, 1, "sequences");
  line.number("--heads", o.shape.heads, 1, "heads of queries");
  line.number("--kv-heads", o.shape.kv_heads, 1, "heads of keys and values; as many if left out",
              false);
  line.number("--queries", o.shape.queries, 0, "of a sequence");
  line.number("--keys", o.shape.keys, 0, "of a sequence; as many as queries if left out", false);
  line.number("--width", o.shape.width, 1, "of a head: 64, 128 or 256");
  line.flag("--causal", o.shape.causal, "a query does not see the keys behind it");
#ifndef LADDER_CPU_DEVICE
  line.flag("--copy", o.copy, "also time a copy of K, which moves as many bytes as K and V have");
  line.flag("--cudnn", o.cudnn, "also check and time cuDNN's; the build needs LADDER_CUDNN");
#endif
  if (!line.parse(o, harness::names(all), {"random", "exact"},
                  "random; or exact: weights are powers of two", argc, argv))
    return std::nullopt;
  if (o.shape.kv_heads == 0) o.shape.kv_heads = o.shape.heads;
  if (!line.is_given("--keys") && line.is_given("--queries")) o.shape.keys = o.shape.queries;
  const Shape& s = o.shape;
  if (double{1} * s.batch *
          std::max(s.heads * double{1} * s.queries, s.kv_heads * double{1} * s.keys) >
      INT_MAX / 2)
    throw UsageError("there are more rows than a matrix may have here");
  if (o.data == "exact" && s.keys > Case::EXACT_MAX_KEYS)
    throw UsageError(fmt::format("--data exact: sums stay exact only up to {} keys, not {}",
                                 Case::EXACT_MAX_KEYS, s.keys));
  return o;
}

std::string text(const Shape& s) {
  return fmt::format("batch {}, {} heads over {}, {} queries, {} keys, {} wide{}", s.batch, s.heads,
                     s.kv_heads, s.queries, s.keys, s.width, s.causal ? ", causal" : "");
}

// What is beyond it is compared with the device's fp32: in double it would take minutes.
constexpr double MOST_FLOP_ON_HOST = 1e9;

#ifndef LADDER_CPU_DEVICE
size_t numbers_of_keys(const Shape& s) {
  return static_cast<size_t>(s.batch) * static_cast<size_t>(s.kv_heads) *
         static_cast<size_t>(s.keys) * static_cast<size_t>(s.width);
}
#endif

// A shape of each kind: one, none, what fills tiles and what does not, fewer and more keys than
// queries, heads in groups, many pieces of keys; and, where there is a GPU, what the host does not
// compare.
std::vector<Shape> shapes() {
  std::vector<Shape> some;
  for (const int width : {64, 128, 256})
    for (const bool causal : {false, true}) {
      some.push_back({1, 1, 1, 1, 1, width, causal});
      some.push_back({1, 2, 1, 130, 70, width, causal});
      some.push_back({1, 1, 1, 70, 333, width, causal});
    }
  for (const bool causal : {false, true}) {
    some.push_back({1, 1, 1, 128, 256, 128, causal});
    some.push_back({2, 6, 2, 33, 65, 64, causal});
    some.push_back({2, 2, 2, 129, 129, 128, causal});
    some.push_back({1, 1, 1, 5, 0, 64, causal});
    some.push_back({1, 1, 1, 0, 5, 64, causal});
    some.push_back({1, 1, 1, 1, 1500, 64, causal});
    some.push_back({1, 1, 1, 300, 700, 64, causal});
#ifndef LADDER_CPU_DEVICE
    for (const int width : {64, 128, 256}) {
      some.push_back({2, 8, 2, 2048, 2048, width, causal});
      some.push_back({1, 6, 3, 1999, 3001, width, causal});
      some.push_back({5, 32, 8, 1, 4097, width, causal});
      some.push_back({1, 32, 8, 8, 9999, width, causal});
    }
#endif
  }
  some.push_back({2, 4, 2, 1, 200, 128, false});  // as in decoding
  some.push_back({1, 4, 1, 5, 150, 64, true});
#ifdef LADDER_CPU_DEVICE
  constexpr int64_t MANY_PAIRS = 20000;
  if (harness::is_short())
    some.erase(std::remove_if(some.begin(), some.end(),
                              [](const Shape& s) {
                                return int64_t{s.heads} * s.queries * s.keys > MANY_PAIRS;
                              }),
               some.end());
#endif
  return some;
}

// On the CPU device the reference of large shapes is tried at small ones, where it is no slower.
Reference reference_for(const Shape& shape) {
#ifdef LADDER_CPU_DEVICE
  constexpr int MOST_QUERIES = 40;
  return shape.queries <= MOST_QUERIES ? Reference::DEVICE : Reference::HOST;
#else
  return Case::flop(shape) > MOST_FLOP_ON_HOST ? Reference::DEVICE : Reference::HOST;
#endif
}

int check_all_shapes(const std::vector<Variant>& variants, uint64_t seed, cudaStream_t stream) {
  int count = 0;
  for (const Shape& shape : shapes())
    for (const harness::Data data : {harness::Data::EXACT, harness::Data::UNIFORM}) {
      if (data == harness::Data::UNIFORM && harness::is_short()) continue;
#ifdef LADDER_CPU_DEVICE
      // Few for one kind of data: then small problems take several waves, and long ranges.
      cpu_device::settings().multiprocessors = data == harness::Data::EXACT ? 2 : 132;
#endif
      Case problem(shape, data, seed, reference_for(shape));
      harness::require_ok(harness::check_each(problem, variants, stream),
                          fmt::format(", {}, {} data", text(shape), harness::name(data)));
      count += static_cast<int>(variants.size());
    }
  return count;
}

void run_variants(const char* stage, std::vector<Variant> variants, const Options& o,
                  const harness::Machine& machine) {
  const harness::Data data = o.data == "exact" ? harness::Data::EXACT : harness::Data::UNIFORM;
  require_valid(Attention{o.shape.batch, o.shape.heads, o.shape.kv_heads, o.shape.queries,
                          o.shape.keys, o.shape.width, nullptr, nullptr, nullptr, nullptr});
  const auto& [device, l2_bytes, stream] = machine;
  const int sets = harness::sets_beyond_l2(Case::bytes_per_set(o.shape), l2_bytes);
  Case problem(o.shape, data, o.seed, reference_for(o.shape), sets);
#ifndef LADDER_CPU_DEVICE
  if (o.cudnn) variants.push_back(cudnn(problem.problem(0, stream)));
#endif

  const std::vector<harness::Checked> results = harness::check_each(problem, variants, stream);
  uint64_t workspace = 0;
  for (const Variant& variant : variants) {
    if (variant.workspace_bytes)
      workspace = std::max(workspace, variant.workspace_bytes(problem.problem(0, stream)));
  }
  problem.make_workspace(workspace);

  std::vector<harness::Timing> times;
#ifndef LADDER_CPU_DEVICE
  if (!o.check_alone) {
    std::vector<harness::LaunchOn> launches;
    for (const Variant& variant : variants)
      launches.push_back([&](int set) { variant.attention(problem.problem(set, stream)); });
    const size_t numbers = numbers_of_keys(o.shape);
    harness::DeviceBuffer<bf16> copied(o.copy ? numbers : 0);
    if (o.copy)
      launches.push_back([&](int set) {
        LADDER_CUDA_CHECK(cudaMemcpyAsync(copied.get(), problem.problem(set, stream).K,
                                          numbers * sizeof(bf16), cudaMemcpyDeviceToDevice,
                                          stream));
      });
    constexpr int WARMUP = 3;
    times = harness::time_interleaved(launches, {sets, WARMUP, o.iterations}, stream);
  }
#endif

  fmt::print("{}: attention, bf16, {}, {} data, on {}\n", stage, text(o.shape), o.data, device);
  std::vector<harness::Column> columns{
      {"TFLOP/s", "tflops", 2,
       [&](const harness::Timing& t) { return Case::flop(o.shape) / (t.median * 1e9); }},
      {"GB/s", "gbytes_per_s", 1,
       [&](const harness::Timing& t) { return Case::bytes_per_set(o.shape) / (t.median * 1e6); }}};
  if (o.cudnn)
    columns.push_back({"% of cuDNN", "percent_of_cudnn", 1, [&](const harness::Timing& t) {
                         return 100 * times[variants.size() - 1].median / t.median;
                       }});
  std::vector<harness::Beside> beside;
#ifndef LADDER_CPU_DEVICE
  if (times.size() > variants.size())
    beside.push_back({"a copy of K, read and written", "copy", times.back(),
                      2.0 * sizeof(bf16) * static_cast<double>(numbers_of_keys(o.shape))});
#endif
  const Shape& s = o.shape;
  harness::report(stage, machine, o,
                  {{"batch", s.batch},
                   {"heads", s.heads},
                   {"kv_heads", s.kv_heads},
                   {"queries", s.queries},
                   {"keys", s.keys},
                   {"width", s.width},
                   {"causal", s.causal}},
                  results, times, columns, beside);
}

}  // namespace

int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv) {
#ifdef LADDER_CPU_DEVICE
  cpu_device::settings().count = false;
#endif
  return harness::run_own(
      stage, variants, [&] { return parse(stage, variants, argc, argv); }, check_all_shapes,
      [&](const Options& options, const std::vector<Variant>& wanted,
          const harness::Machine& machine) { run_variants(stage, wanted, options, machine); });
}

}  // namespace ladder::attention_bench
