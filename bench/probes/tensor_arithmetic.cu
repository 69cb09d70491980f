// build/tensor_arithmetic: what tensor cores make of the operands in tensor_cases.h, bit by bit,
// through mma.sync, WMMA and wgmma. cpu_device/tensor_core.h is the same arithmetic, and its
// test compares it with what this printed on an H200.
//
// For each case a line with its operands' hash and its name. Then for each result a line with its
// hash and the units that had it, and lines with its first rows as the floats' bits. Exit codes: 0
// all right; 1 a CUDA error; 2 bad input; 77 no usable GPU.
#include <cuda_fp16.h>
#include <fmt/format.h>
#include <mma.h>

#include <CLI/CLI.hpp>
#include <map>
#include <vector>

#include "../../kernels/launch.cuh"
#include "../../kernels/parts/descriptors.cuh"
#include "../../kernels/parts/swizzle.cuh"
#include "../../kernels/ptx/mma.cuh"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "tensor_cases.h"

namespace {

using namespace ladder;
using namespace ladder::harness;
using namespace ladder::tensor_cases;

// All by one warpgroup, of which each warp has 16 rows.
constexpr int THREADS = 128;

// Of d: where a lane of mma.sync has its i-th element, and wgmma's 4j + i-th with 8j columns more.
__device__ int row_of(int i) {
  return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 * 8;
}
__device__ int column_of(int i) {
  return threadIdx.x % 4 * 2 + i % 2;
}

__global__ void by_mma_sync(const half* a, const half* b, const float* c, float* d, int steps) {
  const auto pair = [](const half* of) { return *reinterpret_cast<const uint32_t*>(of); };
  for (int n = 0; n < N; n += 8) {
    float sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = c[row_of(i) * N + n + column_of(i)];
    for (int k = 0; k < steps * STEP; k += STEP) {
      uint32_t of_a[4];
      for (int i = 0; i < 4; ++i)
        of_a[i] = pair(&a[row_of(i % 2 * 2) * K + k + i / 2 * 8 + column_of(0)]);
      const half* const of_b = &b[(n + threadIdx.x % 32 / 4) * K + k + column_of(0)];
      ptx::mma_m16n8k16_f32_f16(sums, of_a, pair(of_b), pair(of_b + 8));
    }
    for (int i = 0; i < 4; ++i) d[row_of(i) * N + n + column_of(i)] = sums[i];
  }
}

__global__ void by_wmma(const half* a, const half* b, const float* c, float* d, int steps) {
  using namespace nvcuda::wmma;
  const int m = threadIdx.x / 32 * 16;
  for (int n = 0; n < N; n += 16) {
    fragment<accumulator, 16, 16, 16, float> sums;
    load_matrix_sync(sums, &c[m * N + n], N, mem_row_major);
    for (int k = 0; k < steps * STEP; k += STEP) {
      fragment<matrix_a, 16, 16, 16, half, row_major> of_a;
      fragment<matrix_b, 16, 16, 16, half, col_major> of_b;
      load_matrix_sync(of_a, &a[m * K + k], K);
      load_matrix_sync(of_b, &b[n * K + k], K);
      mma_sync(sums, of_a, of_b, sums);
    }
    store_matrix_sync(&d[m * N + n], sums, N, mem_row_major);
  }
}

// With BOXES times the columns: b and c again and again. The d of the last ones.
template <int BOXES>
struct Tiles {
  half a[M][K];
  half b[BOXES][K][N];
};
template <int BOXES, bool WITH_C, int STEPS>
__global__ void __launch_bounds__(THREADS)
    by_wgmma(const half* a, const half* b, const float* c, float* d, int) {
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& tiles = *reinterpret_cast<Tiles<BOXES>*>(shared);
  for (int i = threadIdx.x; i < M * K; i += THREADS) tiles.a[i / K][swizzled(i / K, i % K)] = a[i];
  for (int i = threadIdx.x; i < BOXES * K * N; i += THREADS) {
    const int box = i / (K * N), k = i / N % K, n = i % N;
    tiles.b[box][k][swizzled(k, n)] = b[n * K + k];
  }
  float sums[BOXES * N / 2];
#pragma unroll
  for (int i = 0; i < BOXES * N / 2; ++i)
    sums[i] = WITH_C ? c[row_of(i % 4) * N + i / 4 * 8 % N + column_of(i % 4)] : 0;
  asm volatile("fence.proxy.async;" ::: "memory");  // wgmma reads by another path than the stores
  __syncthreads();
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    ptx::wgmma_m64k16_f32_f16(sums, descriptor_a(tiles.a, 0, step * STEP),
                              descriptor_b(tiles.b, step * STEP), WITH_C || step > 0);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
#pragma unroll
  for (int i = (BOXES - 1) * N / 2; i < BOXES * N / 2; ++i)
    d[row_of(i % 4) * N + i / 4 * 8 % N + column_of(i % 4)] = sums[i];
}

struct Unit {
  const char* name;
  void (*kernel)(const half*, const half*, const float*, float*, int);
  size_t smem_bytes;
};
template <int STEPS>
std::vector<Unit> units(bool without_c) {
  std::vector<Unit> units = {
      {"mma.sync", by_mma_sync, 0},
      {"wmma", by_wmma, 0},
      {"wgmma-n64", by_wgmma<1, true, STEPS>, sizeof(Tiles<1>)},
      {"wgmma-n256", by_wgmma<4, true, STEPS>, sizeof(Tiles<4>)},
  };
  if (without_c) units.push_back({"wgmma-without-c", by_wgmma<1, false, STEPS>, sizeof(Tiles<1>)});
  return units;
}

class Operands {
 public:
  explicit Operands(const Case& of) {
    std::vector<half> halves(of.a.size());
    const auto upload = [&](DeviceBuffer<half>& to, const std::vector<uint16_t>& bits) {
      for (size_t i = 0; i < bits.size(); ++i) halves[i] = bits_as<half>(bits[i]);
      to.upload(halves);
    };
    upload(a_, of.a), upload(b_, of.b), c_.upload(of.c);
  }
  // The bits of its elements.
  std::vector<uint32_t> product(const Unit& by, int steps) const {
    launch(by.kernel, dim3(1), dim3(THREADS), by.smem_bytes, nullptr, a_.get(), b_.get(), c_.get(),
           d_.get(), steps);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<float> d(M * N);
    d_.download(d);
    std::vector<uint32_t> bits(d.size());
    std::transform(d.begin(), d.end(), bits.begin(), bits_as<uint32_t, float>);
    return bits;
  }

