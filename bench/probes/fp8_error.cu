// What sums of numbers of 8 bits are off by, as 17, 17b and 17c add them up, before they are
// rounded to bf16: over K, with signs and without; and what one factor for a whole matrix costs
// where its rows are of different sizes. On the GPU, or on the CPU device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "17_fp8.cuh"
#include "17b_promoted.cuh"
#include "17c_block_scaled.cuh"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/program.h"
#include "harness/random.h"

namespace ladder {
namespace {

using harness::DeviceBuffer;

constexpr int WARPGROUP = 128, CONSUMERS = 2, TILE = 128;
using Sums = float[1][TILE / 2];

struct Maps {
  CUtensorMap a, b, scales_a, scales_b;
};

// How a stage multiplies a tile.
struct Fast {
  using Shared = fp8::Shared<e4m3, bf16, TILE, TILE>;
  static constexpr int ARRIVALS = CONSUMERS;
  __device__ static void produce(Shared& s, const Maps& maps, Tile tile, int tiles,
                                 unsigned& step) {
    fp8::produce(s, maps.a, maps.b, tile, tiles, false, step);
  }
  __device__ static void consume(Shared& s, int tiles, int group_m, Sums& sums, unsigned& step) {
    fp8::multiply(s, tiles, group_m, sums, step);
  }
};
struct Promoted : Fast {
  __device__ static void consume(Shared& s, int tiles, int group_m, Sums& sums, unsigned& step) {
    for (float& sum : sums[0]) sum = 0;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) promoted::multiply<1, 1>(s, group_m, sums, step);
  }
};
struct Scaled {
  using Shared = block_scaled::Shared<e4m3, TILE, TILE>;
  static constexpr int ARRIVALS = Shared::WARPS;
  __device__ static void produce(Shared& s, const Maps& maps, Tile tile, int tiles,
                                 unsigned& step) {
    block_scaled::produce(s, maps.a, maps.b, maps.scales_a, maps.scales_b, tile, tiles, false,
                          step);
  }
  __device__ static void consume(Shared& s, int tiles, int group_m, Sums& sums, unsigned& step) {
    for (float& sum : sums[0]) sum = 0;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) block_scaled::multiply<1, 1>(s, group_m, t, false, sums, step);
  }
};

// A tile a block, into a matrix of `size` rows and columns of floats.
template <class Way>
__global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)
    sums_kernel(int size, int tiles, const __grid_constant__ Maps maps, float* C) {
  auto& s = dynamic_shared<typename Way::Shared>();
  fp8::prepare(s, Way::ARRIVALS);
  const Tile tile = tile_of<TILE, TILE, 1>(static_cast<int>(blockIdx.x), size, size);
  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    if (warp_of_block() == CONSUMERS * WARPGROUP / 32) Way::produce(s, maps, tile, tiles, step);
  } else {
    const int group_m = warpgroup_of_block() * 64;
    Sums sums;
    Way::consume(s, tiles, group_m, sums, step);
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4,
              lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int e = 0; e < TILE / 2; ++e) {
      const int m = tile.m0 + group_m + warp * 16 + lane / 4 + e / 2 % 2 * 8;
      C[m * size + tile.n0 + e / 4 * 8 + lane % 4 * 2 + e % 2] = sums[0][e];
    }
  }
}

// Two matrices, `size` rows of A and columns of B; B transposed. What they are, and in e4m3 with
// factors.
struct Operands {
  int size, K;
  std::vector<float> real_a, real_b;
  std::vector<e4m3> a, b;
  std::vector<float> scales_a, scales_b;

  int parts() const { return K / SCALED_K; }
  int scales_ld() const { return (parts() + 3) / 4 * 4; }
};

enum class Kind { SIGNED, POSITIVE, ROWS_OF_ALL_SIZES };

