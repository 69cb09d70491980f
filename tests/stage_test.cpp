// Every variant of a stage at every kind of shape, on the GPU or on the CPU device. Linked with a
// stage's own main instead of the harness's run(): the list of variants in stages/NN_name.cu is the
// list of what is tested.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <type_traits>

#include "harness/buffers.h"
#include "harness/device.h"
#include "harness/harness.h"
#include "harness/is_short.h"
#ifdef LADDER_CPU_DEVICE
  #include "harness/findings.h"
#endif

namespace ladder::harness {
namespace {

template <class In, class Out>
struct Subject {
  Stage stage;
  Variant<In, Out> variant;
  Layout layout;

  Problem<In, Out> problem(Shape shape, Data data, uint64_t seed, Padding padding = {},
                           const EpilogueChoice& epilogue = {},
                           const std::vector<int>& groups = {}) const {
    return {shape, data, seed, padding, stage.sums, epilogue, layout, groups};
  }
};

std::string to_string(Shape s) {
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
}

// How many edges of tiles and depths a test goes through, and how deep.
enum class Shapes { ALL, FEWER, FEWEST };
// The deepest K of the fewest: more than the buffers that a warp waits for have, in fp32 128.
template <class In>
constexpr int DEEP = std::is_same_v<In, float> ? 184 : 301;

#ifdef LADDER_CPU_DEVICE
// How the CPU device runs a launch, once for each thing that is looked for: races and stray
// accesses; results that depend on which blocks run at the same time, or on the order of a block's
// threads. Few multiprocessors make small problems take more than one wave. Exact data show any
// dependence on an order; random data differ in every bit, but need a bound.
struct Configuration {
  const char* suffix;
  bool trace, reverse;
  unsigned os_threads;
  int multiprocessors;
  Data data;
};
constexpr Configuration CONFIGURATIONS[] = {
  #ifndef LADDER_NO_TRACE  // with the sanitizers once will do: results are the other build's
    {"_traced", true, false, 1, 5, Data::EXACT},
    {"_reverse", false, true, 2, 132, Data::EXACT},
  #endif
    {"_forward", false, false, 2, 5, Data::UNIFORM},
};
Data only_data;
void configure(const Configuration& c) {
  cpu_device::settings().trace = c.trace;
  cpu_device::settings().count = false;
  cpu_device::settings().reverse = c.reverse;
  cpu_device::settings().os_threads = c.os_threads;
  cpu_device::settings().multiprocessors = c.multiprocessors;
  only_data = c.data;
}
// All of them once, and fewer, which are ragged, too, where the sanitizers make each take several
// times as long, and of what other stages' kernels do with numbers that the CPU device multiplies
// quicker.
template <class In>
Shapes shapes() {
  if (is_short()) return Shapes::FEWEST;
  #ifndef LADDER_NO_TRACE
  const bool others_do = std::is_same_v<In, tf32> || std::is_integral_v<In>;
  if (!others_do && !cpu_device::settings().trace && !cpu_device::settings().reverse)
    return Shapes::ALL;
  #endif
  return Shapes::FEWER;
}
constexpr int EDGES_APART = 128;  // of tiles up to this width M and N are cut apart
bool uses(Data data) {
  return data == only_data;
}
// Every second tile of a block goes along K backwards from 11 on: how many blocks there are decides
// in which order a tile is added.
void be_as_large_as_an_h200() {
  cpu_device::settings().multiprocessors = 132;
}
// Its memory exists where it is touched.
size_t free_memory() {
  return SIZE_MAX;
}
void expect_no_findings(const std::string& where) {
  for (const std::string& finding : finding_texts()) ADD_FAILURE() << where << ": " << finding;
}
#else
struct Configuration {
  const char* suffix;
};
constexpr Configuration CONFIGURATIONS[] = {{""}};
void configure(const Configuration&) {}
template <class In>
Shapes shapes() {
  return is_short() ? Shapes::FEWEST : Shapes::ALL;
}
constexpr int EDGES_APART = 256;
// ./ladder sanitize sets it: the accesses that compute-sanitizer looks at depend on no data, and
// take longer.
bool under_sanitizer() {
  return std::getenv("LADDER_SANITIZER") != nullptr;
}
bool uses(Data data) {
  return data == Data::EXACT || !under_sanitizer();
}
void be_as_large_as_an_h200() {}
size_t free_memory() {
  size_t available = 0, total = 0;
  LADDER_CUDA_CHECK(cudaMemGetInfo(&available, &total));
  return available;
}
void expect_no_findings(const std::string&) {}
template <class In, class Out>
void watch(const Gemm<In, Out>&) {}
#endif

template <class Out>
bool all_zero(const Output<Out>& output) {
  for (int i = 0; i < output.rows; ++i)
    for (int j = 0; j < output.cols; ++j)
      if (Number<Out>::to_float(output.row(i)[j]) != 0) return false;
  return true;
}

// ".TN_bf16", or without what is usual: one layout, and results of one format.
template <class In, class Out>
std::string in_words(const Subject<In, Out>& subject) {
  const std::string type = TYPE_NAME<In, Out>;
  if (subject.stage.any_layout) return std::string(".") + name(subject.layout) + "_" + type;
  return type == Number<In>::NAME ? "" : "." + type;
}

// A problem's epilogue where the stage has one: by the shape, so that each body's shapes go round.
template <class Out>
EpilogueChoice epilogue_for(const Stage& stage, Shape shape, Data data) {
  if (std::is_same_v<Out, int8_t>) {
    EpilogueChoice choice = requantisation_for(shape.k);
    if (is_exact(data)) choice.alpha *= 1024;  // small integers
    choice.scale = shape.m % 2 == 0 ? Scale::NONE : Scale::COLUMN;
    choice.zero_point = 1 + shape.n % 100;
    return choice;
  }
  if (!stage.epilogue) return {};
  static const EpilogueChoice EXACT[] = {{1, 0, true, false, Scale::NONE, Activation::RELU},
                                         {2, -3, true, true, Scale::ROW, Activation::RELU},
                                         {},
                                         {-3, 0, true, false, Scale::COLUMN, Activation::NONE},
                                         {1, 1, false, false, Scale::NONE, Activation::NONE},
                                         {1, 0, false, true, Scale::NONE, Activation::RELU}};
  static const EpilogueChoice RANDOM[] = {
      {1, 0, true, false, Scale::NONE, Activation::GELU},
      {0.5f, -1.5f, true, true, Scale::ROW, Activation::SILU},
      {0.25f, 0, true, false, Scale::COLUMN, Activation::GELU_ERF},
      {0.125f, 0, false, true, Scale::ROW, Activation::GELU},
      {0.5f, 0.5f, false, false, Scale::COLUMN, Activation::RELU}};
  const size_t number = static_cast<size_t>(shape.m) * 31 + static_cast<size_t>(shape.n) * 17 +
                        static_cast<size_t>(shape.k) * 7;
  return is_exact(data) ? EXACT[number % std::size(EXACT)] : RANDOM[number % std::size(RANDOM)];
}

// The rows of groups where the stage takes them, `m` together: one product, two groups, or more
// with an empty one among them, by the shape.
std::vector<int> groups_for(const Stage& stage, Shape shape) {
  if (!stage.groups) return {};
  const int m = shape.m;
  switch ((m + shape.n + shape.k) % 4) {
    case 0:
      return {};
    case 1:
      return {m / 3, m - m / 3};
    case 2:
      return {m / 2, 0, m / 4, m - m / 2 - m / 4};
    default:
      return {0, m / 5, m / 7, m - m / 5 - m / 7, 0};
  }
}

// Runs the variant on `shape` with each kind of data and checks all of C and around it.
template <class In, class Out>
void expect_correct(const Subject<In, Out>& subject, Shape shape, Padding padding = {},
                    uint64_t seed = 7,
                    std::initializer_list<Data> kinds = {Data::EXACT, Data::UNIFORM}) {
  for (const Data data : kinds) {
    if (!uses(data)) continue;
    const Problem<In, Out> problem =
        subject.problem(shape, data, seed, padding, epilogue_for<Out>(subject.stage, shape, data),
                        groups_for(subject.stage, shape));
    const Output<Out> reference = reference_output(problem);
    const bool alone = problem.epilogue.choice.is_product_alone();
    const bool zeros = shape.m == 0 || shape.n == 0 || (shape.k == 0 && alone);
    if (alone || shape.m * shape.n > 100) {  // few results of ReLU may all be zeros
      ASSERT_EQ(zeros, all_zero(reference))
          << to_string(shape) << ": a kernel that stores zeros would pass";
    }
    BufferSets<In, Out> sets(problem, 1, {subject.variant});
    watch(sets.gemm(0, nullptr, subject.variant));
    const Output<Out> output = sets.run_poisoned(subject.variant, nullptr);
    const Verdict verdict =
        verify(output, reference, problem.bound(&reference, subject.variant.rounds));
    EXPECT_TRUE(verdict.ok) << to_string(shape) << (data == Data::EXACT ? " exact, " : " random, ")
                            << problem.epilogue.choice.formula() << ": " << verdict.message;
    expect_no_findings(to_string(shape));
  }
}

template <class In, class Out>
void smallest(const Subject<In, Out>& subject) {
  for (uint64_t seed : {2, 3, 4}) expect_correct(subject, {1, 1, 1}, {}, seed);  // 4, -2, 2 exactly
}

template <class In, class Out>
void primes(const Subject<In, Out>& subject) {
  if (shapes<In>() == Shapes::FEWEST) return expect_correct(subject, {137, 263, 37});
  expect_correct(subject, {67, 131, 45});
  expect_correct(subject, {257, 263, shapes<In>() == Shapes::ALL ? 251 : 71});
  expect_correct(subject, {521, 53, 71});  // 11 takes clusters
}

// An infinity and what is no number in A, in rows of their own, become what IEEE's arithmetic makes
// of them, also behind an epilogue, which multiplies by 0 like by any number, and change no other
// row.
template <class In, class Out>
void not_finite(const Subject<In, Out>& subject) {
  using Limits = std::numeric_limits<float>;
  const Layout layout = subject.layout;
  struct {
    Activation activation;
    float alpha;
  } const cases[] = {{Activation::NONE, 1}, {Activation::RELU, 1},     {Activation::GELU, 1},
                     {Activation::SILU, 1}, {Activation::GELU_ERF, 1}, {Activation::NONE, 0}};
  for (const auto& [activation, alpha] : cases) {
    EpilogueChoice epilogue{};
    epilogue.activation = activation;
    epilogue.alpha = alpha;
    if (!epilogue.is_product_alone() && !subject.stage.epilogue) break;
    Problem<In, Out> problem = subject.problem({40, 72, 64}, Data::EXACT, 7, {}, epilogue);
    const auto set = [&](int i, int k, float value) {
      problem
          .a[static_cast<size_t>(layout.transposed_a ? k * problem.lda + i : i * problem.lda + k)] =
          Number<In>::from_float(value);
    };
    if (std::isinf(Number<In>::to_float(Number<In>::from_float(Limits::infinity()))))
      set(3, 5, Limits::infinity());
    set(10, 7, Limits::quiet_NaN());
    BufferSets<In, Out> sets(problem, 1, {subject.variant});
    watch(sets.gemm(0, nullptr, subject.variant));
    const Output<Out> output = sets.run_poisoned(subject.variant, nullptr);
    const Output<Out> expected = reference_output(problem);
    int wrong = 0;
    for (int i = 0; i < 40; ++i)
      for (int j = 0; j < 72; ++j) {
        const double got = Number<Out>::to_float(output.row(i)[j]),
                     right = Number<Out>::to_float(expected.row(i)[j]);
        if (activation != Activation::NONE && activation != Activation::RELU &&
            std::isfinite(right))
          wrong += !std::isfinite(got);
        else
          wrong += !(got == right || (std::isnan(got) && std::isnan(right)));
      }
    EXPECT_EQ(0, wrong) << problem.epilogue.choice.formula();
    expect_no_findings("not finite");
  }
}

template <class In, class Out>
void thin(const Subject<In, Out>& subject) {
  const Shapes which = shapes<In>();
  const int k = which == Shapes::FEWEST && std::is_same_v<In, float> ? 37 : 70;
  expect_correct(subject, {1, 300, k});
  expect_correct(subject, {300, 1, k});
  expect_correct(subject, {300, 70, 1});
  const int deep = which == Shapes::ALL ? 2000 : which == Shapes::FEWER ? 700 : DEEP<In>;
  expect_correct(subject, {3, 5, deep});
}

// One less, the same and one more than a tile in each dimension, for tiles that divide by those of
// the stages: a stage's own tile is one of them or a divisor of one. With fewer shapes M, N and K
// are cut alike, and M and N in what takes the CPU device long: one more than a tile has blocks
// that are cut in M alone, in N alone, in both and in neither. (One less has those in both alone,
// which of the largest tile is then left out; and of it with the fewest shapes all but one more.)
template <class In, class Out>
void tile_edges(const Subject<In, Out>& subject) {
  const bool all = shapes<In>() == Shapes::ALL, fewest = shapes<In>() == Shapes::FEWEST;
  // In fp32 no tile is larger.
  const Shape largest =
      std::is_same_v<In, float> && !all ? Shape{128, 256, 32} : Shape{256, 256, 64};
  for (const Shape tile : {Shape{32, 32, 32}, Shape{128, 64, 16}, largest})
    for (int m = -1; m <= 1; ++m)
      for (int n = -1; n <= 1; ++n)
        for (int k = -1; k <= 1; ++k)
          if ((n == m || (all && tile.n <= EDGES_APART)) && (k == m || all) &&
              (m > (fewest ? 0 : -1) || all || tile.n <= EDGES_APART))
            expect_correct(subject, {tile.m + m, tile.n + n, tile.k + k});
}

// From one k tile to more than any pipeline is deep: full, almost full and just begun.
template <class In, class Out>
void depths(const Subject<In, Out>& subject) {
  const int apart = shapes<In>() == Shapes::ALL ? 1 : shapes<In>() == Shapes::FEWER ? 3 : 9;
  for (int k = 1; k <= 66; k += apart == 1 ? 1 : 13) expect_correct(subject, {40, 36, k});
  const int deep = apart == 9 ? DEEP<In> : 330;
  for (int k = 67; k <= deep; k += 13 * apart) expect_correct(subject, {40, 36, k});
}

template <class In, class Out>
void empty(const Subject<In, Out>& subject) {
  expect_correct(subject, {0, 50, 20});  // nothing is written
  expect_correct(subject, {50, 0, 20});
  expect_correct(subject, {50, 70, 0});  // zeros are, or what the epilogue makes of them
  if (subject.stage.epilogue)
    for (int n = 65; n < 70; ++n) expect_correct(subject, {50, n, 0});
  expect_correct(subject, {0, 0, 0});
}

template <class In, class Out>
void leading_dimensions(const Subject<In, Out>& subject) {
  const int64_t unit = PER_16_BYTES<In>;
  expect_correct(subject, {67, 131, 45}, {unit, 2 * unit, 3 * unit});
  const bool fewest = shapes<In>() == Shapes::FEWEST;
  expect_correct(subject, fewest ? Shape{128, 256, 32} : Shape{256, 128, 64},
                 {5 * unit, unit, unit});
  if (!subject.stage.aligned_rows) expect_correct(subject, {67, 131, 45}, {1, 2, 3});
}

// What random data give on an H200, bit for bit, on whichever device: the CPU device's tensor cores
// add as that GPU's do. What the file does not have is skipped, with the lines for it: those that
// an H200 prints belong there.
template <class In, class Out>
void as_on_an_h200(const Subject<In, Out>& subject) {
  if (!uses(Data::UNIFORM)) return;
  be_as_large_as_an_h200();
  std::set<std::string> known;
  std::ifstream file(LADDER_RESULTS_H200);
  for (std::string line; std::getline(file, line);) known.insert(line);
  const std::string name =
      subject.stage.name + " " + subject.variant.name + in_words(subject) + ": ";
  std::string unknown;
  for (const Shape shape :
       {Shape{128, 128, 128}, Shape{131, 97, 75}, Shape{192, 320, 96}, Shape{200, 300, 1000}}) {
    if (shape.k == 1000 && shapes<In>() == Shapes::FEWEST) continue;
    const Problem<In, Out> problem = subject.problem(shape, Data::UNIFORM, 7);
    const Output<Out> output =
        BufferSets<In, Out>(problem, 1, {subject.variant}).run_poisoned(subject.variant, nullptr);
    uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a, an element at a time
    for (int i = 0; i < shape.m; ++i)
      for (int j = 0; j < shape.n; ++j) {
        uint32_t bits = 0;
        std::memcpy(&bits, &output.row(i)[j], sizeof(Out));
        hash = (hash ^ bits) * 0x100000001B3u;
      }
    const std::string key = name + to_string(shape) + " = ", line = key + std::to_string(hash);
    const auto next = known.lower_bound(key);
    if (next == known.end() || next->rfind(key, 0) != 0)
      unknown += "\n" + line;
    else
      EXPECT_EQ(line, *next);
  }
  if (!unknown.empty()) GTEST_SKIP() << unknown;
}

#ifndef LADDER_CPU_DEVICE
// The launch goes to the stream it was given: while that stream is held up, C does not change.
template <class In, class Out>
void stream(const Subject<In, Out>& subject) {
  const Problem<In, Out> problem = subject.problem({200, 100, 50}, Data::EXACT, 7);
  BufferSets<In, Out> sets(problem, 1, {subject.variant});
  cudaStream_t stream = nullptr;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::atomic<bool> go = false;
  // Loads the kernel, which a held stream would block.
  subject.variant.gemm(sets.gemm(0, nullptr, subject.variant));
  const Output<Out> before = sets.run_poisoned([](const Gemm<In, Out>&) {}, nullptr);
  const Variant<In, Out> held_up(
      "",
      [&](const Gemm<In, Out>& p) {
        LADDER_CUDA_CHECK(cudaLaunchHostFunc(
            stream,
            [](void* flag) {
              while (!*static_cast<std::atomic<bool>*>(flag)) {
              }
            },
            &go));
        subject.variant.gemm(p);
        LADDER_CUDA_CHECK(cudaStreamSynchronize(nullptr));
        Output<Out> held = problem.make_output();
        LADDER_CUDA_CHECK(cudaMemcpy(held.memory.data(), p.C - GUARD,
                                     held.memory.size() * sizeof(Out), cudaMemcpyDeviceToHost));
        EXPECT_EQ(0, std::memcmp(held.memory.data(), before.memory.data(),
                                 held.memory.size() * sizeof(Out)))
            << "C was written before its stream got there";
        go = true;
      },
      subject.variant.workspace_bytes);
  const Output<Out> after = sets.run_poisoned(held_up, stream);
  LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  EXPECT_TRUE(verify(after, reference_output(problem), problem.bound()).ok);
}

// More tiles than multiprocessors, and not a multiple, for each width of tile that a stage chooses,
// without and with clusters: 64, 128, 192 and 256 columns, on 132 multiprocessors. At 64, where a
// warp has one buffer to store from, there are four tiles a block: with two, a buffer overwritten
// too early was not seen. What comes from another tile is wrong with any data: each shape has one
// kind. With the fewest shapes each width has one shape, and exact and random data alternate.
template <class In, class Out>
void waves(const Subject<In, Out>& subject) {
  const Shape some[][2] = {{{60000, 64, 70}, {60000, 56, 70}},
                           {{17000, 123, 70}, {17000, 115, 70}},
                           {{17000, 187, 70}, {17000, 179, 70}},
                           {{25500, 250, 70}, {25500, 227, 70}}};
  for (int width = 0; width < 4; ++width)
    for (int i = 0; i < 2; ++i)
      if (!is_short() || i == width % 2)
        expect_correct(subject, some[width][i], {}, 7,
                       {i == 0 || under_sanitizer() ? Data::EXACT : Data::UNIFORM});
}

// 1,000 shapes, or 200, as many of one digit as of three in each dimension.
template <class In, class Out>
void random_shapes(const Subject<In, Out>& subject) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> digits(0, std::log10(700));
  const auto size = [&] { return static_cast<int>(std::pow(10, digits(random))); };
  const int count = is_short() ? 200 : 1000;
  for (int i = 0; i < count; ++i) {
    const Shape shape{size(), size(), size()};
    const Data data = i % 2 == 0 ? Data::EXACT : Data::UNIFORM;
    const Problem<In, Out> problem =
        subject.problem(shape, data, random(), {}, epilogue_for<Out>(subject.stage, shape, data),
                        groups_for(subject.stage, shape));
    const Output<Out> reference = reference_output(problem);
    const Output<Out> output =
        BufferSets<In, Out>(problem, 1, {subject.variant}).run_poisoned(subject.variant, nullptr);
    const Verdict verdict =
        verify(output, reference, problem.bound(&reference, subject.variant.rounds));
    ASSERT_TRUE(verdict.ok) << to_string(shape) << ": " << verdict.message;
  }
}

// 2,000 launches that nothing separates, of 20 shapes that are as different as chance has it; 400
// with the fewest shapes, and 200 under compute-sanitizer.
template <class In, class Out>
void back_to_back(const Subject<In, Out>& subject) {
  constexpr int SHAPES = 20;
  const int rounds = under_sanitizer() ? 10 : is_short() ? 20 : 100;
  std::mt19937 random(7);
  const auto size = [&] { return std::uniform_int_distribution(1, 600)(random); };
  std::vector<std::unique_ptr<Problem<In, Out>>> problems;
  std::vector<std::unique_ptr<BufferSets<In, Out>>> sets;
  std::vector<Output<Out>> references;
  for (int i = 0; i < SHAPES; ++i) {
    const Shape shape{size(), size(), size()};
    problems.push_back(
        std::make_unique<Problem<In, Out>>(subject.problem(shape, Data::EXACT, random())));
    sets.push_back(std::make_unique<BufferSets<In, Out>>(
        *problems.back(), 1, std::vector<Variant<In, Out>>{subject.variant}));
  }
  const Variant<In, Out> all(
      "",
      [&](const Gemm<In, Out>&) {
        for (const auto& set : sets) subject.variant.gemm(set->gemm(0, nullptr, subject.variant));
      },
      subject.variant.workspace_bytes);
  for (int round = 0; round < rounds; ++round) {
    const size_t checked = static_cast<size_t>(round % SHAPES);
    const Problem<In, Out>& problem = *problems[checked];
    if (round < SHAPES) references.push_back(reference_output(problem));
    const Verdict verdict =
        verify(sets[checked]->run_poisoned(all, nullptr), references[checked], problem.bound());
    ASSERT_TRUE(verdict.ok) << to_string(problem.shape) << ": " << verdict.message;
  }
}

#endif

// Copies rows between a matrix in host memory and one in device memory.
enum class To { DEVICE, HOST };
template <class T>
void copy_rows(To to, T* device, int64_t device_ld, T* host, int64_t host_ld, int rows) {
  const size_t bytes = static_cast<size_t>(host_ld) * sizeof(T);
  for (int i = 0; i < rows; ++i) {
    T *const there = device + i * device_ld, *const here = host + i * host_ld;
    if (to == To::DEVICE)
      LADDER_CUDA_CHECK(cudaMemcpy(there, here, bytes, cudaMemcpyHostToDevice));
    else
      LADDER_CUDA_CHECK(cudaMemcpy(here, there, bytes, cudaMemcpyDeviceToHost));
  }
}

// Offsets that do not fit into 32 bits: of the rows from number `depth` on, and, for a stage whose
// tiles are so deep, what takes it from one tile along K to the next. (An offset along A's rows is
// less than K and always fits.)
template <class In, class Out>
void expect_correct_far_apart(const Subject<In, Out>& subject, int depth) {
  const int64_t ld = (int64_t{1} << 31) / depth;
  const int rows = depth + 5;
  const size_t elements = static_cast<size_t>(rows * ld);
  const size_t needed = elements * (2 * sizeof(In) + sizeof(Out)), available = free_memory();
  if (needed > available)
    GTEST_SKIP() << "needs " << needed << " bytes of device memory, has " << available;

  const int columns = subject.layout.transposed_b ? rows : 40;  // which are B's rows then
  Problem<In, Out> problem = subject.problem({rows, columns, rows}, Data::EXACT, 7, {64, 64, 64});
  const DeviceBuffer<In> a(elements), b(elements);
  const DeviceBuffer<Out> c(elements);
  Output<Out> output = problem.make_output();
  output.poison();
  copy_rows(To::DEVICE, a.get(), ld, problem.a.data(), problem.lda, rows);
  copy_rows(To::DEVICE, b.get(), ld, problem.b.data(), problem.ldb, rows);
  copy_rows(To::DEVICE, c.get(), ld, output.row(0), output.ld, rows);
  const BufferSets<In, Out> near(problem, 1);
  Gemm<In, Out> p = near.gemm(0, nullptr);
  p.A = a.get(), p.B = b.get(), p.C = c.get();
  p.lda = p.ldb = p.ldc = ld;
  if (subject.variant.workspace_bytes) p.workspace_bytes = subject.variant.workspace_bytes(p);
  const Workspace workspace(p.workspace_bytes);
  if (p.workspace_bytes > 0) p.workspace = workspace.get();
  watch(p);
  subject.variant.gemm(p);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  copy_rows(To::HOST, c.get(), ld, output.row(0), output.ld, rows);
  const Verdict verdict = verify(output, reference_output(problem), problem.bound());
  EXPECT_TRUE(verdict.ok) << "rows " << ld << " elements apart: " << verdict.message;
  expect_no_findings("rows " + std::to_string(ld) + " elements apart");
}

template <class In, class Out>
void large_offsets(const Subject<In, Out>& subject) {
  // In fp32 no tile is deeper than 32.
  const bool is_deep = !std::is_same_v<In, float> || shapes<In>() != Shapes::FEWEST;
  for (int depth = 8; depth <= (is_deep ? 128 : 32); depth *= 2)
    expect_correct_far_apart(subject, depth);
}

// The launcher must throw std::invalid_argument whose text contains `what`.
template <class In, class Out>
void expect_refused(const Subject<In, Out>& subject, const Gemm<In, Out>& p, const char* what) {
  try {
    subject.variant.gemm(p);
    ADD_FAILURE() << "accepted: " << what;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

// The addend may be C itself, as in BLAS; where the product would overwrite it, that is refused.
template <class In, class Out>
void in_place(const Subject<In, Out>& subject) {
  const Problem<In, Out> problem({200, 315, 70}, Data::EXACT, 7, {}, Sums::FP32,
                                 {2, -3, true, false, Scale::NONE, Activation::RELU});
  const auto n = static_cast<size_t>(problem.shape.n);
  const Variant<In, Out> variant("", [&](Gemm<In, Out> p) {
    for (int i = 0; i < p.M; ++i)
      LADDER_CUDA_CHECK(cudaMemcpy(p.C + i * p.ldc,
                                   &problem.epilogue.addend[static_cast<size_t>(i * p.ldc)],
                                   n * sizeof(Out), cudaMemcpyHostToDevice));
    p.epilogue.addend = p.C;
    if (subject.variant.rounds == Rounds::TWICE)
      expect_refused(subject, p, "the addend is C");
    else
      subject.variant.gemm(p);
  });
  BufferSets<In, Out> sets(problem, 1);
  watch(sets.gemm(0, nullptr));
  const Output<Out> output = sets.run_poisoned(variant, nullptr);
  const Output<Out> reference = reference_output(problem);
  const Verdict verdict = verify(output, reference, problem.bound(&reference));
  EXPECT_EQ(subject.variant.rounds == Rounds::ONCE, verdict.ok) << verdict.message;
  expect_no_findings("in place");
}

template <class In, class Out>
void refusals(const Subject<In, Out>& subject) {
  const Problem<In, Out> problem = subject.problem({32, 32, 32}, Data::EXACT, 7, {32, 32, 32});
  const BufferSets<In, Out> sets(problem, 1, {subject.variant});
  const Gemm<In, Out> good = sets.gemm(0, nullptr, subject.variant);
  const auto refuses = [&](auto change, const char* what) {
    Gemm<In, Out> bad = good;
    change(bad);
    expect_refused(subject, bad, what);
  };
  refuses([](auto& p) { ++p.A; }, "the address of A");
  refuses([](auto& p) { ++p.B; }, "the address of B");
  refuses([](auto& p) { ++p.C; }, "the address of C");
  refuses([](auto& p) { p.M = -1; }, "M is -1");
  refuses([](auto& p) { p.N = MAX_DIMENSION + 1; }, "N is 2147482624");
  refuses([](auto& p) { p.K = -7; }, "K is -7");
  if (!subject.stage.any_layout) {
    refuses([](auto& p) { p.transposed_a = true; }, "A is transposed");
    refuses([](auto& p) { p.transposed_b = !p.transposed_b; }, "B is ");
  }
  refuses([](auto& p) { p.lda = 16; }, "lda is 16");
  refuses([](auto& p) { p.ldb = 16; }, "ldb is 16");
  refuses([](auto& p) { p.ldc = 16; }, "ldc is 16");
  if (good.workspace_bytes > 0) {
    refuses([](auto& p) { --p.workspace_bytes; }, "the workspace has ");
    refuses([](auto& p) { p.workspace = nullptr; }, "the workspace has 0 bytes");
  }
  if (subject.stage.epilogue) {
    refuses([](auto& p) { p.epilogue.beta = 1; }, "beta is 1.000000, but there is no addend");
    refuses([](auto& p) { p.epilogue.residual = p.C, p.epilogue.ld_residual = 16; },
            "the leading dimension of the residual is 16");
    refuses(
        [](auto& p) { p.epilogue.beta = 1, p.epilogue.addend = p.C, p.epilogue.ld_addend = 65; },
        "the leading dimension of the addend is 65");
    refuses([](auto& p) { p.epilogue.bias = p.C + 1; }, "the address of the bias");
  } else if constexpr (std::is_same_v<Out, int8_t>) {
    refuses([](auto& p) { p.epilogue.beta = 1; }, "this kernel's epilogue has alpha");
    refuses([](auto& p) { p.epilogue.bias = p.C; }, "this kernel's epilogue has alpha");
    refuses([](auto& p) { p.epilogue.zero_point = 128; }, "the zero point is 128");
  } else {
    refuses([](auto& p) { p.epilogue.alpha = 2; }, "this kernel has no epilogue");
  }
  int ends[] = {8, 32};  // in memory that the kernel is not to see
  if (subject.stage.groups) {
    refuses([&](auto& p) { p.groups = {-1, ends, ends}; }, "there are -1 groups");
    refuses([&](auto& p) { p.groups = {2, nullptr, ends}; }, "but none in device memory");
    refuses(
        [&](auto& p) {
          p.groups = {3, nullptr, nullptr};
        },
        "M is 32, which is no multiple of the 3 groups");
    refuses([&](auto& p) { p.groups = {1, ends, ends}; }, "ends at row 8, but M is 32");
    ends[0] = 33;
    refuses([&](auto& p) { p.groups = {2, ends, ends}; }, "ends at row 32, but begins at row 33");
  } else {
    refuses([&](auto& p) { p.groups = {2, ends, ends}; }, "one product alone");
  }
  if (subject.stage.aligned_rows) {
    refuses([](auto& p) { ++p.lda; }, "lda is 65");
    refuses([](auto& p) { ++p.ldb; }, "ldb is 65");
    refuses([](auto& p) { ++p.ldc; }, "ldc is 65");
  }
}

template <class In, class Out>
class StageTest : public testing::Test {
 public:
  using Body = void (*)(const Subject<In, Out>&);
  StageTest(Subject<In, Out> subject, Body body, const Configuration& configuration)
      : subject_(std::move(subject)), body_(body), configuration_(configuration) {}

 private:
  void TestBody() override {
    configure(configuration_);
    body_(subject_);
  }

  Subject<In, Out> subject_;
  Body body_;
  Configuration configuration_;
};

template <class In, class Out>
void add_tests(const Stage& stage, const Contents<In, Out>& contents, Layout layout) {
  // Behind a pass that transposes: the same kernels.
  const bool is_turned = ALONG_K<In> && layout != USUAL_LAYOUT<In>;
  const std::vector<Variant<In, Out>>& variants = contents.variants;
  std::vector<Variant<In, Out>> subjects = variants;
  if (is_turned)
    subjects = {variants.back()};
  else
    subjects.insert(subjects.end(), contents.configurations.begin(), contents.configurations.end());
  for (size_t i = 0; i < subjects.size(); ++i) {
    const Subject<In, Out> subject{stage, subjects[i], layout};
    const auto add = [&](const std::string& name, typename StageTest<In, Out>::Body body) {
      const std::string suite = stage.name + "." + subject.variant.name + in_words(subject);
      for (const Configuration& configuration : CONFIGURATIONS)
        testing::RegisterTest(suite.c_str(), (name + configuration.suffix).c_str(), nullptr,
                              nullptr, __FILE__, __LINE__, [=]() -> testing::Test* {
                                return new StageTest<In, Out>(subject, body, configuration);
                              });
    };
    // Configurations differ in their tiles alone: the rest is their launcher's. On the CPU device
    // the depths and edges of all tiles would take minutes; there other tests run them at random
    // shapes. The sanitizers make even the primes take long.
    const bool is_configuration = i >= variants.size();
    add("smallest", smallest);
#ifdef LADDER_NO_TRACE
    if (is_configuration) continue;
#endif
    add("primes", primes);
    if (is_turned) {
      add("leading_dimensions", leading_dimensions);
      add("refusals", refusals);
      continue;
    }
#ifdef LADDER_CPU_DEVICE
    if (is_configuration) continue;
#endif
    add("depths", depths);
    add("tile_edges", tile_edges);
    if (is_configuration) continue;
    add("thin", thin);
    if constexpr (!std::is_integral_v<In>) add("not_finite", not_finite);
    add("empty", empty);
    add("leading_dimensions", leading_dimensions);
    add("refusals", refusals);
    if (stage.epilogue) add("in_place", in_place);
    add("large_offsets", large_offsets);
    // In fp32 without tensor cores a CPU's compiler rounds a * b before it adds, a GPU's does not.
    // What is made of integers is known without an H200.
#ifndef LADDER_NO_TRACE
    if constexpr (!std::is_same_v<In, float> && !std::is_integral_v<In>)
      add("as_on_an_h200", as_on_an_h200);
#endif
#ifndef LADDER_CPU_DEVICE
    add("waves", waves);
    add("back_to_back", back_to_back);
    add("stream", stream);
    if (i + 1 == variants.size()) add("random_shapes", random_shapes);
#endif
  }
}

// Of each layout that the stage takes.
template <class In, class Out>
void add_tests(const Stage& stage, const Contents<In, Out>& contents) {
  for (const Layout layout : LAYOUTS)
    if (stage.any_layout || layout == USUAL_LAYOUT<In>) add_tests(stage, contents, layout);
}
// A type that differs in its elements alone: on the CPU device, and where time is short, two
// layouts have each operand in either form.
template <class In, class Out>
void add_tests_of_second_type(const Stage& stage, const Contents<In, Out>& contents) {
  bool all = !stage.any_layout;
#ifndef LADDER_CPU_DEVICE
  all = all || !is_short();
#endif
  if (all) return add_tests(stage, contents);
  for (const Layout layout : {LAYOUTS[0], LAYOUTS[3]}) add_tests(stage, contents, layout);
}

// Calls add() for the tests and runs them.
template <class Add>
int run_tests([[maybe_unused]] const Stage& stage, int argc, char** argv, Add add) {
  testing::InitGoogleTest(&argc, argv);
#ifndef LADDER_CPU_DEVICE
  try {
    select_device(0, stage.compute_capability, stage.no_other);
  } catch (const NoDevice& error) {
    std::cout << stage.name << ": " << error.what() << "\n";
    return EXIT_NO_DEVICE;
  }
#endif
  add();
  return RUN_ALL_TESTS();
}

}  // namespace

template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc, char** argv,
        const std::vector<Variant<In, Out>>& configurations) {
  return run_tests(stage, argc, argv, [&] {
    add_tests(stage, Contents<In, Out>{variants, configurations});
  });
}

template <class In, class Out, class OtherIn, class OtherOut>
int run_type(const Stage& stage, const Contents<In, Out>& contents,
             const Contents<OtherIn, OtherOut>& other, int argc, char** argv) {
  return run_tests(stage, argc, argv, [&] {
    add_tests(stage, contents);
    add_tests_of_second_type(stage, other);
  });
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template int run(const Stage&, const std::vector<Variant<In, Out>>&, int, char**, \
                   const std::vector<Variant<In, Out>>&);
LADDER_FORMATS(INSTANTIATE)
#undef INSTANTIATE
#define INSTANTIATE(In, Out, OtherIn, OtherOut)                 \
  template int run_type(const Stage&, const Contents<In, Out>&, \
                        const Contents<OtherIn, OtherOut>&, int, char**);
LADDER_PAIRS(INSTANTIATE)

}  // namespace ladder::harness
