// build/tensor_rate: the clocks that tensor cores take for an instruction when nothing else is to
// be done. docs/model.md rests on them.
//
// Each multiprocessor has one block of eight warps, two for each scheduler. The operands are zeros,
// so that the power limit is far away. The clocks that are printed include the loops. Under ncu the
// busy clocks alone can be divided by the instructions: docs/results/h200/tensor_rate.txt, which
// names the counters. Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU.
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "../../kernels/launch.cuh"
#include "../../kernels/parts/descriptors.cuh"
#include "../../kernels/ptx/mma.cuh"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"

namespace {

using namespace ladder;
using namespace ladder::harness;

constexpr int INSTRUCTIONS = 4096;  // of a warp, or of a warpgroup
constexpr int THREADS = 256;
constexpr int SUMS = 16;  // that are independent: an mma.sync waits for the one before on its sum

// Uses the sums, or ptxas leaves out what computes them.
__device__ void finish(float total, int64_t took, float* out, int64_t* clocks) {
  out[blockIdx.x * THREADS + threadIdx.x] = total;
  if (threadIdx.x == 0) clocks[blockIdx.x] = took;
}

__global__ void __launch_bounds__(THREADS, 1) mma_sync_rate(float* out, int64_t* clocks) {
  // Each begins with another number, or ptxas computes one of the sums for all.
  float sums[SUMS][4];
#pragma unroll
  for (int i = 0; i < SUMS * 4; ++i) sums[i / 4][i % 4] = out[i];
  const uint32_t zeros[4] = {};
  const int64_t begin = clock64();
#pragma unroll 4
  for (int step = 0; step < INSTRUCTIONS / SUMS; ++step)
#pragma unroll
    for (auto& sum : sums) ptx::mma_m16n8k16_f32_f16(sum, zeros, zeros[0], zeros[1]);
  const int64_t end = clock64();
  float total = 0;
  for (const auto& sum : sums)
    for (const float value : sum) total += value;
  finish(total, end - begin, out, clocks);
}

struct Tiles {
  half a[2][64][64];  // of two warpgroups
  half b[4][64][64];
};

__global__ void __launch_bounds__(THREADS, 1) wgmma_rate(float* out, int64_t* clocks) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Tiles& tiles = *reinterpret_cast<Tiles*>(shared);
  for (int i = threadIdx.x; i < static_cast<int>(sizeof tiles / 4); i += THREADS)
    reinterpret_cast<int*>(shared)[i] = 0;
  asm volatile("fence.proxy.async;" ::: "memory");  // wgmma reads by another path than the stores
  __syncthreads();
  float sums[128] = {};
  const auto& a = tiles.a[threadIdx.x / 128];
  const int64_t begin = clock64();
  for (int step = 0; step < INSTRUCTIONS / 4; ++step) {
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 64; k += 16)
      ptx::wgmma_m64k16_f32_f16(sums, descriptor_a(a, 0, k), descriptor_b(tiles.b, k), true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
  }
  ptx::wgmma_wait_group<0>();
  const int64_t end = clock64();
  float total = 0;
  for (const float value : sums) total += value;
  finish(total, end - begin, out, clocks);
}

// Clocks of the first block between two readings of its multiprocessor's clock.
double clocks_of(void (*kernel)(float*, int64_t*), size_t smem_bytes, int sms) {
  DeviceBuffer<float> out(size_t{THREADS} * sms);
  DeviceBuffer<int64_t> clocks(sms);
  std::vector<float> numbers(size_t{THREADS} * sms);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  out.upload(numbers);
  launch(kernel, dim3(sms), dim3(THREADS), smem_bytes, nullptr, out.get(), clocks.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<int64_t> took(sms);
  clocks.download(took);
  return static_cast<double>(took[0]);
}

void run() {
  const Device device = select_device(0, 90, true);
  fmt::print("{}, {} multiprocessors\n", device.name, device.multiprocessors);
  const double mma = clocks_of(mma_sync_rate, 0, device.multiprocessors);
  const double wgmma = clocks_of(wgmma_rate, sizeof(Tiles), device.multiprocessors);
  // A scheduler has two warps; the tensor cores of a multiprocessor have two warpgroups.
  fmt::print("mma.sync  m16n8k16: {:.3f} clocks an instruction and scheduler, {:.1f} FLOP/clock\n",
             mma / (2 * INSTRUCTIONS), 8.0 * INSTRUCTIONS * (2 * 16 * 8 * 16) / mma);
  fmt::print("wgmma m64n256k16: {:.3f} clocks an instruction, {:.1f} FLOP/clock\n",
             wgmma / (2 * INSTRUCTIONS), 2.0 * INSTRUCTIONS * (2 * 64 * 256 * 16) / wgmma);
}

// Serves --help. Whether there is something to measure.
bool parse(int argc, char** argv) {
  CLI::App app(
      "Measures the clocks that tensor cores take for an mma.sync and for a wgmma when nothing "
      "else is to be done.",
      "tensor_rate");
  app.footer(
      "Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU (it needs "
      "compute capability 9.0).");
  return parse_arguments(app, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("tensor_rate", [&] {
    if (parse(argc, argv)) run();
  });
}