// Numbers from -1 to 1 or 0 to 1. For the last kind row i is 2^-(i % 25) of that.
std::vector<float> draw(int rows, int K, Kind kind, harness::Stream stream) {
  std::vector<float> matrix(static_cast<size_t>(rows) * static_cast<size_t>(K));
  for (size_t at = 0; at < matrix.size(); ++at) {
    const float x = harness::random_uniform(1, stream, at);
    const int row = static_cast<int>(at / static_cast<size_t>(K));
    matrix[at] = kind == Kind::POSITIVE            ? std::abs(x)
                 : kind == Kind::ROWS_OF_ALL_SIZES ? std::ldexp(x, -(row % 25))
                                                   : x;
  }
  return matrix;
}

Operands draw_operands(int size, int K, Kind kind) {
  Operands o{size,
             K,
             draw(size, K, kind, harness::Stream::A),
             draw(size, K, Kind::SIGNED, harness::Stream::B),
             {},
             {},
             {},
             {}};
  if (kind == Kind::POSITIVE) o.real_b = draw(size, K, kind, harness::Stream::B);
  return o;
}

// Rounds to e4m3, the largest of a block to 448; with `by_blocks` those of BlockScales, else the
// whole matrix is one.
void quantize(Operands& o, bool by_blocks) {
  const auto parts = static_cast<size_t>(o.parts()), size = static_cast<size_t>(o.size);
  const auto ld = static_cast<size_t>(o.scales_ld()), K = static_cast<size_t>(o.K);
  o.scales_a.assign(parts * size, 0);
  o.scales_b.assign(size / SCALED_N * ld, 0);
  const auto scale_a = [&](size_t i, size_t k) -> float& {
    return o.scales_a[k / SCALED_K * size + i];
  };
  const auto scale_b = [&](size_t i, size_t k) -> float& {
    return o.scales_b[i / SCALED_N * ld + k / SCALED_K];
  };
  const auto both = [&](const std::vector<float>& real, std::vector<e4m3>& coded, auto scale) {
    coded.resize(real.size());
    float largest = 0;
    for (size_t at = 0; at < real.size(); ++at) {
      float& of_block = scale(at / K, at % K);
      of_block = std::max(of_block, std::abs(real[at]) / 448);
      largest = std::max(largest, of_block);
    }
    if (!by_blocks)
      for (size_t i = 0; i < size; ++i)
        for (size_t k = 0; k < K; k += SCALED_K) scale(i, k) = largest;
    for (size_t at = 0; at < real.size(); ++at) coded[at] = e4m3(real[at] / scale(at / K, at % K));
  };
  both(o.real_a, o.a, scale_a);
  both(o.real_b, o.b, scale_b);
}

// Rounds to e4m3 as they are, with factors of 1, and takes what they are then for the truth.
void round(Operands& o) {
  const auto both = [](std::vector<float>& real, std::vector<e4m3>& coded) {
    for (float& x : real) {
      coded.emplace_back(x);
      x = harness::Number<e4m3>::to_float(coded.back());
    }
  };
  both(o.real_a, o.a), both(o.real_b, o.b);
  o.scales_a.assign(static_cast<size_t>(o.parts() * o.size), 1);
  o.scales_b.assign(static_cast<size_t>(o.size / SCALED_N * o.scales_ld()), 1);
}

template <class T>
DeviceBuffer<T> on_device(const std::vector<T>& from) {
  DeviceBuffer<T> buffer(from.size());
  buffer.upload(from);
  return buffer;
}

