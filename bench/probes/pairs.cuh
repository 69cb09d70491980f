#pragma once
// The kernels of build/pairs: each technique as a bad and a good kernel, with as little else as
// possible. Sizes are what pairs.cu launches: grids fit, and so nothing is compared with an end.
#include "../../kernels/launch.cuh"  // says whether this is the CPU device
#include "../../kernels/ptx/cp_async.cuh"

#ifndef LADDER_CPU_DEVICE
  #include <cuda/pipeline>
#endif

namespace pairs {

// --- Several accumulators, unrolling -------------------------------------------------------------

constexpr int WEIGHTS = 4096, WEIGHT_QUADS = WEIGHTS / 4;

// out[i] = the sum of all in[i] * weights[k]. An FFMA waits for the one before it in the same sum.
template <int SUMS, int UNROLL>
__global__ void weigh_kernel(const float* in, const float4* weights, float* out) {
  __shared__ float4 shared[WEIGHT_QUADS];
  for (int k = threadIdx.x; k < WEIGHT_QUADS; k += blockDim.x) shared[k] = weights[k];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[i];
  float sums[SUMS] = {};
#pragma unroll UNROLL
  for (int k = 0; k < WEIGHT_QUADS; ++k) {
    const float4 w = shared[k];
    sums[0] = fmaf(x, w.x, sums[0]);
    sums[1 % SUMS] = fmaf(x, w.y, sums[1 % SUMS]);
    sums[2 % SUMS] = fmaf(x, w.z, sums[2 % SUMS]);
    sums[3 % SUMS] = fmaf(x, w.w, sums[3 % SUMS]);
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  out[i] = sum;
}

// --- A chain of element-wise kernels -------------------------------------------------------------

__device__ inline float bias_of(float x, float b) {
  return x + b;
}
__device__ inline float relu_of(float x) {
  return fmaxf(x, 0.0f);
}
__device__ inline float scale_of(float x, float factor) {
  return x * factor;
}
template <class Function>
__device__ float4 each(float4 v, Function f) {
  return make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
}

__global__ void bias_kernel(const float4* in, float b, float4* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = each(in[i], [=](float x) { return bias_of(x, b); });
}
__global__ void relu_kernel(float4* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = each(out[i], [](float x) { return relu_of(x); });
}
__global__ void scale_kernel(float factor, float4* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = each(out[i], [=](float x) { return scale_of(x, factor); });
}
__global__ void fused_kernel(const float4* in, float b, float factor, float4* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = each(in[i], [=](float x) { return scale_of(relu_of(bias_of(x, b)), factor); });
}

// --- A float, or four ----------------------------------------------------------------------------

template <class T>
__global__ void copy_kernel(const T* in, T* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[i];
}

// --- Loops of different lengths ------------------------------------------------------------------

// Of 32 neighbours one needs many steps. v comes near 2x: it is x (2 - 2^(1 - steps)).
constexpr int FEW_STEPS = 8, MANY_STEPS = 256;
__device__ inline float halved(float x, int steps) {
  float v = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) v = fmaf(v, 0.5f, x);
  return v;
}
// With ALIKE a warp takes the numbers i, i + 32, i + 64 ..., whose loops are of one length.
template <bool ALIKE>
__global__ void lengths_kernel(const float* in, float* out) {
  const int thread = threadIdx.x;
  const int i = blockIdx.x * 1024 + (ALIKE ? thread % 32 * 32 + thread / 32 : thread);
  out[i] = halved(in[i], i % 32 == 0 ? MANY_STEPS : FEW_STEPS);
}

// --- Gathering -----------------------------------------------------------------------------------

// Rows of WIDTH floats are read in an order without neighbours: a permutation of `rows`, which is a
// power of two.
template <int WIDTH>
__host__ __device__ int gathered(int i, int rows) {
  return static_cast<int>(static_cast<unsigned>(i / WIDTH) * 2654435761U &
                          static_cast<unsigned>(rows - 1)) *
             WIDTH +
         i % WIDTH;
}
template <int WIDTH>
__global__ void gather_kernel(const float* in, int rows, float* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[gathered<WIDTH>(i, rows)];
}

// --- Trees ---------------------------------------------------------------------------------------

enum class Tree { EVERY_SECOND, PACKED_STRIDED, HALVES };

// The sum of 1024 floats a block of 256 threads. EVERY_SECOND: the threads that add are spread over
// all warps. PACKED_STRIDED: they are the first ones, but their words are far apart. HALVES: the
// first ones, and neighbouring words.
template <Tree TREE>
__global__ void tree_kernel(const float4* in, float* out) {
  __shared__ float sums[256];
  const int thread = threadIdx.x;
  const float4 v = in[blockIdx.x * 256 + thread];
  sums[thread] = (v.x + v.y) + (v.z + v.w);
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    const int distance = TREE == Tree::HALVES ? 128 / step : step;
    if (TREE == Tree::EVERY_SECOND) {
      if (thread % (2 * step) == 0) sums[thread] += sums[thread + distance];
    } else if (TREE == Tree::PACKED_STRIDED) {
      const int at = 2 * step * thread;
      if (at < 256) sums[at] += sums[at + distance];
    } else {
      if (thread < distance) sums[thread] += sums[thread + distance];
    }
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = sums[0];
}

// --- A small matrix that is read again and again -------------------------------------------------

// out[i] = in[i] * small[i % quads]. With STREAMS `in` and `out` are marked to leave L2 first.
template <bool STREAMS>
__global__ void small_matrix_kernel(const float4* in, const float4* small, int quads, float4* out) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const auto product = [](float4 a, float4 b) {
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
  };
#ifndef LADDER_CPU_DEVICE  // which has no caches
  if (STREAMS) {
    __stcs(out + i, product(__ldcs(in + i), small[i % quads]));
    return;
  }
#endif
  out[i] = product(in[i], small[i % quads]);
}

