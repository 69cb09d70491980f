// The library on a GPU: every type, layout and epilogue against doubles and against cuBLAS; rows
// that begin anywhere; what it refuses; threads, graphs, and 10,000 calls that leave nothing.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "gemm.h"
#include "gpu_test.h"
#include "harness/buffers.h"
#include "harness/cublas.h"
#include "harness/is_short.h"
#include "library/launch.h"
#include "tuned/choice.h"

namespace ladder {

bool of_another_gpu();  // whether a kernel for 7.5 alone is there

namespace {

using harness::BufferSets;
using harness::Data;
using harness::EpilogueChoice;
using harness::Layout;
using harness::LAYOUTS;
using harness::Output;
using harness::Padding;
using harness::Problem;
using harness::Scale;
using harness::Shape;

using LibraryTest = GpuTest<80, false>;

bool has_wgmma() {
#if LADDER_HAS_WGMMA
  return library::has_kernels_of_wgmma();
#else
  return false;
#endif
}

std::string text(Shape s) {
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
}

// With as much workspace as it asks for, and not a byte more.
template <class In, class Out>
void expect_right(const Problem<In, Out>& problem, const Output<Out>& reference,
                  const GemmOptions& options = {}) {
  BufferSets<In, Out> sets(problem, 1);
  uint64_t bytes = 0;
  std::string reasons;
  const auto whole = [&](Gemm<In, Out> p) {
    bytes = workspace_bytes(p, options);
    reasons = explain(p, options);
    harness::Workspace workspace(bytes);
    if (bytes > 0) workspace.poison(p.stream), p.workspace = workspace.get();
    p.workspace_bytes = bytes;
    gemm(p, options);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(p.stream));
    if (bytes > 0) {
      EXPECT_EQ("", workspace.find_stray_write(bytes));
    }
  };
  const Output<Out> output = sets.run_poisoned(whole, nullptr);
  const auto verdict = verify(output, reference, problem.bound(&reference));
  EXPECT_TRUE(verdict.ok) << text(problem.shape) << ", " << name(problem.layout) << ", "
                          << problem.epilogue.choice.formula() << ": " << verdict.message << "\n"
                          << reasons;
}

// Where time is short, every second one.
std::vector<Shape> shapes() {
  std::vector<Shape> some;
  int i = 0;
  for (const Shape shape : {Shape{1, 1, 1}, Shape{67, 131, 45}, Shape{1, 300, 700},
                            Shape{300, 1, 70}, Shape{257, 263, 251}, Shape{16, 512, 300},
                            Shape{128, 256, 64}, Shape{521, 53, 71}, Shape{5, 0, 3}, Shape{0, 5, 3},
                            Shape{50, 70, 0}, Shape{768, 2000, 64}, Shape{200, 1000, 1100}})
    if (i++ % 2 == 0 || !harness::is_short()) some.push_back(shape);
  return some;
}

// Rows as far apart as the stages want them, further, and as they come: on no particular byte.
template <class T>
void every_layout() {
  for (const Layout layout : LAYOUTS)
    for (const Shape shape : shapes()) {
      const auto slack = [](int64_t ld, int width) { return width - ld; };
      const Padding contiguous = {slack(harness::leading_dimension_a<T>(shape, layout),
                                        layout.transposed_a ? shape.m : shape.k),
                                  slack(harness::leading_dimension_b<T>(shape, layout),
                                        layout.transposed_b ? shape.k : shape.n),
                                  slack(harness::leading_dimension<T>(shape.n), shape.n)};
      for (const Padding padding : {Padding{}, Padding{8, 16, 24}, Padding{1, 2, 3}, contiguous}) {
        const Problem<T, T> problem(shape, Data::EXACT, 7, padding, harness::Sums::FP32, {},
                                    layout);
        expect_right(problem, reference_output(problem));
      }
    }
}
TEST_F(LibraryTest, EveryLayoutInFp16) {
  every_layout<half>();
}
TEST_F(LibraryTest, EveryLayoutInBf16) {
  every_layout<bf16>();
}
TEST_F(LibraryTest, EveryLayoutInFp32) {
  every_layout<float>();
}

template <class T>
void every_epilogue() {
  const EpilogueChoice choices[] = {{1, 0, true, false, Scale::NONE, Activation::RELU},
                                    {2, -3, true, true, Scale::ROW, Activation::RELU},
                                    {-3, 0, true, false, Scale::COLUMN, Activation::NONE},
                                    {1, 1, false, false, Scale::NONE, Activation::NONE},
                                    {1, 0, false, true, Scale::NONE, Activation::RELU}};
  for (const Layout layout : LAYOUTS)
    for (const EpilogueChoice& choice : choices)
      for (const Shape shape : shapes())
        for (const Padding padding : {Padding{}, Padding{1, 2, 3}}) {
          const Problem<T, T> problem(shape, Data::EXACT, 7, padding, harness::Sums::FP32, choice,
                                      layout);
          expect_right(problem, reference_output(problem));
        }
}
TEST_F(LibraryTest, EveryEpilogueInFp16) {
  every_epilogue<half>();
}
TEST_F(LibraryTest, EveryEpilogueInBf16) {
  every_epilogue<bf16>();
}
TEST_F(LibraryTest, EveryEpilogueInFp32) {
  every_epilogue<float>();
}

// Functions that integers do not show.
template <class T>
void activations() {
  for (const Activation activation : {Activation::GELU, Activation::GELU_ERF, Activation::SILU})
    for (const Layout layout : {Layout{false, false}, Layout{false, true}})
      for (const Shape shape : {Shape{16, 512, 300}, Shape{300, 520, 200}}) {
        EpilogueChoice choice = harness::bias_and(activation);
        choice.alpha = 0.25f, choice.residual = true;
        const Problem<T, T> problem(shape, Data::UNIFORM, 7, {}, harness::Sums::FP32, choice,
                                    layout);
        expect_right(problem, reference_output(problem));
      }
}
TEST_F(LibraryTest, Activations) {
  activations<half>();
  activations<bf16>();
  activations<float>();
}

// C is the addend, or the residual.
template <class T>
void in_place() {
  const EpilogueChoice of_c[] = {{2, -3, true, false, Scale::NONE, Activation::RELU},
                                 {1, 0, true, true, Scale::NONE, Activation::RELU}};
  for (const Layout layout : LAYOUTS)
    for (const EpilogueChoice& choice : of_c)
      for (const Padding padding : {Padding{}, Padding{1, 2, 3}})
        for (const Shape shape : {Shape{16, 300, 200}, Shape{200, 315, 70}}) {
          const Problem<T, T> problem(shape, Data::EXACT, 7, padding, harness::Sums::FP32, choice,
                                      layout);
          BufferSets<T, T> sets(problem, 1);
          const auto whole = [&](Gemm<T, T> p) {
            const T*& from = choice.residual ? p.epilogue.residual : p.epilogue.addend;
            LADDER_CUDA_CHECK(cudaMemcpy2D(p.C, p.ldc * sizeof(T), from, p.ldc * sizeof(T),
                                           p.N * sizeof(T), p.M, cudaMemcpyDeviceToDevice));
            from = p.C;
            p.workspace_bytes = workspace_bytes(p);
            const harness::Workspace workspace(p.workspace_bytes);
            p.workspace = p.workspace_bytes > 0 ? workspace.get() : nullptr;
            gemm(p);
            LADDER_CUDA_CHECK(cudaStreamSynchronize(p.stream));
          };
          const Output<T> output = sets.run_poisoned(whole, nullptr);
          const Output<T> reference = reference_output(problem);
          const auto verdict = verify(output, reference, problem.bound(&reference));
          EXPECT_TRUE(verdict.ok) << text(shape) << ", " << name(layout) << ": " << verdict.message;
        }
}
TEST_F(LibraryTest, InPlace) {
  in_place<half>();
  in_place<bf16>();
  in_place<float>();
}

// Where nothing begins on 16 bytes: from an address that is one element further.
TEST_F(LibraryTest, AddressesOnNoParticularByte) {
  const Problem<half, half> problem({130, 70, 90}, Data::EXACT, 7, {8, 8, 8});
  BufferSets<half, half> sets(problem, 1);
  Gemm<half, half> p = sets.gemm(0, nullptr);
  // Of the same matrices all but the first row and the first column, which begin on odd elements.
  p.A += p.lda, --p.M, p.C += p.ldc + 1, --p.N, ++p.B;
  p.workspace_bytes = workspace_bytes(p);
  EXPECT_GT(p.workspace_bytes, 0u);
  const harness::Workspace workspace(p.workspace_bytes);
  p.workspace = workspace.get();
  gemm(p);
  std::vector<half> c(static_cast<size_t>(p.M * p.ldc));
  LADDER_CUDA_CHECK(cudaMemcpy(c.data(), p.C, c.size() * sizeof(half), cudaMemcpyDeviceToHost));
  for (int i = 0; i < p.M; ++i)
    for (int j = 0; j < p.N; ++j) {
      double sum = 0;
      for (int k = 0; k < p.K; ++k) sum += problem.at_a(i + 1, k) * problem.at_b(k, j + 1);
      ASSERT_EQ(sum, __half2float(c[static_cast<size_t>(i * p.ldc + j)])) << i << " " << j;
    }
}

// Larger ones, of random numbers, which cuBLAS multiplies in no time.
template <class T>
void as_cublas() {
  harness::Cublas cublas;
  for (const Layout layout : LAYOUTS)
    for (const Shape shape :
         {Shape{1, 4096, 4096}, Shape{64, 4096, 1024}, Shape{1000, 1000, 1000},
          Shape{2048, 1280, 512}, Shape{333, 2049, 1023}, Shape{256, 256, 8192}}) {
      const Problem<T, T> problem(shape, Data::UNIFORM, 7, {}, harness::Sums::FP32, {}, layout);
      BufferSets<T, T> sets(problem, 1);
      const Output<T> reference =
          sets.run_poisoned([&](const Gemm<T, T>& p) { cublas.gemm(p); }, nullptr);
      expect_right(problem, reference);
    }
}
TEST_F(LibraryTest, AsCublasInFp16) {
  as_cublas<half>();
}
TEST_F(LibraryTest, AsCublasInBf16) {
  as_cublas<bf16>();
}
TEST_F(LibraryTest, AsCublasInFp32) {
  as_cublas<float>();
}

// A thousand shapes of each layout, or a hundred, in turn in fp16 and bf16, against cuBLAS, to the
// bit.
TEST_F(LibraryTest, RandomShapesAreExact) {
  harness::Cublas cublas;
  std::mt19937 random(7);
  const auto up_to = [&](double most) {
    const double exponent = std::uniform_real_distribution<>(0, std::log2(most + 1))(random);
    return static_cast<int>(std::exp2(exponent));
  };
  const auto is_right = [&](auto element, Shape shape, Layout layout) {
    using T = decltype(element);
    const Problem<T, T> problem(shape, Data::EXACT, random(), {}, harness::Sums::FP32, {}, layout);
    BufferSets<T, T> sets(problem, 1);
    expect_right(problem, sets.run_poisoned([&](const Gemm<T, T>& p) { cublas.gemm(p); }, nullptr));
  };
  const int shapes_of_a_layout = harness::is_short() ? 100 : 1000;
  for (const Layout layout : LAYOUTS)
    for (int i = 0; i < shapes_of_a_layout && !HasFailure(); ++i) {
      const Shape shape = {up_to(3000), up_to(3000), up_to(6000)};
      if (i % 2)
        is_right(bf16{}, shape, layout);
      else
        is_right(half{}, shape, layout);
    }
}

#if LADDER_HAS_WGMMA
// Tiles that no stage has, whichever would be chosen: one tile, some, and some waves of them.
template <class T>
void more_heights(const Layout& layout) {
  harness::Cublas cublas;
  for (const Shape shape : {Shape{1, 128, 64}, Shape{333, 264, 1000}, Shape{3001, 2560, 328}}) {
    const Problem<T, T> problem(shape, Data::EXACT, 7, {}, harness::Sums::FP32, {}, layout);
    BufferSets<T, T> sets(problem, 1);
    const Output<T> reference =
        sets.run_poisoned([&](const Gemm<T, T>& p) { cublas.gemm(p); }, nullptr);
    for (const tuned::Candidate& c : tuned::MORE_HEIGHTS) {
      const auto launch = [&](const Gemm<T, T>& p) {
        layout.transposed_b ? library::launch_b_by_columns(c, p) : library::launch_product(c, p);
      };
      const auto verdict =
          verify(sets.run_poisoned(launch, nullptr), reference, problem.bound(&reference));
      EXPECT_TRUE(verdict.ok) << text(shape) << ", " << name(layout) << ", " << tuned::name(c)
                              << ": " << verdict.message;
    }
  }
}
TEST_F(LibraryTest, HeightsOfNoStageAreExact) {
  if (!has_wgmma()) GTEST_SKIP() << "the tiles are for sm_90a";
  for (const Layout layout : LAYOUTS)
    if (!layout.transposed_a) more_heights<half>(layout), more_heights<bf16>(layout);
}
#endif

// ---- A plan that is kept -----------------------------------------------------------------------

// What gemm() computes, to the bit, of matrices that come with the call.
template <class T>
void planned() {
  const EpilogueChoice choices[] = {{}, {2, -3, true, false, Scale::NONE, Activation::RELU}};
  for (const Layout layout : LAYOUTS)
    for (const EpilogueChoice& choice : choices) {
      for (const Shape shape : shapes())
        for (const Padding padding : {Padding{}, Padding{1, 2, 3}}) {
          const Problem<T, T> problem(shape, Data::UNIFORM, 7, padding, harness::Sums::FP32, choice,
                                      layout);
          BufferSets<T, T> sets(problem, 1);
          const auto computed = [&](bool is_planned) {
            const auto run = [&](Gemm<T, T> p) {
              p.workspace_bytes = workspace_bytes(p);
              const harness::Workspace workspace(p.workspace_bytes);
              p.workspace = p.workspace_bytes > 0 ? workspace.get() : nullptr;
              if (is_planned) {
                Gemm<T, T> later = p;
                later.A = later.B = nullptr, later.C = nullptr;
                const auto kept = plan(later);
                EXPECT_EQ(p.workspace_bytes, kept.workspace_bytes());
                for (int i = 0; i < 2; ++i) kept.run(p.A, p.B, p.C, p.stream, p.workspace);
              } else {
                gemm(p);
              }
              LADDER_CUDA_CHECK(cudaStreamSynchronize(p.stream));
            };
            return sets.run_poisoned(run, nullptr);
          };
          const Output<T> planned = computed(true), once = computed(false);
          for (int i = 0; i < shape.m; ++i)
            ASSERT_EQ(0, std::memcmp(planned.row(i), once.row(i), shape.n * sizeof(T)))
                << text(shape) << ", " << name(layout) << ", row " << i;
        }
    }
}
TEST_F(LibraryTest, PlansComputeWhatGemmDoes) {
  planned<half>();
  planned<bf16>();
  planned<float>();
}

// ---- The same bits ----------------------------------------------------------------------------

// Of what every way of the library computes, alone and while another stream is busy; of random
// numbers, whose sums tell the order in which they were added.
template <class T>
void same_bits(const GemmOptions& options) {
  cudaStream_t other = nullptr;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  const Problem<T, T> noise({1024, 1024, 1024}, Data::UNIFORM, 3);
  BufferSets<T, T> noise_sets(noise, 1);
  for (const Layout layout : LAYOUTS)
    for (const bool is_alone : {true, false}) {
      for (const Shape shape : {Shape{1, 4096, 4096}, Shape{16, 1000, 8192}, Shape{300, 300, 16384},
                                Shape{1000, 1000, 1000}, Shape{2048, 4096, 512}}) {
        const EpilogueChoice choice =
            is_alone ? EpilogueChoice{} : harness::bias_and(Activation::GELU);
        const Problem<T, T> problem(shape, Data::UNIFORM, 7, {}, harness::Sums::FP32, choice,
                                    layout);
        BufferSets<T, T> sets(problem, 1);
        const auto bits = [&](bool is_busy) {
          return sets.run_poisoned(
              [&](Gemm<T, T> p) {
                p.workspace_bytes = workspace_bytes(p, options);
                const harness::Workspace workspace(p.workspace_bytes);
                p.workspace = p.workspace_bytes > 0 ? workspace.get() : nullptr;
                if (is_busy)
                  for (int i = 0; i < 20; ++i) gemm(noise_sets.gemm(0, other));
                gemm(p, options);
                LADDER_CUDA_CHECK(cudaDeviceSynchronize());
              },
              nullptr);
        };
        const Output<T> first = bits(false);
        for (int again = 0; again < 4; ++again) {
          const Output<T> output = bits(again % 2 == 1);
          for (int i = 0; i < shape.m; ++i)
            ASSERT_EQ(0, std::memcmp(first.row(i), output.row(i), shape.n * sizeof(T)))
                << text(shape) << ", " << name(layout) << ", row " << i;
        }
      }
    }
  LADDER_CUDA_CHECK(cudaStreamDestroy(other));
}
TEST_F(LibraryTest, TheSameCallGivesTheSameBits) {
  for (const bool fixed_tile : {false, true}) {
    const GemmOptions options{fixed_tile};
    same_bits<half>(options);
    same_bits<bf16>(options);
    same_bits<float>(options);
  }
}

// With the fixed tile, however many rows there are beside it, and in every layout.
TEST_F(LibraryTest, WithTheFixedTileARowDoesNotDependOnTheOthers) {
  if (!has_wgmma()) GTEST_SKIP() << "the tile is for sm_90a";
  const GemmOptions options{true};
  constexpr Shape ALL{3000, 520, 2000};
  constexpr int ROW = 2111;
  for (const Layout layout : LAYOUTS) {
    const Problem<half, half> problem(ALL, Data::UNIFORM, 7, {}, harness::Sums::FP32, {}, layout);
    BufferSets<half, half> sets(problem, 1);
    const auto with_rows = [&](int rows) {
      return sets.run_poisoned(
          [&](Gemm<half, half> p) {
            if (rows < ALL.m) p.A += ROW * (layout.transposed_a ? 1 : p.lda), p.C += ROW * p.ldc;
            p.M = rows;
            p.workspace_bytes = workspace_bytes(p, options);
            const harness::Workspace workspace(p.workspace_bytes);
            p.workspace = p.workspace_bytes > 0 ? workspace.get() : nullptr;
            gemm(p, options);
            LADDER_CUDA_CHECK(cudaStreamSynchronize(p.stream));
          },
          nullptr);
    };
    const Output<half> all = with_rows(ALL.m);
    for (const int rows : {1, 16, 333, 800}) {
      const Output<half> some = with_rows(rows);
      for (int i = ROW; i < ROW + rows; ++i)
        ASSERT_EQ(0, std::memcmp(all.row(i), some.row(i), ALL.n * sizeof(half)))
            << name(layout) << ", " << rows << " rows, row " << i;
    }
  }
}

// ---- C by columns -----------------------------------------------------------------------------

template <class T>
void by_columns(const EpilogueChoice& choice) {
  constexpr GemmOptions BY_COLUMNS{false, true};
  for (const Layout layout : LAYOUTS)
    for (const Shape shape : shapes())
      for (const int more : {0, 1}) {
        const Problem<T, T> problem(shape, Data::EXACT, 7, {}, harness::Sums::FP32, choice, layout);
        const Output<T> reference = reference_output(problem);
        BufferSets<T, T> sets(problem, 1);
        Gemm<T, T> p = sets.gemm(0, nullptr);
        p.ldc = (shape.m + 7) / 8 * 8 + more;
        harness::DeviceBuffer<T> to(static_cast<size_t>(shape.n * p.ldc) + 8);
        to.fill(0xFF, nullptr);
        p.C = to.get();
        p.workspace_bytes = workspace_bytes(p, BY_COLUMNS);
        const harness::Workspace workspace(p.workspace_bytes);
        p.workspace = p.workspace_bytes > 0 ? workspace.get() : nullptr;
        for (const bool is_planned : {false, true}) {
          if (is_planned)
            plan(p, BY_COLUMNS).run(p.A, p.B, p.C, p.stream, p.workspace);
          else
            gemm(p, BY_COLUMNS);
          std::vector<T> c(static_cast<size_t>(shape.n * p.ldc) + 8);
          LADDER_CUDA_CHECK(cudaDeviceSynchronize());
          to.download(c);
          to.fill(0xFF, nullptr);
          for (int n = 0; n < shape.n; ++n) {
            for (int m = 0; m < shape.m; ++m)
              ASSERT_EQ(static_cast<float>(reference.row(m)[n]),
                        static_cast<float>(c[n * p.ldc + m]))
                  << text(shape) << ", " << name(layout) << ": " << m << " " << n;
            for (int64_t m = shape.m; m < p.ldc; ++m)
              for (size_t i = 0; i < sizeof(T); ++i)
                ASSERT_EQ(0xFF, reinterpret_cast<const unsigned char*>(&c[n * p.ldc + m])[i]);
          }
        }
      }
}
TEST_F(LibraryTest, CByColumns) {
  EpilogueChoice scaled{};
  scaled.alpha = 2, scaled.scale = Scale::ROW, scaled.activation = Activation::RELU;
  by_columns<half>({}), by_columns<half>(scaled);
  by_columns<bf16>({}), by_columns<bf16>(scaled);
  by_columns<float>({}), by_columns<float>(scaled);
}

// Of which sums are exact.
template <class T>
class Integers {
 public:
  std::vector<T> operator()(int64_t count) {
    std::vector<T> numbers(static_cast<size_t>(count));
    for (T& x : numbers) x = static_cast<T>(static_cast<float>(random_() % 5) - 2);
    return numbers;
  }

