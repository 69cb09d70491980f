// What a tensor core makes of floats as tf32, and what TMA does: on the GPU, or on the CPU device,
// which has to give the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "19_tf32.cuh"
#include "gpu_test.h"
#include "harness/buffers.h"

namespace ladder::tf32_products {
namespace {

using harness::DeviceBuffer;
using Tf32 = GpuTest<90, true>;

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
DeviceBuffer<float> on_device(const std::vector<float>& from) {
  DeviceBuffer<float> buffer(from.size());
  buffer.upload(from);
  return buffer;
}
std::vector<float> on_host(const DeviceBuffer<float>& from, size_t count) {
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<float> to(count);
  from.download(to);
  return to;
}

// ---- TMA ---------------------------------------------------------------------------------------

constexpr int ROWS = 64, BK = fp8::BK<tf32>, MMA_K = fp8::MMA_K<tf32>;
struct Box {
  tf32 box[ROWS][BK];
  uint64_t full;
};
static __global__ void load_kernel(const __grid_constant__ CUtensorMap map, float* to) {
  Box& s = dynamic_shared<Box>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.full, sizeof s.box);
    ptx::tma_load(s.box, &map, 0, 0, &s.full);
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.full, 0);
  for (int i = threadIdx.x; i < ROWS * BK; i += WARPGROUP)
    to[i] = s.box[i / BK][swizzled<float>(i / BK, i % BK)].value;
}

// Of two as near the even one. Infinities and NaN as they are.
float rounded(float x) {
  return std::isfinite(x) ? float_of((bits_of(x) + 0xFFF + (bits_of(x) >> 13 & 1)) & ~0x1FFFu) : x;
}

TEST_F(Tf32, TmaRoundsWhereTheMapSaysSo) {
  std::vector<float> floats;
  for (const uint32_t upper : {0x3F800000u, 0x3F802000u, 0x00000000u, 0x00002000u, 0x007FE000u,
                               0x00800000u, 0x7F7FC000u, 0x7F7FE000u, 0x4B000000u, 0x3FFFE000u})
    for (const uint32_t lower : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x1FFFu})
      for (const uint32_t sign : {0u, 0x80000000u})
        floats.push_back(float_of(sign | upper | lower));
  for (const uint32_t bits : {0x7F800000u, 0xFF800000u, 0x7FC00000u})
    floats.push_back(float_of(bits));
  std::mt19937 random(1);
  while (floats.size() < ROWS * BK)
    floats.push_back(float_of(static_cast<uint32_t>(random()) & 0xBF7FFFFFu));
  const auto from = on_device(floats);
  const DeviceBuffer<float> to(floats.size());
  const auto loaded = [&](const CUtensorMap& map) {
    launch(load_kernel, dim3(1), dim3(WARPGROUP), sizeof(Box), nullptr, map, to.get());
    return on_host(to, floats.size());
  };
  const auto as_floats = loaded(ptx::tensor_map(from.get(), ROWS, BK, BK, ROWS));
  const auto as_tf32 =
      loaded(ptx::tensor_map(reinterpret_cast<const tf32*>(from.get()), ROWS, BK, BK, ROWS));
  for (size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(bits_of(floats[i]), bits_of(as_floats[i]));
    if (std::isnan(floats[i]))
      EXPECT_TRUE(std::isnan(as_tf32[i]));
    else
      EXPECT_EQ(bits_of(rounded(floats[i])), bits_of(as_tf32[i]))
          << std::hex << bits_of(floats[i]) << " became " << bits_of(as_tf32[i]);
  }
}

// ---- wgmma -------------------------------------------------------------------------------------

