// Every variant of a stage at every kind of shape, on the GPU or on the CPU device. Linked with a
// stage's own main instead of the harness's run(): the list of variants in stages/NN_name.cu is the
// list of what is tested.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>

#include "harness/buffers.h"
#include "harness/device.h"
#include "harness/harness.h"

namespace ladder::harness {
namespace {

template <class In, class Out>
struct Subject {
  Stage stage;
  Variant<In, Out> variant;
};

std::string to_string(Shape s) {
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
}

#ifdef LADDER_CPU_DEVICE
// Both orders of the threads of a block, on one and on two OS threads: what a kernel computes must
// depend on neither. Few multiprocessors make small problems take more than one wave. Races and
// stray accesses do not depend on them and take longer to look for: once, and with fewer shapes.
struct Configuration {
  const char* suffix;
  bool reverse;
  unsigned os_threads;
};
constexpr Configuration CONFIGURATIONS[] = {{"_forward_1", false, 1},
                                            {"_forward_2", false, 2},
                                            {"_reverse_1", true, 1},
                                            {"_reverse_2", true, 2}};
void configure(const Configuration& c) {
  cpu_device::settings().reverse = c.reverse;
  cpu_device::settings().os_threads = c.os_threads;
  cpu_device::settings().trace = !c.reverse && c.os_threads == 1;
  cpu_device::settings().multiprocessors = c.reverse ? 132 : 5;
}
bool fewer_shapes() {
  return cpu_device::settings().trace;
}
// Exact data shows any dependence on the order; random data, which need a reference in double, are
// for one configuration.
bool random_data() {
  return !cpu_device::settings().reverse && cpu_device::settings().os_threads == 2;
}
void expect_no_findings(const std::string& where) {
  for (const cpu_device::Finding& f : cpu_device::take_findings())
    ADD_FAILURE() << where << ": " << f.what;
}
#else
struct Configuration {
  const char* suffix;
};
constexpr Configuration CONFIGURATIONS[] = {{""}};
void configure(const Configuration&) {}
bool fewer_shapes() {
  return false;
}
// scripts/sanitize.sh sets it: the accesses that compute-sanitizer looks at depend on no data, and
// take longer.
bool under_sanitizer() {
  return std::getenv("LADDER_SANITIZER") != nullptr;
}
bool random_data() {
  return !under_sanitizer();
}
void expect_no_findings(const std::string&) {}
#endif

// Runs the variant on `shape` with both kinds of data and checks all of C and around it.
template <class In, class Out>
void expect_correct(const Subject<In, Out>& subject, Shape shape, Padding padding = {}) {
  for (const Data data : {Data::EXACT, Data::UNIFORM}) {
    if (data == Data::UNIFORM && !random_data()) continue;
    const Problem<In, Out> problem(shape, data, 7, padding);
    BufferSets<In, Out> sets(problem, 1, {subject.variant});
    const Output<Out> output = sets.run_poisoned(subject.variant, nullptr);
    const Verdict verdict = verify(output, reference_output(problem), problem.bound());
    EXPECT_TRUE(verdict.ok) << to_string(shape) << (data == Data::EXACT ? " exact: " : " random: ")
                            << verdict.message;
    expect_no_findings(to_string(shape));
  }
}

template <class In, class Out>
void smallest(const Subject<In, Out>& subject) {
  expect_correct(subject, {1, 1, 1});
}

template <class In, class Out>
void primes(const Subject<In, Out>& subject) {
  expect_correct(subject, {67, 131, 45});
  expect_correct(subject, {257, 263, 251});
  expect_correct(subject, {521, 53, 71});  // 11 takes clusters
}

template <class In, class Out>
void thin(const Subject<In, Out>& subject) {
  expect_correct(subject, {1, 300, 70});
  expect_correct(subject, {300, 1, 70});
  expect_correct(subject, {300, 70, 1});
  expect_correct(subject, {3, 5, 2000});
}

// One less, the same and one more than a tile in each dimension, for tiles that divide by those of
// the stages: a stage's own tile is one of them or a divisor of one.
template <class In, class Out>
void tile_edges(const Subject<In, Out>& subject) {
  for (const Shape tile : {Shape{32, 32, 32}, Shape{128, 64, 16}, Shape{256, 128, 64}})
    for (int m = -1; m <= 1; ++m)
      for (int n = -1; n <= 1; ++n)
        for (int k = -1; k <= 1; ++k) expect_correct(subject, {tile.m + m, tile.n + n, tile.k + k});
}

// From one k tile to more than any pipeline is deep: full, almost full and just begun.
template <class In, class Out>
void depths(const Subject<In, Out>& subject) {
  for (int k = 1; k <= 66; k += fewer_shapes() ? 13 : 1) expect_correct(subject, {40, 36, k});
  for (int k = 67; k <= 330; k += 13) expect_correct(subject, {40, 36, k});
}

template <class In, class Out>
void empty(const Subject<In, Out>& subject) {
  expect_correct(subject, {0, 50, 20});  // nothing is written
  expect_correct(subject, {50, 0, 20});
  expect_correct(subject, {50, 70, 0});  // zeros are
  expect_correct(subject, {0, 0, 0});
}

template <class In, class Out>
void leading_dimensions(const Subject<In, Out>& subject) {
  const int64_t unit = PER_16_BYTES<In>;
  expect_correct(subject, {67, 131, 45}, {unit, 2 * unit, 3 * unit});
  expect_correct(subject, {256, 128, 64}, {5 * unit, unit, unit});
  if (!subject.stage.aligned_rows) expect_correct(subject, {67, 131, 45}, {1, 2, 3});
}

#ifndef LADDER_CPU_DEVICE
// The launch goes to the stream it was given: while that stream is held up, C does not change.
template <class In, class Out>
void stream(const Subject<In, Out>& subject) {
  const Problem<In, Out> problem({200, 100, 50}, Data::EXACT, 7);
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
// too early was not seen.
template <class In, class Out>
void waves(const Subject<In, Out>& subject) {
  expect_correct(subject, {60000, 64, 70});
  expect_correct(subject, {17000, 123, 70});
  expect_correct(subject, {17000, 187, 70});
  expect_correct(subject, {25500, 250, 70});
  expect_correct(subject, {60000, 56, 70});
  expect_correct(subject, {17000, 115, 70});
  expect_correct(subject, {17000, 179, 70});
  expect_correct(subject, {25500, 227, 70});
}

// 2,000 launches that nothing separates, of 20 shapes that are as different as chance has it; 200
// under compute-sanitizer.
template <class In, class Out>
void back_to_back(const Subject<In, Out>& subject) {
  constexpr int SHAPES = 20;
  const int rounds = under_sanitizer() ? 10 : 100;
  std::mt19937 random(7);
  const auto size = [&] { return std::uniform_int_distribution(1, 600)(random); };
  std::vector<std::unique_ptr<Problem<In, Out>>> problems;
  std::vector<std::unique_ptr<BufferSets<In, Out>>> sets;
  std::vector<Output<Out>> references;
  for (int i = 0; i < SHAPES; ++i) {
    const Shape shape{size(), size(), size()};
    problems.push_back(std::make_unique<Problem<In, Out>>(shape, Data::EXACT, random()));
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

// Offsets beyond 2^31 elements in A, B and C, by rows that are 2^26 elements apart.
template <class In, class Out>
void large_offsets(const Subject<In, Out>& subject) {
  constexpr int SIZE = 40;
  constexpr int64_t LD = int64_t{1} << 26;
  size_t available = 0, total = 0;
  LADDER_CUDA_CHECK(cudaMemGetInfo(&available, &total));
  const size_t needed = (2 * sizeof(In) + sizeof(Out)) * SIZE * LD;
  if (needed > available)
    GTEST_SKIP() << "needs " << needed << " bytes of device memory, has " << available;

  const Problem<In, Out> problem({SIZE, SIZE, SIZE}, Data::EXACT, 7);
  DeviceBuffer<In> a(SIZE * LD), b(SIZE * LD);
  DeviceBuffer<Out> c(SIZE * LD);
  const auto upload = [](In* to, const std::vector<In>& from, int64_t ld) {
    LADDER_CUDA_CHECK(cudaMemcpy2D(to, LD * sizeof(In), from.data(),
                                   static_cast<size_t>(ld) * sizeof(In), SIZE * sizeof(In), SIZE,
                                   cudaMemcpyHostToDevice));
  };
  upload(a.get(), problem.a, problem.lda);
  upload(b.get(), problem.b, problem.ldb);
  Gemm<In, Out> p{SIZE, SIZE, SIZE, a.get(), LD, b.get(), LD, c.get(), LD, nullptr};
  if (subject.variant.workspace_bytes) p.workspace_bytes = subject.variant.workspace_bytes(p);
  DeviceBuffer<unsigned char> workspace(p.workspace_bytes);
  p.workspace = workspace.get();
  subject.variant.gemm(p);
  Output<Out> output = problem.make_output();
  output.poison();
  LADDER_CUDA_CHECK(cudaMemcpy2D(output.row(0), static_cast<size_t>(output.ld) * sizeof(Out),
                                 c.get(), LD * sizeof(Out), SIZE * sizeof(Out), SIZE,
                                 cudaMemcpyDeviceToHost));
  const Verdict verdict = verify(output, reference_output(problem), problem.bound());
  EXPECT_TRUE(verdict.ok) << verdict.message;
}

#endif

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

template <class In, class Out>
void refusals(const Subject<In, Out>& subject) {
  const Problem<In, Out> problem({32, 32, 32}, Data::EXACT, 7, {32, 32, 32});
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
  refuses([](auto& p) { p.lda = 16; }, "lda is 16");
  refuses([](auto& p) { p.ldb = 16; }, "ldb is 16");
  refuses([](auto& p) { p.ldc = 16; }, "ldc is 16");
  if (good.workspace_bytes > 0) {
    refuses([](auto& p) { --p.workspace_bytes; }, "the workspace has ");
    refuses([](auto& p) { p.workspace = nullptr; }, "the workspace has 0 bytes");
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

}  // namespace

template <class In, class Out>
int run(const Stage& stage, const std::vector<Variant<In, Out>>& variants, int argc, char** argv,
        const std::vector<Variant<In, Out>>& configurations) {
  std::vector<Variant<In, Out>> subjects = variants;
  subjects.insert(subjects.end(), configurations.begin(), configurations.end());
  testing::InitGoogleTest(&argc, argv);
#ifndef LADDER_CPU_DEVICE
  try {
    select_device(0, stage.compute_capability, stage.no_other);
  } catch (const NoDevice& error) {
    std::cout << stage.name << ": " << error.what() << "\n";
    return EXIT_NO_DEVICE;
  }
#endif
  for (const auto& variant : subjects) {
    const auto add = [&](const std::string& name, typename StageTest<In, Out>::Body body) {
      const Subject<In, Out> subject{stage, variant};
      const std::string suite = stage.name + "." + variant.name;
      for (const Configuration& configuration : CONFIGURATIONS)
        testing::RegisterTest(suite.c_str(), (name + configuration.suffix).c_str(), nullptr,
                              nullptr, __FILE__, __LINE__, [=]() -> testing::Test* {
                                return new StageTest<In, Out>(subject, body, configuration);
                              });
    };
    add("smallest", smallest);
    add("primes", primes);
    add("thin", thin);
    add("tile_edges", tile_edges);
    add("depths", depths);
    add("empty", empty);
    add("leading_dimensions", leading_dimensions);
    add("refusals", refusals);
#ifndef LADDER_CPU_DEVICE
    add("waves", waves);
    add("back_to_back", back_to_back);
    add("stream", stream);
    add("large_offsets", large_offsets);
#endif
  }
  return RUN_ALL_TESTS();
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template int run(const Stage&, const std::vector<Variant<In, Out>>&, int, char**, \
                   const std::vector<Variant<In, Out>>&);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