 private:
  std::mt19937 random_{7};
};

// ---- Batches -----------------------------------------------------------------------------------

// Each product as by itself, to the bit; with strides that leave gaps, that begin on any element,
// and with one B for all.
template <class T>
void batches() {
  constexpr int COUNT = 3;
  for (const Layout layout : LAYOUTS)
    for (const Shape shape : {Shape{1, 1, 1}, Shape{67, 131, 45}, Shape{200, 264, 320}})
      for (const int more : {0, 1, 8})
        for (const bool one_b : {false, true}) {
          const Problem<T, T> problem(shape, Data::EXACT, 7, {}, harness::Sums::FP32, {}, layout);
          BufferSets<T, T> sets(problem, 1);
          Gemm<T, T> p = sets.gemm(0, nullptr);
          const auto rounded = [&](int64_t rows, int64_t ld) {
            return (rows * ld + 7) / 8 * 8 + more;
          };
          const int64_t a = rounded(layout.transposed_a ? shape.k : shape.m, p.lda),
                        b = rounded(layout.transposed_b ? shape.n : shape.k, p.ldb),
                        c = rounded(shape.m, p.ldc);
          Integers<T> integers;
          harness::DeviceBuffer<T> as(COUNT * a), bs(COUNT * b), cs(COUNT * c), alone(COUNT * c);
          as.upload(integers(COUNT * a)), bs.upload(integers(COUNT * b));
          cs.fill(0xFF, nullptr), alone.fill(0xFF, nullptr);
          p.A = as.get(), p.B = bs.get(), p.C = cs.get();
          const GemmOptions options{false, false, {COUNT, a, one_b ? 0 : b, c}};
          p.workspace_bytes = workspace_bytes(p, options);
          const harness::Workspace workspace(p.workspace_bytes + 1);
          p.workspace = p.workspace_bytes > 0 ? workspace.get() : nullptr;
          gemm(p, options);
          for (int i = 0; i < COUNT; ++i) {
            Gemm<T, T> q = p;
            q.A += i * a, q.B += one_b ? 0 : i * b, q.C = alone.get() + i * c;
            q.workspace_bytes = workspace_bytes(q);
            const harness::Workspace own(q.workspace_bytes + 1);
            q.workspace = q.workspace_bytes > 0 ? own.get() : nullptr;
            gemm(q);
            LADDER_CUDA_CHECK(cudaDeviceSynchronize());
          }
          std::vector<T> got(COUNT * c), expected(COUNT * c);
          cs.download(got), alone.download(expected);
          ASSERT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)))
              << text(shape) << ", " << name(layout) << ", " << more;
        }
}
// Without gaps, which 21 takes in one launch: 65 small ones, ragged ones, and more than fill a GPU.
TEST_F(LibraryTest, BatchesThatLieTogetherAreTheirProducts) {
  for (const Shape shape : {Shape{64, 128, 192}, Shape{3, 200, 40}, Shape{100, 72, 520},
                            Shape{512, 512, 512}, Shape{1, 8, 8}}) {
    const int count = 65;
    const int64_t a = int64_t{shape.m} * shape.k, b = int64_t{shape.k} * shape.n,
                  c = int64_t{shape.m} * shape.n;
    Integers<half> integers;
    harness::DeviceBuffer<half> as(count * a), bs(count * b), cs(count * c), alone(count * c);
    as.upload(integers(count * a)), bs.upload(integers(count * b));
    cs.fill(0xFF, nullptr), alone.fill(0xFF, nullptr);
    Gemm<half, half> p{shape.m,  shape.n, shape.k,  as.get(), shape.k,
                       bs.get(), shape.n, cs.get(), shape.n};
    const GemmOptions options{false, false, {count, a, b, c}};
    p.workspace_bytes = workspace_bytes(p, options);
    if (has_wgmma()) {
      EXPECT_NE(std::string::npos, explain(p, options).find("stage 21")) << text(shape);
    }
    const harness::Workspace workspace(p.workspace_bytes + 1);
    p.workspace = workspace.get();
    for (int i = 0; i < 3; ++i) gemm(p, options);
    for (int i = 0; i < count; ++i) {
      Gemm<half, half> q = p;
      q.A += i * a, q.B += i * b, q.C = alone.get() + i * c;
      gemm(q);
    }
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<half> got(count * c), expected(count * c);
    cs.download(got), alone.download(expected);
    ASSERT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(half)))
        << text(shape) << "\n"
        << explain(p, options);
  }
}
// Each at a place of its own, by one plan: as by itself, to the bit. More than a launch has.
template <class T>
void products_anywhere(bool transposed_b) {
  constexpr int COUNT = 70;
  constexpr Shape SHAPE{67, 136, 72};
  constexpr int64_t A = SHAPE.m * SHAPE.k + 8, B = SHAPE.n * SHAPE.k + 16, C = SHAPE.m * SHAPE.n;
  Integers<T> integers;
  harness::DeviceBuffer<T> a(COUNT * A), b(COUNT * B), c(COUNT * C), alone(COUNT * C);
  a.upload(integers(COUNT * A)), b.upload(integers(COUNT * B));
  c.fill(0xFF, nullptr), alone.fill(0xFF, nullptr);
  Gemm<T, T> p{SHAPE.m, SHAPE.n, SHAPE.k, a.get(), SHAPE.k, b.get(), SHAPE.n, c.get(), SHAPE.n};
  p.transposed_b = transposed_b;
  if (transposed_b) p.ldb = SHAPE.k;
  const uint64_t bytes = workspace_bytes(p);
  const harness::Workspace workspace(bytes + 1);
  std::vector<Matrices<T, T>> all;
  for (int i = 0; i < COUNT; ++i) {
    const int at = i * 37 % COUNT;
    all.push_back({a.get() + at * A, b.get() + at * B, c.get() + at * C});
    Gemm<T, T> q = p;
    q.A = all.back().A, q.B = all.back().B, q.C = alone.get() + at * C;
    q.workspace = workspace.get(), q.workspace_bytes = bytes;
    gemm(q);
  }
  plan(p).run(all.data(), COUNT, nullptr, workspace.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<T> got(COUNT * C), expected(COUNT * C);
  c.download(got), alone.download(expected);
  EXPECT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(T))) << explain(p);
}
TEST_F(LibraryTest, APlanRunsProductsAnywhere) {
  for (const bool transposed_b : {false, true})
    products_anywhere<half>(transposed_b), products_anywhere<bf16>(transposed_b),
        products_anywhere<float>(transposed_b);
}
TEST_F(LibraryTest, BatchesAreTheirProducts) {
  batches<half>();
  batches<bf16>();
  batches<float>();
}