 private:
  DeviceBuffer<half> a_{M * K}, b_{N * K};
  DeviceBuffer<float> c_{M * N}, d_{M * N};
};

void run(int rows) {
  fmt::print("# {}, by build/tensor_arithmetic\n", select_device(0, 90, true).name);
  for (const Case& drawn : all()) {
    fmt::print("case {:016x} {}\n", hash_of(drawn), drawn.name);
    const Operands operands(drawn);
    std::map<std::vector<uint32_t>, std::string> units_of;
    const bool zeros = std::all_of(drawn.c.begin(), drawn.c.end(),
                                   [](float x) { return bits_as<uint32_t>(x) == 0; });
    for (const Unit& unit : drawn.steps == 1 ? units<1>(zeros) : units<4>(zeros))
      units_of[operands.product(unit, drawn.steps)] += fmt::format(" {}", unit.name);
    for (const auto& [bits, units] : units_of) {
      fmt::print("{:016x}{}\n", hash_of(bits), units);
      for (int i = 0; i < rows * N; ++i)
        fmt::print("{:08x}{}", bits[i], i % N == N - 1 ? '\n' : ' ');
    }
  }
}

// Serves --help. Whether there is something to compute.
bool parse(int argc, char** argv, int& rows) {
  CLI::App app(
      "Prints what tensor cores make of chosen and random operands, as hashes and the bits of the "
      "first rows.",
      "tensor_arithmetic");
  app.add_option("--rows", rows, "rows of each result that are printed")
      ->check(CLI::Range(0, M))
      ->capture_default_str();
  app.footer(
      "Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU (it needs "
      "compute capability 9.0).");
  return parse_arguments(app, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("tensor_arithmetic", [&] {
    int rows = 2;
    if (parse(argc, argv, rows)) run(rows);
  });
}