template <class Way>
std::vector<float> sums(const Operands& o) {
  const auto a = on_device(o.a), b = on_device(o.b);
  const auto scales_a = on_device(o.scales_a), scales_b = on_device(o.scales_b);
  std::vector<float> result(static_cast<size_t>(o.size) * static_cast<size_t>(o.size));
  const DeviceBuffer<float> C(result.size());
  const Maps maps{ptx::tensor_map(a.get(), o.size, o.K, o.K, TILE),
                  ptx::tensor_map(b.get(), o.size, o.K, o.K, TILE),
                  ptx::tensor_map_not_swizzled(scales_a.get(), o.parts(), o.size, o.size, 1, TILE),
                  ptx::tensor_map_not_swizzled(scales_b.get(), o.size / SCALED_N, o.parts(),
                                               o.scales_ld(), 1, block_scaled::ALIGNED)};
  launch(sums_kernel<Way>, dim3(static_cast<unsigned>(o.size / TILE * (o.size / TILE))),
         dim3((CONSUMERS + 1) * WARPGROUP), sizeof(typename Way::Shared), nullptr, o.size,
         o.parts(), maps, C.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  C.download(result);
  return result;
}

std::vector<double> truth(const Operands& o) {
  const auto size = static_cast<size_t>(o.size), K = static_cast<size_t>(o.K);
  std::vector<double> exact(size * size);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < size; ++j)
      for (size_t k = 0; k < K; ++k)
        exact[i * size + j] += double{o.real_a[i * K + k]} * double{o.real_b[j * K + k]};
  return exact;
}

// The root of the mean square of what a row is off by, as a share of that of its numbers, over all
// rows; `factor` is what the sums still lack.
std::string error(const std::vector<float>& sums, const std::vector<double>& exact, int size,
                  double factor = 1) {
  double of_rows = 0;
  for (int i = 0; i < size; ++i) {
    double off = 0, all = 0;
    for (int j = 0; j < size; ++j) {
      const auto at = static_cast<size_t>(i) * static_cast<size_t>(size) + static_cast<size_t>(j);
      off += std::pow(double{sums[at]} * factor - exact[at], 2), all += std::pow(exact[at], 2);
    }
    of_rows += off / all;
  }
  return fmt::format("{:.1e}", std::sqrt(of_rows / size));
}

void print_errors(int size, int largest_k) {
  fmt::print("e4m3, {0} x {0}, root mean square error as a share of C's root mean square\n", size);
  for (const Kind kind : {Kind::SIGNED, Kind::POSITIVE})
    for (int K = 1024; K <= largest_k; K *= 4) {
      Operands o = draw_operands(size, K, kind);
      round(o);
      const std::vector<double> exact = truth(o);
      fmt::print("  {:<12}  K = {:<6}  fast {}  promoted {}  scaled by 1 {}\n",
                 kind == Kind::SIGNED ? "from -1 to 1" : "from 0 to 1", K,
                 error(sums<Fast>(o), exact, size), error(sums<Promoted>(o), exact, size),
                 error(sums<Scaled>(o), exact, size));
    }
  constexpr int K = 1024;
  Operands o = draw_operands(size, K, Kind::ROWS_OF_ALL_SIZES);
  const std::vector<double> exact = truth(o);
  quantize(o, false);
  const double factor = double{o.scales_a.front()} * double{o.scales_b.front()};
  fmt::print("rows of A of sizes from 1 to 2^-24, rounded to e4m3, K = {}\n", K);
  fmt::print("  one factor a matrix {}", error(sums<Promoted>(o), exact, size, factor));
  quantize(o, true);
  fmt::print("  factors of blocks {}\n", error(sums<Scaled>(o), exact, size));
}

}  // namespace
}  // namespace ladder

int main(int argc, char** argv) {
  using namespace ladder::harness;
  return run_program("fp8_error", [&] {
    int size = 128, largest_k = 4096;
    CLI::App app("What sums of products of 8 bits are off by, as 17, 17b and 17c add them up.");
    app.add_option("--size", size, "rows of A and columns of B, a multiple of 128 [128]")
        ->check(CLI::Range(128, 4096));
    app.add_option("--largest-k", largest_k, "1024, 4096, ... up to this [4096]")
        ->check(CLI::Range(1024, 1 << 20));
    if (!parse_arguments(app, argc, argv)) return;
    if (size % 128 != 0) throw UsageError("--size: not a multiple of 128");
#ifndef LADDER_CPU_DEVICE
    select_device(0, 90, true);
#endif
    ladder::print_errors(size, largest_k);
  });
}