constexpr int N = 64;
struct Operands64 {
  float a[ROWS][BK], b[N][BK];
};
template <int STEPS>
__global__ void __launch_bounds__(WARPGROUP)
    wgmma_kernel(const float* a, const float* b, const float* c, float* d) {
  Operands64& s = dynamic_shared<Operands64>();
  for (int i = threadIdx.x; i < ROWS * BK; i += WARPGROUP) {
    const int row = i / BK, col = i % BK;
    s.a[row][swizzled<float>(row, col)] = a[i];
    s.b[row][swizzled<float>(row, col)] = b[i];
  }
  float acc[N / 2];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto at = [&](int i) {
    return (warp * 16 + i / 2 % 2 * 8 + lane / 4) * N + i / 4 * 8 + lane % 4 * 2 + i % 2;
  };
#pragma unroll
  for (int i = 0; i < N / 2; ++i) acc[i] = c[at(i)];
  ptx::fence_proxy_async();
  __syncthreads();
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    ptx::wgmma_m64k8_f32_tf32(acc, descriptor_along_k(s.a, 0, step * MMA_K),
                              descriptor_along_k(s.b, 0, step * MMA_K), true);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[at(i)] = acc[i];
}
std::vector<float> multiplied(const std::vector<float>& a, const std::vector<float>& b,
                              const std::vector<float>& c, int steps) {
  const auto A = on_device(a), B = on_device(b), C = on_device(c);
  const DeviceBuffer<float> D(ROWS * N);
  launch(steps == 1 ? wgmma_kernel<1> : wgmma_kernel<BK / MMA_K>, dim3(1), dim3(WARPGROUP),
         sizeof(Operands64), nullptr, A.get(), B.get(), C.get(), D.get());
  return on_host(D, ROWS * N);
}
// Of c and of up to 8 products.
struct Product {
  float a, b;
};
float sum(const std::vector<Product>& products, float c = 0) {
  std::vector<float> a(ROWS * BK), b(N * BK), all(ROWS * N);
  for (size_t k = 0; k < products.size(); ++k) a[k] = products[k].a, b[k] = products[k].b;
  all[0] = c;
  return multiplied(a, b, all, 1)[0];
}

TEST_F(Tf32, LowerBitsAreNotRead) {
  const float odd = float_of(0x3F801FFF);
  EXPECT_EQ(1, sum({{odd, 1}}));
  EXPECT_EQ(1, sum({{1, odd}}));
  EXPECT_EQ(-1, sum({{-odd, odd}}));
  EXPECT_EQ(float_of(0x3F802000), sum({{float_of(0x3F803FFF), odd}}));
}
// Rules 1 to 4 of cpu_device/tensor_core.h, with 8 products in a sum.
TEST_F(Tf32, SumsKeep25BitsAfterTheFirst) {
  EXPECT_EQ(0x1p-25f, sum({{1, 1}, {-1, 1}, {0x1p-12f, 0x1p-13f}}));
  EXPECT_EQ(0, sum({{1, 1}, {-1, 1}, {0x1p-13f, 0x1p-13f}}));
  EXPECT_EQ(0x1p-25f, sum({{1, 1}, {1, -1}, {0x1.8p-12f, 0x1p-13f}}));
  EXPECT_EQ(1, sum({{1, 1}, {0x1.8p-12f, 0x1p-12f}}));
  EXPECT_EQ(0x1p-25f, sum({{1.5f, 1.5f}, {-1.5f, 1.5f}, {0x1p-12f, 0x1p-13f}}));
}
TEST_F(Tf32, EightProductsMakeOneSum) {
  for (int cancels = 1; cancels < 8; ++cancels) {
    std::vector<Product> products(8, {1, 8});
    products[0] = {0x1p14f, 0x1p14f}, products[static_cast<size_t>(cancels)] = {-0x1p14f, 0x1p14f};
    EXPECT_EQ(6 * 8, sum(products)) << cancels;
  }
}