// ---- Numbers that tensor cores read along K alone ----------------------------------------------

constexpr GemmOptions AS_TF32{false, false, {}, true};

// Integers, whose sums are exact, at shapes that no tile divides.
template <class In, class Out>
void along_k(const GemmOptions& options = {}, harness::Sums sums = harness::Sums::FP32,
             const EpilogueChoice& epilogue = {}, Layout layout = harness::USUAL_LAYOUT<In>) {
  for (const Shape shape :
       {Shape{1, 16, 16}, Shape{77, 144, 80}, Shape{67, 131, 45}, Shape{333, 512, 208},
        Shape{1, 1, 1}, Shape{0, 16, 16}, Shape{50, 70, 0}, Shape{1025, 2000, 1100}})
    for (const Padding padding : {Padding{}, Padding{16, 32, 48}}) {
      const Problem<In, Out> problem(shape, Data::EXACT, 7, padding, sums, epilogue, layout);
      expect_right(problem, reference_output(problem), options);
    }
}
TEST_F(LibraryTest, NumbersOf8Bits) {
  if (!has_wgmma()) GTEST_SKIP() << "they need wgmma";
  along_k<e4m3, bf16>({}, harness::Sums::FAST);
  along_k<e5m2, bf16>({}, harness::Sums::FAST);
  along_k<int8_t, int32_t>();
  along_k<int8_t, int8_t>();
  EpilogueChoice requantised = harness::requantisation_for(200);
  requantised.scale = Scale::COLUMN, requantised.zero_point = -3;
  along_k<int8_t, int8_t>({}, harness::Sums::FP32, requantised);
}
TEST_F(LibraryTest, NumbersOf8BitsWithScalesOfBlocks) {
  if (!has_wgmma()) GTEST_SKIP() << "they need wgmma";
  along_k<e4m3, bf16>({}, harness::Sums::SCALED);
  along_k<e5m2, bf16>({}, harness::Sums::SCALED);
}
TEST_F(LibraryTest, FloatsAsTf32) {
  if (!has_wgmma()) GTEST_SKIP() << "they need wgmma";
  for (const Layout layout : LAYOUTS)
    along_k<float, float>(AS_TF32, harness::Sums::FP32, {}, layout);
}

