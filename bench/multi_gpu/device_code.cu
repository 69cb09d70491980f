#include "device_code.h"
#include "ptx/system.cuh"

namespace ladder::multi_gpu {
namespace {

__device__ uint64_t mix(uint64_t x) {  // as harness/random.h's
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

__global__ void fill_kernel(half* part, int rows, int cols, int64_t ld, Origin origin,
                            uint64_t seed, Values values) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x)
    for (int col = threadIdx.x; col < ld; col += blockDim.x) {
      const uint64_t number =
          (static_cast<uint64_t>(origin.row + row) << 32) + static_cast<uint32_t>(origin.col + col);
      const uint64_t bits = mix(mix(seed) + (number + 1) * 0x9E3779B97F4A7C15u);
      const float value = values == Values::EXACT
                              ? static_cast<float>(static_cast<int>((bits >> 32) * 5 >> 32) - 2)
                              : static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
      part[row * ld + col] = col < cols ? __float2half(value) : __ushort_as_half(0xFFFF);
    }
}

__global__ void compare_kernel(const half* result, int64_t ld, const half* reference,
                               int64_t reference_ld, int rows, int cols, float tolerance,
                               unsigned* wrong) {
  unsigned found = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x)
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
      const float difference =
          __half2float(result[row * ld + col]) - __half2float(reference[row * reference_ld + col]);
      if (!(fabsf(difference) <= tolerance)) ++found;  // NaN is wrong, too
    }
  if (found > 0) atomicAdd(wrong, found);
}

__global__ void untouched_kernel(const half* result, int64_t ld, int rows, int cols, int all_rows,
                                 unsigned* wrong) {
  unsigned found = 0;
  for (int row = blockIdx.x; row < all_rows; row += gridDim.x)
    for (int col = threadIdx.x; col < ld; col += blockDim.x)
      if ((row >= rows || col >= cols) && __half_as_ushort(result[row * ld + col]) != 0xFFFF)
        ++found;
  if (found > 0) atomicAdd(wrong, found);
}

__device__ uint64_t now_ns() {
  uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

__global__ void spin_kernel(int64_t nanoseconds) {
  const uint64_t start = now_ns();
  while (now_ns() - start < static_cast<uint64_t>(nanoseconds)) {
  }
}

__global__ void gate_kernel(const uint32_t* open, const __grid_constant__ GateWords words,
                            Ranks ranks, uint32_t round) {
  while (static_cast<int>(ptx::load_acquire_system(open) - round) < 0) {
  }
  for (int rank = 0; rank < ranks.count; ++rank)
    ptx::store_release_system(&words.of[rank][ranks.own], round);
  for (int rank = 0; rank < ranks.count; ++rank)
    while (static_cast<int>(ptx::load_acquire_system(&words.of[ranks.own][rank]) - round) < 0) {
    }
}

dim3 blocks(int rows) {
  return dim3(rows < 2048 ? rows : 2048);
}

}  // namespace

void fill(half* part, int rows, int cols, int64_t ld, Origin origin, uint64_t seed, Values values,
          cudaStream_t stream) {
  if (rows > 0 && ld > 0)
    launch(fill_kernel, blocks(rows), dim3(256), 0, stream, part, rows, cols, ld, origin, seed,
           values);
}
void compare(const half* result, int64_t ld, const half* reference, int64_t reference_ld, int rows,
             int cols, float tolerance, unsigned* wrong, cudaStream_t stream) {
  if (rows > 0 && cols > 0)
    launch(compare_kernel, blocks(rows), dim3(256), 0, stream, result, ld, reference, reference_ld,
           rows, cols, tolerance, wrong);
}
void compare_untouched(const half* result, int64_t ld, int rows, int cols, int all_rows,
                       unsigned* wrong, cudaStream_t stream) {
  if (all_rows > 0)
    launch(untouched_kernel, blocks(all_rows), dim3(256), 0, stream, result, ld, rows, cols,
           all_rows, wrong);
}
void spin(int64_t nanoseconds, cudaStream_t stream) {
  launch(spin_kernel, dim3(1), dim3(1), 0, stream, nanoseconds);
}
void gate(const uint32_t* open, GateWords words, Ranks ranks, uint32_t round, cudaStream_t stream) {
  launch(gate_kernel, dim3(1), dim3(1), 0, stream, open, words, ranks, round);
}
void load_device_code() {
  cudaFuncAttributes attributes;
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, fill_kernel));
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, compare_kernel));
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, untouched_kernel));
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, spin_kernel));
  LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, gate_kernel));
}

}  // namespace ladder::multi_gpu