// --- Kernels too small for the GPU ---------------------------------------------------------------

// 16 blocks of 256 threads, each thread with a sum of its own.
__global__ void few_blocks_kernel(const float4* in, int quads, float* out) {
  const int first = blockIdx.x * 256 + threadIdx.x;
  float sum = 0;
  for (int i = first; i < quads; i += 16 * 256) {
    const float4 v = in[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  out[first] = sum;
}

// --- Who takes which item ------------------------------------------------------------------------

// How many hundreds of steps an item takes: all the same, or 1 to 32, drawn.
__host__ __device__ inline int hundreds(int item, bool uneven) {
  return uneven ? 1 + static_cast<int>(static_cast<unsigned>(item) * 2654435761U >> 27) : 16;
}
// Blocks that stay. Without QUEUE block b takes the items b, b + gridDim.x, ...; with it each block
// takes the next item that is left. *next has to be 0.
template <bool QUEUE>
__global__ void items_kernel(const float* in, int items, bool uneven, int* next, float* out) {
  __shared__ int taken;
  int item = blockIdx.x;
  while (true) {
    if (QUEUE) {
      if (threadIdx.x == 0) taken = atomicAdd(next, 1);
      __syncthreads();
      item = taken;
      __syncthreads();  // before it is overwritten
    }
    if (item >= items) return;
    const int i = item * 256 + threadIdx.x;
    out[i] = halved(in[i], 100 * hundreds(item, uneven));
    if (!QUEUE) item += gridDim.x;
  }
}

// --- How many warps fit --------------------------------------------------------------------------

// A matrix of OUTPUTS x STEPS weights times one of STEPS x columns: a thread has a column, and its
// sums stay in registers. It has one load on its way at a time; other warps have to hide the wait.
constexpr int STEPS = 64, OUTPUTS = 48;
__device__ inline void outputs_of_a_column(const float* in, const float4* weights, int columns,
                                           float* out) {
  __shared__ float4 shared[STEPS][OUTPUTS / 4];
  for (int i = threadIdx.x; i < STEPS * OUTPUTS / 4; i += blockDim.x)
    shared[i / (OUTPUTS / 4)][i % (OUTPUTS / 4)] = weights[i];
  __syncthreads();
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sums[OUTPUTS] = {};
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    const float x = in[step * columns + column];
#pragma unroll
    for (int j = 0; j < OUTPUTS; j += 4) {
      const float4 w = shared[step][j / 4];
      sums[j] = fmaf(x, w.x, sums[j]);
      sums[j + 1] = fmaf(x, w.y, sums[j + 1]);
      sums[j + 2] = fmaf(x, w.z, sums[j + 2]);
      sums[j + 3] = fmaf(x, w.w, sums[j + 3]);
    }
  }
#pragma unroll
  for (int j = 0; j < OUTPUTS; ++j) out[j * columns + column] = sums[j];
}
// Blocks of any size: the compiler does not know how many threads have to share the registers.
__global__ void any_block_kernel(const float* in, const float4* weights, int columns, float* out) {
  outputs_of_a_column(in, weights, columns, out);
}
// Blocks of up to 256 threads, of which at least BLOCKS have to fit on a multiprocessor.
template <int BLOCKS>
__global__ void __launch_bounds__(256, BLOCKS)
    blocks_kernel(const float* in, const float4* weights, int columns, float* out) {
  outputs_of_a_column(in, weights, columns, out);
}

// --- A ring of copies ----------------------------------------------------------------------------

constexpr int RING = 4, RING_STEPS = 64;

// Each thread adds up RING_STEPS quads, which pass through its own places of shared memory. No
// thread reads another's place, and so there is no barrier.
__global__ void ring_ptx_kernel(const float4* in, float* out) {
  __shared__ float4 ring[RING][256];
  const int thread = threadIdx.x;
  const float4* const mine = in + blockIdx.x * 256 * RING_STEPS + thread;
  const auto order = [&](int step) {
    if (step < RING_STEPS)
      ladder::ptx::cp_async_cg_16(&ring[step % RING][thread], mine + step * 256, 16);
    ladder::ptx::cp_async_commit_group();
  };
  for (int step = 0; step < RING - 1; ++step) order(step);
  float sum = 0;
#pragma unroll RING
  for (int step = 0; step < RING_STEPS; ++step) {
    order(step + RING - 1);
    ladder::ptx::cp_async_wait_group<RING - 1>();
    const float4 v = ring[step % RING][thread];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  out[blockIdx.x * 256 + thread] = sum;
}

#ifndef LADDER_CPU_DEVICE
// The same with the library's pipeline of one thread.
__global__ void ring_library_kernel(const float4* in, float* out) {
  __shared__ float4 ring[RING][256];
  const int thread = threadIdx.x;
  const float4* const mine = in + blockIdx.x * 256 * RING_STEPS + thread;
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  const auto order = [&](int step) {
    pipeline.producer_acquire();
    if (step < RING_STEPS)
      cuda::memcpy_async(&ring[step % RING][thread], mine + step * 256,
                         cuda::aligned_size_t<16>(16), pipeline);
    pipeline.producer_commit();
  };
  for (int step = 0; step < RING - 1; ++step) order(step);
  float sum = 0;
  #pragma unroll RING
  for (int step = 0; step < RING_STEPS; ++step) {
    order(step + RING - 1);
    cuda::pipeline_consumer_wait_prior<RING - 1>(pipeline);
    const float4 v = ring[step % RING][thread];
    sum += (v.x + v.y) + (v.z + v.w);
    pipeline.consumer_release();
  }
  out[blockIdx.x * 256 + thread] = sum;
}
#endif

}  // namespace pairs