// By a plan, and a batch: to the bit what gemm() computes of each.
template <class In, class Out>
void along_k_in_other_ways(const GemmOptions& options = {}) {
  constexpr int COUNT = 3;
  constexpr Shape SHAPE{77, 144, 80};
  constexpr int64_t A = SHAPE.m * SHAPE.k, B = SHAPE.n * SHAPE.k, C = SHAPE.m * SHAPE.n;
  Integers<In> integers;
  harness::DeviceBuffer<In> a(COUNT * A), b(COUNT * B);
  a.upload(integers(COUNT * A)), b.upload(integers(COUNT * B));
  harness::DeviceBuffer<Out> c(COUNT * C);
  Gemm<In, Out> p{SHAPE.m, SHAPE.n, SHAPE.k, a.get(), SHAPE.k, b.get(), SHAPE.k, c.get(), SHAPE.n};
  p.transposed_b = true;
  const auto computed = [&](const auto& compute) {
    c.fill(0x7F, nullptr);
    compute();
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<Out> numbers(COUNT * C);
    c.download(numbers);
    return numbers;
  };
  GemmOptions batch = options;
  batch.batch = {COUNT, A, B, C};
  const auto one_by_one = computed([&] {
    for (int i = 0; i < COUNT; ++i) {
      Gemm<In, Out> q = p;
      q.A += i * A, q.B += i * B, q.C += i * C;
      gemm(q, options);
    }
  });
  const auto at_once = computed([&] { gemm(p, batch); });
  const auto planned = computed([&] {
    Gemm<In, Out> later = p;
    later.A = later.B = nullptr, later.C = nullptr;
    plan(later, batch).run(p.A, p.B, p.C);
  });
  if constexpr (sizeof(In) == 2) {  // that a sum is right, no other test of this file says
    std::vector<In> x(COUNT * A), y(COUNT * B);
    a.download(x), b.download(y);
    float sum = 0;
    for (size_t k = 1; k <= SHAPE.k; ++k)
      sum += static_cast<float>(x[x.size() - k]) * static_cast<float>(y[y.size() - k]);
    EXPECT_EQ(static_cast<float>(Out(sum)), static_cast<float>(one_by_one.back()));
  }
  const size_t bytes = one_by_one.size() * sizeof(Out);
  EXPECT_EQ(0, std::memcmp(one_by_one.data(), at_once.data(), bytes)) << explain(p, batch);
  EXPECT_EQ(0, std::memcmp(one_by_one.data(), planned.data(), bytes)) << explain(p, batch);
}
TEST_F(LibraryTest, PlansAndBatchesOfNumbersAlongK) {
  if (!has_wgmma()) GTEST_SKIP() << "they need wgmma";
  along_k_in_other_ways<e4m3, bf16>();
  along_k_in_other_ways<e5m2, bf16>();
  along_k_in_other_ways<int8_t, int32_t>();
  along_k_in_other_ways<int8_t, int8_t>();
  along_k_in_other_ways<half, float>();
  along_k_in_other_ways<bf16, float>();
  along_k_in_other_ways<half, e4m3>();
  along_k_in_other_ways<bf16, e4m3>();
  along_k_in_other_ways<float, float>(AS_TF32);
}

