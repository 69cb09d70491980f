// What the library launches for numbers of 8 bits, tf32, and a C of fp32, and what it says of it.
// On the GPU or on the CPU device.
#include <gtest/gtest.h>

#include <random>

#include "gpu_test.h"
#include "harness/buffers.h"
#include "library/along_k.cu"
#include "library/scaled.cu"

namespace ladder::harness {
namespace {

using AlongK = GpuTest<90, true>;

using Shapes = std::vector<Shape>;
const Shapes SHAPES{{1, 16, 16}, {77, 144, 80}, {67, 131, 45}, {333, 512, 208}},
    EVEN_SHAPES{{1, 16, 16}, {77, 144, 80}, {67, 130, 45}, {333, 512, 208}};

template <class In, class Out>
void expect_correct(const std::string& stage, Sums sums, const EpilogueChoice& epilogue = {},
                    const Shapes& shapes = SHAPES, Layout layout = USUAL_LAYOUT<In>,
                    Rounds rounds = Rounds::ONCE) {
  for (const Shape shape : shapes)
    for (const Data data : {Data::EXACT, Data::UNIFORM}) {
      const Problem<In, Out> problem(shape, data, 7, {}, sums, epilogue, layout);
      // 17c's are in fp32 either way.
      const bool fp32_sums = sums == Sums::PROMOTED || sums == Sums::SCALED;
      std::string said;
      const Variant<In, Out> variant{"library",
                                     [&](const Gemm<In, Out>& p) {
                                       said = library::stage_along_k(p, fp32_sums);
                                       library::launch_along_k(p, fp32_sums);
                                     },
                                     [](const Gemm<In, Out>& p) -> uint64_t {
                                       if constexpr (std::is_same_v<In, tf32>)
                                         return library::tf32_bytes(p);
                                       return 0;
                                     }};
      BufferSets<In, Out> sets(problem, 1, {variant});
      const Output<Out> reference = reference_output(problem);
      const Verdict verdict =
          verify(sets.run_poisoned(variant, nullptr), reference, problem.bound(&reference, rounds));
      const std::string what = std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
                               std::to_string(shape.k) + ", " + name(data) + ", " + said;
      EXPECT_TRUE(verdict.ok) << what << ": " << verdict.message;
      EXPECT_EQ(0U, said.find(stage + ", ")) << what;
      EXPECT_NE(std::string::npos, said.find("128")) << what;
    }
}

TEST_F(AlongK, Fp8) {
  expect_correct<e4m3, bf16>("17 fp8", Sums::FAST);
  expect_correct<e5m2, bf16>("17 fp8", Sums::FAST);
}
TEST_F(AlongK, Fp8WithFactors) {
  EpilogueChoice choice{};
  choice.alpha = 0.5f;
  expect_correct<e4m3, bf16>("17 with factors", Sums::FAST, choice, EVEN_SHAPES);
  expect_correct<e4m3, bf16>("17b with factors", Sums::PROMOTED, choice, EVEN_SHAPES);
  choice.bias = true;
  for (const Scale scale : {Scale::NONE, Scale::ROW, Scale::COLUMN}) {
    choice.scale = scale;
    expect_correct<e4m3, bf16>("17 with factors", Sums::FAST, choice, EVEN_SHAPES);
  }
}
TEST_F(AlongK, Fp8WithSumsInFp32) {
  expect_correct<e4m3, bf16>("17b with factors", Sums::PROMOTED, {}, EVEN_SHAPES);
  // 1 + 65536 - 65536, of which 14 bits lose the 1.
  constexpr int M = 64, N = 64, K = 384, PART = 128;
  std::vector<e4m3> a(M * K), b(N * K);
  for (int row = 0; row < M; ++row)
    for (int k = 0; k < K; ++k) {
      const int part = k / PART;
      const float of_part[] = {k == 0 ? 1.f : 0.f, 16, -16};
      a[row * K + k] = e4m3(of_part[part]), b[row * K + k] = e4m3(part == 0 ? 1.f : 32.f);
    }
  DeviceBuffer<e4m3> on_a(M * K), on_b(N * K);
  on_a.upload(a), on_b.upload(b);
  DeviceBuffer<bf16> c(M * N);
  Gemm<e4m3, bf16> p{M, N, K, on_a.get(), K, on_b.get(), K, c.get(), N};
  p.transposed_b = true;
  for (const bool fp32_sums : {false, true}) {
    library::launch_along_k(p, fp32_sums);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<bf16> found(M * N);
    c.download(found);
    for (const bf16 x : found) ASSERT_EQ(fp32_sums ? 1 : 0, static_cast<float>(x));
  }
}
TEST_F(AlongK, Fp8WithScalesOfBlocks) {
  expect_correct<e4m3, bf16>("17c block_scaled", Sums::SCALED);
  expect_correct<e5m2, bf16>("17c block_scaled", Sums::SCALED);
}
TEST_F(AlongK, Int8) {
  expect_correct<int8_t, int32_t>("20 int8", Sums::FP32);
  EpilogueChoice requantised = requantisation_for(200);
  requantised.scale = Scale::COLUMN, requantised.zero_point = -3;
  expect_correct<int8_t, int8_t>("20 int8", Sums::FP32, requantised);
}
TEST_F(AlongK, Tf32) {
  for (const Layout layout : LAYOUTS)
    expect_correct<tf32, float>("19 tf32", Sums::FP32, {}, SHAPES, layout, Rounds::TF32);
}

// No number of 16 bits is the sum of 4,105 ones. Other operands are to_float_test's.
template <class In>
void expect_sums_as_they_are() {
  constexpr int M = 67, N = 132, K = 4105, LD = 4112;
  DeviceBuffer<In> a(M * LD), b(N * LD);
  a.upload(std::vector<In>(M * LD, In(1))), b.upload(std::vector<In>(N * LD, In(1)));
  DeviceBuffer<float> c(M * N);
  Gemm<In, float> p{M, N, K, a.get(), LD, b.get(), LD, c.get(), N};
  p.transposed_b = true;
  library::launch_along_k(p, false);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<float> found(M * N);
  c.download(found);
  EXPECT_EQ(std::vector<float>(M * N, K), found);
  EXPECT_EQ("17 to fp32, 128x128", library::stage_along_k(p, false));
}
TEST_F(AlongK, ACOfFp32) {
  expect_sums_as_they_are<half>();
  expect_sums_as_they_are<bf16>();
}

// Each result is the nearest number of e4m3 to a sum of integers, times the factors; what is beyond
// 448 is 448.
template <class In>
void expect_to_fp8() {
  constexpr int64_t GAP = 16;
  for (const auto& [M, N, K] : {Shape{67, 131, 45}, Shape{200, 272, 136}, Shape{3, 5, 0}})
    for (const bool has_scales : {false, true}) {
      const int64_t ld = (K + 7) / 8 * 8, ldc = (N + 15) / 16 * 16 + GAP;
      std::mt19937 random(7);
      const auto integers = [&](int rows) {
        std::vector<In> made(static_cast<size_t>(rows * ld) + 8);
        for (In& x : made) x = In(static_cast<float>(random() % 9) - 4);
        return made;
      };
      const auto a = integers(M), b = integers(N);
      std::vector<float> scales(static_cast<size_t>(N));
      for (float& x : scales) x = 0.25f + static_cast<float>(random() % 100) / 8;
      DeviceBuffer<In> on_a(a.size()), on_b(b.size());
      DeviceBuffer<float> on_scales(scales.size());
      on_a.upload(a), on_b.upload(b), on_scales.upload(scales);
      constexpr unsigned char UNTOUCHED = 0x7F;  // NaN
      DeviceBuffer<e4m3> c(static_cast<size_t>(M * ldc));
      c.fill(UNTOUCHED, nullptr);
      Gemm<In, e4m3> p{M, N, K, on_a.get(), ld, on_b.get(), ld, c.get(), ldc};
      p.transposed_b = true;
      p.epilogue.alpha = 0.375f;
      if (has_scales) p.epilogue.column_scale = on_scales.get();
      library::launch_along_k(p, false);
      LADDER_CUDA_CHECK(cudaDeviceSynchronize());
      std::vector<e4m3> got(static_cast<size_t>(M * ldc));
      c.download(got);
      int largest = 0;
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < ldc; ++n) {
          unsigned char expected = UNTOUCHED;
          if (n < N) {
            float sum = 0;
            for (int64_t k = 0; k < K; ++k)
              sum += static_cast<float>(a[static_cast<size_t>(m * ld + k)]) *
                     static_cast<float>(b[static_cast<size_t>(n * ld + k)]);
            expected =
                e4m3(sum * (has_scales ? 0.375f * scales[static_cast<size_t>(n)] : 0.375f)).__x;
            largest += expected == 0x7E;
          }
          ASSERT_EQ(expected, got[static_cast<size_t>(m * ldc + n)].__x)
              << M << " x " << N << " x " << K << ": " << m << ", " << n;
        }
      EXPECT_EQ(has_scales && K > 0, largest > 0);  // what is beyond 448 was among them
      if (K > 0) {
        EXPECT_EQ(0U, library::stage_along_k(p, false).find("17 to e4m3, 128x"));
      }
    }
}
TEST_F(AlongK, ACOfFp8) {
  expect_to_fp8<half>();
  expect_to_fp8<bf16>();
}

}  // namespace
}  // namespace ladder::harness
