// Kernels that are compiled at run time, on a GPU: their results, the choice and tuning.
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "harness/is_short.h"
#include "harness/problem.h"
#include "harness/verify.h"
#include "jit.h"

namespace ladder::jit {
namespace {

using harness::BufferSets;
using harness::Data;
using harness::EpilogueChoice;
using harness::GemmFunction;
using harness::Layout;
using harness::LAYOUTS;
using harness::Number;
using harness::Shape;
using tuned::Candidate;
using tuned::Kernel;
template <class T>
using Problem = ladder::Gemm<T, T>;
using HalfGemm = Problem<half>;

class JitGpu : public GpuTest<90, true> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    std::string name = (std::filesystem::temp_directory_path() / "ladder_jit_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("LADDER_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

// A problem of integers with what has to come of it, exactly.
template <class T>
struct Case {
  harness::Problem<T, T> problem;
  harness::Output<T> reference = reference_output(problem);
  BufferSets<T, T> sets{problem, 1};

  explicit Case(Shape shape, harness::Padding padding = {}, const EpilogueChoice& choice = {},
                Layout layout = {})
      : problem(shape, Data::EXACT, 24, padding, harness::Sums::FP32, choice, layout) {}

  void expect_right(const std::string& where, const GemmFunction<T, T>& gemm,
                    cudaStream_t stream = nullptr) {
    const harness::Verdict verdict =
        verify(sets.run_poisoned(gemm, stream), reference, [](int, int, double) { return 0.0; });
    EXPECT_TRUE(verdict.ok) << where << " in " << Number<T>::NAME << " " << name(problem.layout)
                            << " at " << problem.shape.m << "x" << problem.shape.n << "x"
                            << problem.shape.k << ": " << verdict.message;
  }
};

// Ragged in M and N, in N to the element, with padding, several tiles and several waves.
const Shape SHAPES[] = {
    {1, 1, 1}, {100, 130, 72}, {333, 517, 200}, {512, 1024, 64}, {4000, 2001, 70}};

template <class T>
void products() {
  std::vector<Gemm<T>> gemms;
  for (const Candidate& tile : {Candidate{Kernel::FIT_THE_WAVES, 152, 256, 1, 1, 1, 1},
                                Candidate{Kernel::FIT_THE_WAVES, 64, 128, 2, 2, 1, 1},
                                Candidate{Kernel::FIT_THE_WAVES, 40, 128, 1, 2, 1, 1},
                                Candidate{Kernel::PING_PONG, 128, 128, 1, 1, 1, 1},
                                Candidate{Kernel::PING_PONG, 64, 64, 2, 1, 1, 1},
                                Candidate{Kernel::FEW_ROWS, 16, 64, 1, 1, 1, 1},
                                Candidate{Kernel::FEW_ROWS, 8, 128, 1, 1, 2, 2},
                                Candidate{Kernel::FEW_ROWS, 64, 64, 1, 1, 8, 1}})
    gemms.push_back(compile(Problem<T>{}, tile));
  for (const Shape shape : SHAPES) {
    Case<T> problem(shape, {8, 16, 24});
    for (const Gemm<T>& gemm : gemms) problem.expect_right(name(gemm.tile()), gemm);
  }
}
TEST_F(JitGpu, ProductsInFp16) {
  products<half>();
}
TEST_F(JitGpu, ProductsInBf16) {
  products<bf16>();
}

// As the harness does it by itself: the user's code has to read the right column and row.
template <class T>
void epilogues(Layout layout, const std::vector<Candidate>& tiles) {
  struct Arguments {
    const T* bias;
    const float* row_scale;
    const T* residual;
    int64_t ld;
  };
  const std::string type = std::is_same_v<T, half> ? "half" : "bf16";
  const Epilogue epilogue{
      "x = row_scale[m] * x + float(bias[n]);\n"
      "return fmaxf(x, 0) + float(residual[m * ld + n]);",
      "const " + type + "* bias; const float* row_scale; const " + type +
          "* residual; int64_t ld;"};
  EpilogueChoice choice = harness::bias_and(Activation::RELU);
  choice.scale = harness::Scale::ROW;
  choice.residual = true;
  Problem<T> stored{};
  stored.transposed_a = layout.transposed_a, stored.transposed_b = layout.transposed_b;
  std::vector<Gemm<T>> gemms;
  for (const Candidate& tile : tiles)
    gemms.push_back(compile(stored, tile, epilogue, sizeof(Arguments)));
  for (const Shape shape : SHAPES) {
    Case<T> problem(shape, {8, 16, 24}, choice, layout);
    for (const Gemm<T>& gemm : gemms)
      problem.expect_right(name(gemm.tile()), [&](const Problem<T>& p) {
        Problem<T> product = p;
        product.epilogue = {};
        const auto& e = p.epilogue;
        gemm(product, Arguments{e.bias, e.row_scale, e.residual, e.ld_residual});
      });
  }
}
TEST_F(JitGpu, Epilogues) {
  epilogues<half>({}, {{Kernel::FIT_THE_WAVES, 104, 256, 1, 1, 1, 1},
                       {Kernel::FIT_THE_WAVES, 64, 128, 1, 2, 1, 1},
                       {Kernel::PING_PONG, 56, 64, 1, 1, 1, 1},
                       {Kernel::PING_PONG, 128, 128, 2, 1, 1, 1},
                       {Kernel::FEW_ROWS, 16, 64, 1, 1, 2, 3},
                       {Kernel::FEW_ROWS, 232, 128, 1, 1, 3, 1}});
}
TEST_F(JitGpu, EpiloguesOfLinearLayers) {
  epilogues<bf16>({false, true}, {{Kernel::FEW_ROWS, 64, 64, 1, 1, 1, 1},
                                  {Kernel::FEW_ROWS, 72, 128, 1, 1, 4, 1}});
}
// 18's own epilogue is none: these are the only calls with one. A's last box is cut at 8 and at 168
// rows, and is whole at 64. Where time is short, each type has two layouts.
template <class T>
void epilogues_in_all_layouts() {
  for (const Layout layout : LAYOUTS)
    if (!harness::is_short() || layout.transposed_a == std::is_same_v<T, half>)
      epilogues<T>(layout, {{Kernel::FIT_THE_WAVES, 8, 128, 1, 1, 1, 1},
                            {Kernel::FIT_THE_WAVES, 64, 256, 1, 1, 1, 1},
                            {Kernel::FIT_THE_WAVES, 168, 256, 1, 1, 1, 1}});
}
TEST_F(JitGpu, EpiloguesInAllLayoutsInFp16) {
  epilogues_in_all_layouts<half>();
}
TEST_F(JitGpu, EpiloguesInAllLayoutsInBf16) {
  epilogues_in_all_layouts<bf16>();
}

template <class T>
void chooses_by_itself() {
  const Epilogue twice{"return x + x;"};
  for (const Layout layout : LAYOUTS)
    for (const Shape shape : {Shape{16, 512, 256}, Shape{500, 600, 128}}) {
      Case<T> problem(shape, {}, {}, layout);
      problem.expect_right("a product", [](const Problem<T>& p) { gemm(p); });
      for (int i = 0; i < shape.m; ++i)
        for (int j = 0; j < shape.n; ++j) {
          T& x = problem.reference.row(i)[j];
          x = Number<T>::from_float(2 * Number<T>::to_float(x));
        }
      problem.expect_right("twice", [&](const Problem<T>& p) { gemm(p, twice); });
    }
}
// One size in all layouts and both types: each has a choice of its own.
TEST_F(JitGpu, ChoosesByItself) {
  chooses_by_itself<half>();
  chooses_by_itself<bf16>();
}

template <class T>
void tunes_and_remembers(Layout layout, const std::filesystem::path& folder) {
  Case<T> problem({200, 512, 320}, {}, {}, layout);
  const Epilogue own{"return x;  // kernels that no other test has"};
  std::vector<Timed> timed;
  // Untouched by tuning: what is poison stays poison, and is written by the call after it.
  problem.expect_right("tuned", [&](const Problem<T>& p) {
    timed = tune(p, own);
    std::vector<T> c(static_cast<size_t>(p.M * p.ldc));
    LADDER_CUDA_CHECK(cudaMemcpy(c.data(), p.C, c.size() * sizeof(T), cudaMemcpyDeviceToHost));
    EXPECT_TRUE(
        std::all_of(c.begin(), c.end(), [](T x) { return std::isnan(Number<T>::to_float(x)); }));
    EXPECT_TRUE(chosen(p, own).tile() == timed.front().tile);
    gemm(p, own);
  });
  ASSERT_EQ(timed.size(), 8u);
  for (size_t i = 1; i < timed.size(); ++i) EXPECT_GE(timed[i].us, timed[i - 1].us);
  EXPECT_GT(timed.front().us, 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 9)
      << "eight kernels and the choice";
}
TEST_F(JitGpu, TunesAndRemembers) {
  tunes_and_remembers<half>({}, folder_);
}
TEST_F(JitGpu, TunesAndRemembersBf16Transposed) {
  tunes_and_remembers<bf16>({true, false}, folder_);
}

TEST_F(JitGpu, TwoThreadsOnTwoStreams) {
  const auto run = [](int columns) {
    cudaStream_t stream = nullptr;
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 20; ++i)
      Case<half>({64 + 8 * i, columns, 128})
          .expect_right(
              "in a thread", [](const HalfGemm& p) { gemm(p, {"return x;"}); }, stream);
    LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  };
  std::thread other(run, 200);
  run(300);
  other.join();
}

// A stream that is captured in CUDA's strictest mode, which lets no thread load anything.
class Capture {
 public:
  Capture() {
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    LADDER_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  }
  ~Capture() { cudaStreamDestroy(stream); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Throws where the capture has been lost.
  void launch() {
    cudaGraph_t graph = nullptr;
    LADDER_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable = nullptr;
    LADDER_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
    LADDER_CUDA_CHECK(cudaGraphLaunch(executable, stream));
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }

  cudaStream_t stream = nullptr;
};

TEST_F(JitGpu, TheFirstCallIsCaptured) {
  Case<half> problem({100, 200, 300});
  problem.expect_right("in a graph", [](HalfGemm p) {
    Capture capture;
    p.stream = capture.stream;
    gemm(p, {"return x;  // captured"});
    capture.launch();
  });
}

// The first call of its own stream, by the thread that captures and by another.
TEST_F(JitGpu, TheFirstCallBesideACaptureLeavesIt) {
  Case<half> problem({100, 200, 300});
  for (const bool is_other_thread : {false, true}) {
    Capture capture;
    const HalfGemm p = problem.sets.gemm(0, nullptr);
    const auto call = [&] {
      compile(p, {Kernel::PING_PONG, 32, 64, 1, 1, 1, 1},
              {std::string("return x;  // beside ") + (is_other_thread ? "a thread" : "a stream")});
    };
    if (is_other_thread)
      std::thread(call).join();
    else
      call();
    EXPECT_NO_THROW(capture.launch());
  }
}

TEST_F(JitGpu, RefusesByName) {
  const Candidate tile{Kernel::PING_PONG, 32, 64, 1, 1, 1, 1};
  HalfGemm p = Case<half>({8, 8, 8}).sets.gemm(0, nullptr);  // nobody gets as far as its matrices
  const auto error = [&](const auto& call) {
    try {
      call();
    } catch (const std::invalid_argument& refused) {
      return std::string(refused.what());
    }
    return std::string("no error");
  };
  const Gemm<half> plain = compile(p, tile),
                   half_slope = compile(p, tile, {"return x * a;", "float a;"}, 4);
  EXPECT_EQ(error([&] { plain(p, 1.0f); }),
            "the arguments have 4 bytes, but this kernel was compiled for 0");
  EXPECT_EQ(error([&] { half_slope(p); }),
            "the arguments have 0 bytes, but this kernel was compiled for 4");
  p.K = 0;
  EXPECT_EQ(error([&] { half_slope(p, 1.0f); }),
            "K is 0, but this kernel's epilogue follows a product");
  p.K = 8, p.transposed_b = true;
  EXPECT_EQ(error([&] { plain(p); }),
            "B is transposed, but this kernel was compiled for one that is not");
  const Gemm<half> of_layout = compile(p, {Kernel::FIT_THE_WAVES, 64, 128, 1, 1, 1, 1});
  p.transposed_b = false;
  EXPECT_EQ(error([&] { of_layout(p); }),
            "B is not transposed, but this kernel was compiled for one that is");
  p.epilogue.alpha = 2;
  EXPECT_EQ(error([&] { plain(p); }), "this kernel has no epilogue: it computes A * B alone");
}

}  // namespace
}  // namespace ladder::jit