// In a line, and C is what it was.
template <class In, class Out, class Change>
void expect_refused_along_k(Change change, const std::string& what, GemmOptions options = {}) {
  const Problem<In, Out> problem({32, 32, 32}, Data::EXACT, 7, {16, 16, 16}, harness::Sums::FP32,
                                 {}, Layout{false, true});
  const BufferSets<In, Out> sets(problem, 1);
  Gemm<In, Out> p = sets.gemm(0, nullptr);
  std::vector<Out> c(static_cast<size_t>(p.M * p.ldc));
  harness::DeviceBuffer<Out> of_c(c.size());
  of_c.fill(0x7F, nullptr);
  p.C = of_c.get();
  change(p, options);
  try {
    gemm(p, options);
    ADD_FAILURE() << "accepted: " << what;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    EXPECT_EQ(std::string::npos, std::string(error.what()).find('\n'));
  }
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  of_c.download(c);
  for (size_t i = 0; i < c.size() * sizeof(Out); ++i)
    ASSERT_EQ(0x7F, reinterpret_cast<const unsigned char*>(c.data())[i]) << what << ", byte " << i;
}
template <class In, class Out>
void refuses_along_k(const GemmOptions& options = {}) {
  using P = Gemm<In, Out>;
  const auto refuses = [&](const std::function<void(P&, GemmOptions&)>& change,
                           const std::string& what) {
    expect_refused_along_k<In, Out>(change, what, options);
  };
  if (!has_wgmma()) return refuses([](P&, GemmOptions&) {}, "needs wgmma");
  refuses([](P& p, GemmOptions&) { p.lda = 31; }, "lda is 31");
  refuses([](P& p, GemmOptions&) { p.lda += 1; }, "this kernel needs a multiple of");
  refuses([](P& p, GemmOptions&) { ++p.C; }, "the address of C is");
  refuses([](P& p, GemmOptions&) { p.epilogue.beta = 1, p.epilogue.addend = p.C; }, "epilogue");
  refuses([](P& p, GemmOptions&) { p.A = nullptr; }, "A is null");
  alignas(16) static const unsigned char of_the_host[16] = {};
  refuses([](P& p, GemmOptions&) { p.B = reinterpret_cast<const In*>(of_the_host); },
          "B is in the host's memory");
  refuses([](P&, GemmOptions& o) { o.fixed_tile = true; }, "fixed_tile is set");
  refuses([](P&, GemmOptions& o) { o.transposed_c = true; }, "transposed_c is set");
  refuses([](P&, GemmOptions& o) { o.batch = {2, 1, 0, 4096}; }, "stride_a is 1");
}
TEST_F(LibraryTest, RefusesNumbersAlongK) {
  refuses_along_k<e4m3, bf16>();
  refuses_along_k<e5m2, bf16>();
  refuses_along_k<int8_t, int32_t>();
  refuses_along_k<int8_t, int8_t>();
  refuses_along_k<float, float>(AS_TF32);
}