// Random numbers, by what was their hash on the CPU device.
struct RandomCase {
  const char* name;
  int exponents;  // from minus as many to as many
  int steps;
  uint64_t hash;
};
constexpr RandomCase CASES[] = {
    {"uniform exponents to 1", 1, 1, 17459681237394223114u},
    {"to 1, 4 in a row", 1, 4, 13273299598377101344u},
    {"to 4", 4, 1, 12162116383350585419u},
    {"to 4, 4 in a row", 4, 4, 7280652467205494830u},
    {"to 12", 12, 1, 1753831394103904102u},
    {"to 12, 4 in a row", 12, 4, 2789904098563238483u},
    {"to 40", 40, 1, 15444029276469962717u},
    {"to 40, 4 in a row", 40, 4, 8253342942393306182u},
};
TEST_F(Tf32, RandomSumsBitByBit) {
  for (const RandomCase& drawn : CASES) {
    std::mt19937_64 random(static_cast<uint64_t>(drawn.exponents * 10 + drawn.steps));
    const auto draw = [&](size_t count, int exponents) {
      std::vector<float> all(count);
      for (float& x : all) {
        const uint64_t bits = random();
        const int exponent = static_cast<int>(bits >> 40) % (2 * exponents + 1) - exponents;
        x = float_of(static_cast<uint32_t>((bits & 0x807FFFFF) |
                                           static_cast<uint64_t>(127 + exponent) << 23));
      }
      return all;
    };
    const auto a = draw(ROWS * BK, drawn.exponents), b = draw(N * BK, drawn.exponents),
               c = draw(ROWS * N, 2 * drawn.exponents);
    const auto d = multiplied(a, b, c, drawn.steps);
    uint64_t hash = 0xCBF29CE484222325u;
    for (const float x : d) hash = (hash ^ bits_of(x)) * 0x100000001B3u;
    std::string first;
    for (size_t i = 0; i < 64; ++i) {
      char text[12];
      std::snprintf(text, sizeof text, " %08x", bits_of(d[i]));
      first += text;
    }
    EXPECT_EQ(drawn.hash, hash) << drawn.name << ", first row:" << first;
  }
}

// ---- Three products ----------------------------------------------------------------------------

// Of positive numbers, whose errors do not cancel: each way by itself is further off than the next.
TEST_F(Tf32, ThreeProductsGiveFp32Back) {
  constexpr int M = 40, COLUMNS = 24, K = 64;
  const auto draw = [](int count, uint64_t seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    std::vector<float> all(static_cast<size_t>(count));
    for (float& x : all) x = 1 + static_cast<float>(random() >> 9) * 0x1p-23f;
    return all;
  };
  const auto a = draw(M * K, 1), b = draw(COLUMNS * K, 2);
  const auto A = on_device(a), B = on_device(b);
  const DeviceBuffer<float> C(M * COLUMNS);
  const auto largest_error = [&](auto gemm, uint64_t workspace) {
    const DeviceBuffer<unsigned char> memory(workspace + 16);
    Problem p{M,      COLUMNS,
              K,      reinterpret_cast<const tf32*>(A.get()),
              K,      reinterpret_cast<const tf32*>(B.get()),
              K,      C.get(),
              COLUMNS};
    p.transposed_b = true;
    p.workspace = memory.get(), p.workspace_bytes = workspace;
    gemm(p);
    const auto c = on_host(C, M * COLUMNS);
    double largest = 0;
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < COLUMNS; ++n) {
        double sum = 0;
        for (int k = 0; k < K; ++k)
          sum +=
              double{a[static_cast<size_t>(m * K + k)]} * double{b[static_cast<size_t>(n * K + k)]};
        largest = std::max(largest, std::abs(c[static_cast<size_t>(m * COLUMNS + n)] / sum - 1));
      }
    return largest;
  };
  Problem shape{};
  shape.M = M, shape.N = COLUMNS, shape.K = K, shape.transposed_b = true;
  const double cut = largest_error(gemm<Way::CUT>, 0), rounded = largest_error(gemm<>, 0),
               three = largest_error(gemm<Way::THREE>, workspace_bytes<Way::THREE>(shape));
  EXPECT_LT(cut, 0x1p-9);
  EXPECT_GT(cut, 0x1p-11);
  EXPECT_LT(rounded, cut / 4);
  EXPECT_GT(rounded, 0x1p-14);
  EXPECT_LT(three, 0x1p-20);
}

}  // namespace
}  // namespace ladder::tf32_products