// ---- Refusals ----------------------------------------------------------------------------------

template <class T, class Change>
void expect_refused(Change change, const std::string& what) {
  const Problem<T, T> problem({32, 32, 32}, Data::EXACT, 7, {8, 8, 8});
  const BufferSets<T, T> sets(problem, 1);
  Gemm<T, T> p = sets.gemm(0, nullptr);
  change(p);
  try {
    gemm(p);
    ADD_FAILURE() << "accepted: " << what;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_F(LibraryTest, Refuses) {
  using Half = Gemm<half, half>;
  expect_refused<half>([](Half& p) { p.M = -1; }, "M is -1");
  expect_refused<half>([](Half& p) { p.N = MAX_DIMENSION + 1; }, "N is 2147482624");
  expect_refused<half>([](Half& p) { p.lda = 31; }, "lda is 31");
  expect_refused<half>([](Half& p) { p.transposed_b = true, p.K = 41; }, "lda is 40");
  expect_refused<half>([](Half& p) { p.A = nullptr; }, "A is null");
  const half of_the_host[8] = {};
  expect_refused<half>([&](Half& p) { p.B = of_the_host; }, "B is in the host's memory");
  expect_refused<half>([&](Half& p) { p.epilogue.bias = of_the_host; },
                       "the bias is in the host's memory");
  expect_refused<half>([](Half& p) { p.lda = 33; }, "the workspace has 0 bytes");
  expect_refused<half>([](Half& p) { p.epilogue.beta = 1; }, "there is no addend");
  expect_refused<half>([](Half& p) { p.epilogue.residual = p.C, p.epilogue.ld_residual = 16; },
                       "the leading dimension of the residual is 16");
  const float scale = 1;
  expect_refused<half>([&](Half& p) { p.scales.a = &scale; }, "scales of blocks");
}

TEST_F(LibraryTest, RefusesAnotherDevice) {
  int devices = 0;
  LADDER_CUDA_CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) GTEST_SKIP() << "one GPU";
  const Problem<half, half> problem({32, 32, 32}, Data::EXACT, 7);
  const BufferSets<half, half> sets(problem, 1);
  const Gemm<half, half> p = sets.gemm(0, nullptr);
  LADDER_CUDA_CHECK(cudaSetDevice(1));
  EXPECT_THROW(gemm(p), std::invalid_argument);
  LADDER_CUDA_CHECK(cudaSetDevice(0));
}

// ---- A program's life --------------------------------------------------------------------------

// 128 is what alpha leaves of sums that no half can hold.
TEST_F(LibraryTest, LargeSumsAndASmallFactor) {
  for (const Layout layout : LAYOUTS)
    for (const Shape shape : {Shape{16, 512, 128}, Shape{300, 520, 128}, Shape{300, 4096, 128}}) {
      EpilogueChoice choice{};
      choice.alpha = 1.0f / 1024;
      Problem<half, half> problem(shape, Data::EXACT, 7, {}, harness::Sums::FP32, choice, layout);
      for (std::vector<half>* matrix : {&problem.a, &problem.b})
        std::fill(matrix->begin(), matrix->end(), __float2half(32));
      const Output<half> reference = reference_output(problem);
      ASSERT_EQ(128, __half2float(reference.row(0)[0]));
      expect_right(problem, reference);
    }
}

// The two have kernels in common that need different amounts of shared memory.
TEST_F(LibraryTest, TwoThreadsWithShapesOfTheirOwn) {
  const auto work = [](int first, std::string* wrong) {
    const Problem<half, half> problems[] = {{{1, 3584, 512}, Data::EXACT, 1},
                                            {{1, 5120, 512}, Data::EXACT, 1}};
    BufferSets<half, half> sets[] = {{problems[0], 1}, {problems[1], 1}};
    cudaStream_t stream = nullptr;
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    try {
      for (int i = first; i < 20000; ++i) gemm(sets[i % 2].gemm(0, stream));
    } catch (const std::exception& error) {
      *wrong = error.what();
    }
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  };
  std::string wrong[2];
  std::thread one(work, 0, &wrong[0]), other(work, 1, &wrong[1]);
  one.join(), other.join();
  EXPECT_EQ("", wrong[0] + wrong[1]);
}

// Which is whoever's it was: the library asks for no error but those of its own calls.
TEST_F(LibraryTest, AnErrorOfSomebodyElseStaysWhereItIs) {
  const Problem<half, half> problem({300, 520, 128}, Data::EXACT, 7);
  BufferSets<half, half> sets(problem, 1);
  gemm(
      sets.gemm(0, nullptr));  // the first launch of a kernel sets its attribute: CUDA forgets then
  ASSERT_EQ(cudaErrorInvalidDevice, cudaSetDevice(-1));
  EXPECT_NO_THROW(gemm(sets.gemm(0, nullptr)));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_F(LibraryTest, AKernelOfAnotherGpuIsNotThere) {
  EXPECT_TRUE(library::has_kernels());
  if (device.sm != 75) {
    EXPECT_FALSE(of_another_gpu());
  }
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

TEST_F(LibraryTest, TwoThreadsOnTwoStreams) {
  const auto work = [](uint64_t seed, std::string* wrong) {
    cudaStream_t stream = nullptr;
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (const Shape shape : {Shape{16, 2048, 512}, Shape{300, 257, 200}, Shape{1024, 512, 640}}) {
      const Problem<half, half> problem(shape, Data::EXACT, seed);
      BufferSets<half, half> sets(problem, 1);
      const Output<half> reference = reference_output(problem);
      for (int i = 0; i < 20; ++i) {
        const Output<half> output = sets.run_poisoned(
            [&](const Gemm<half, half>& p) {
              for (int again = 0; again < 20; ++again) gemm(p);
            },
            stream);
        *wrong += verify(output, reference, problem.bound()).message;
      }
    }
    LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  };
  std::string wrong[2];
  std::thread one(work, 1, &wrong[0]), other(work, 2, &wrong[1]);
  one.join(), other.join();
  EXPECT_EQ("", wrong[0] + wrong[1]);
}

// What `enqueue` puts into the stream, captured and launched once; waits for its end.
template <class Enqueue>
void launch_as_graph(cudaStream_t stream, const Enqueue& enqueue) {
  cudaGraph_t graph = nullptr;
  LADDER_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  enqueue();
  LADDER_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  LADDER_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  LADDER_CUDA_CHECK(cudaGraphLaunch(executable, stream));
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_F(LibraryTest, IsCapturedInAGraph) {
  const Problem<half, half> problem({100, 200, 300}, Data::EXACT, 7, {}, harness::Sums::FP32,
                                    harness::bias_and(Activation::RELU));
  BufferSets<half, half> sets(problem, 1);
  cudaStream_t stream = nullptr;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const Output<half> output = sets.run_poisoned(
      [&](const Gemm<half, half>& p) { launch_as_graph(stream, [&] { gemm(p); }); }, stream);
  LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  const Output<half> reference = reference_output(problem);
  EXPECT_TRUE(verify(output, reference, problem.bound(&reference)).ok);
}

// A plan, too, and more than one of its runs.
TEST_F(LibraryTest, RunsOfAPlanAreCapturedInAGraph) {
  const Problem<half, half> problem({100, 200, 300}, Data::EXACT, 7);
  BufferSets<half, half> sets(problem, 1);
  cudaStream_t stream = nullptr;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto kept = plan(sets.gemm(0, nullptr));
  ASSERT_EQ(0U, kept.workspace_bytes());
  const Output<half> output = sets.run_poisoned(
      [&](const Gemm<half, half>& p) {
        launch_as_graph(stream, [&] {
          for (int i = 0; i < 3; ++i) kept.run(p.A, p.B, p.C, stream);
        });
      },
      stream);
  LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  EXPECT_TRUE(verify(output, reference_output(problem), problem.bound()).ok);
}

// Threads that share a plan, each with matrices and a stream of its own.
TEST_F(LibraryTest, ThreadsShareAPlan) {
  Gemm<half, half> unplaced{};
  unplaced.M = 300, unplaced.N = 264, unplaced.K = 200;
  unplaced.lda = 200, unplaced.ldb = unplaced.ldc = 264;
  const auto kept = plan(unplaced);
  ASSERT_EQ(0U, kept.workspace_bytes());
  const auto work = [&](uint64_t seed, std::string* wrong) {
    cudaStream_t stream = nullptr;
    LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const Problem<half, half> problem({300, 264, 200}, Data::EXACT, seed);
    BufferSets<half, half> sets(problem, 1);
    const Output<half> reference = reference_output(problem);
    for (int i = 0; i < 20; ++i) {
      const Output<half> output = sets.run_poisoned(
          [&](const Gemm<half, half>& p) {
            for (int again = 0; again < 50; ++again) kept.run(p.A, p.B, p.C, stream);
          },
          stream);
      *wrong += verify(output, reference, problem.bound()).message;
    }
    LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
  };
  std::string wrong[2];
  std::thread one(work, 1, &wrong[0]), other(work, 2, &wrong[1]);
  one.join(), other.join();
  EXPECT_EQ("", wrong[0] + wrong[1]);
}

// In a process of its own, in which no kernel has been loaded.
[[noreturn]] void capture_and_exit() {
  const Problem<half, half> problem({100, 200, 300}, Data::EXACT, 7);
  BufferSets<half, half> sets(problem, 1);
  cudaStream_t stream = nullptr;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const Output<half> output = sets.run_poisoned(
      [&](const Gemm<half, half>& p) { launch_as_graph(stream, [&] { gemm(p); }); }, stream);
  std::exit(verify(output, reference_output(problem), problem.bound()).ok ? 0 : 1);
}
TEST_F(LibraryTest, TheFirstCallIsCapturedInAGraph) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(capture_and_exit(), testing::ExitedWithCode(0), "");
}

// A chain in one graph, each product from the one before and into the operand that the one before
// has read. Who starts early and does not wait for the end of that one reads too soon, or writes.
TEST_F(LibraryTest, AKernelThatStartsEarlyWaits) {
  constexpr int LAUNCHES = 60;
  cudaStream_t stream = nullptr;
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::pair<int, int> SIZES[] = {{16, 1024},   {100, 1024},  {256, 1024}, {768, 1024},
                                       {1000, 1024}, {1536, 1024}, {48, 2048}};
  for (const auto& [m, width] : SIZES)
    for (const bool transposed : {false, true}) {
      // A permutation: products are exact, however long the chain is.
      const auto K = static_cast<size_t>(width);
      std::vector<half> permutation(K * K, half(0.0f));
      for (size_t i = 0; i < K; ++i) permutation[i * K + (i * 5 + 1) % K] = half(1.0f);
      harness::DeviceBuffer<half> by(permutation.size());
      by.upload(permutation);
      std::vector<half> numbers(static_cast<size_t>(m) * K);
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = half(static_cast<float>(i * 37 % 1021));
      const auto chain = [&, m = m, width = width](bool early) {
        harness::DeviceBuffer<half> one(numbers.size()), other(numbers.size());
        one.upload(numbers), other.upload(numbers);
        launch_as_graph(stream, [&] {
          for (int i = 0; i < LAUNCHES; ++i) {
            const auto& from = i % 2 ? other : one;
            const auto& to = i % 2 ? one : other;
            Gemm<half, half> p{m,        width, width,    from.get(), width,
                               by.get(), width, to.get(), width,      stream};
            p.transposed_b = transposed;
            p.starts_early = early;
            gemm(p);
          }
        });
        std::vector<half> result(numbers.size());
        one.download(result);
        return result;
      };
      const auto early = chain(true), after = chain(false);
      EXPECT_EQ(0, std::memcmp(early.data(), after.data(), early.size() * sizeof(half)))
          << m << " rows" << (transposed ? ", transposed" : "");
    }
  LADDER_CUDA_CHECK(cudaStreamDestroy(stream));
}

// Pages of this process that are in memory.
long resident_pages() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}
TEST_F(LibraryTest, TenThousandCallsLeaveNothing) {
  const Problem<half, half> problem({64, 64, 64}, Data::EXACT, 7);
  const BufferSets<half, half> sets(problem, 1);
  const Gemm<half, half> p = sets.gemm(0, nullptr);
  const auto calls = [&](int count) {
    for (int i = 0; i < count; ++i) {
      gemm(p);
      workspace_bytes(p);
      if (i % 100 == 0) explain(p);
    }
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  };
  calls(2000);  // what CUDA takes once
  size_t before = 0, after = 0, total = 0;
  LADDER_CUDA_CHECK(cudaMemGetInfo(&before, &total));
  const long pages = resident_pages();
  calls(10000);
  LADDER_CUDA_CHECK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
  EXPECT_LE(resident_pages(), pages + 64);
}

}  // namespace
}  // namespace ladder
