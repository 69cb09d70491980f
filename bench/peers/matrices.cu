#include <algorithm>

#include "harness/bound.h"
#include "harness/random.h"
#include "matrices.h"

namespace ladder::peers {

namespace {

constexpr int THREADS = 256;

int blocks_for(uint64_t elements) {
  constexpr uint64_t MOST = 4096;  // each goes on to further elements
  return static_cast<int>(std::clamp<uint64_t>((elements + THREADS - 1) / THREADS, 1, MOST));
}

// The first element of this thread, and how far it is to its next one.
__device__ uint64_t first() {
  return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ uint64_t stride() {
  return static_cast<uint64_t>(gridDim.x) * blockDim.x;
}

__device__ float to_float(float x) {
  return x;
}
__device__ float to_float(half x) {
  return __half2float(x);
}
__device__ float to_float(bf16 x) {
  return __bfloat162float(x);
}
__device__ void assign(float& to, float x) {
  to = x;
}
__device__ void assign(half& to, float x) {
  to = __float2half(x);
}
__device__ void assign(bf16& to, float x) {
  to = __float2bfloat16(x);
}

template <class T>
__global__ void draw_kernel(T* data, uint64_t count, uint64_t seed) {
  for (uint64_t i = first(); i < count; i += stride())
    assign(data[i], harness::random_uniform(seed, harness::Stream::A, i));
}

__device__ bool is_within(double c, double reference, Tolerance tolerance) {
  return fabs(c - reference) <= tolerance.least + tolerance.of_reference * fabs(reference);
}

// Poison is 0xFF in every byte.
template <class T>
__device__ bool is_poison(const T& x) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&x);
  bool poison = true;
  for (size_t i = 0; i < sizeof x; ++i) poison = poison && bytes[i] == harness::POISON;
  return poison;
}

template <class Out>
__global__ void compare_kernel(const Out* c, const Out* reference, uint64_t rows, uint64_t columns,
                               uint64_t ld, Tolerance tolerance, Differences* differences) {
  unsigned long long wrong = 0, beside = 0;
  for (uint64_t i = first(); i < rows * ld + harness::GUARD; i += stride()) {
    if (i < rows * ld && i % ld < columns)
      wrong += !is_within(to_float(c[i]), to_float(reference[i]), tolerance);  // NaN is wrong, too
    else
      beside += !is_poison(c[i]);
  }
  if (wrong > 0) atomicAdd(&differences->wrong, wrong);
  if (beside > 0) atomicAdd(&differences->beside, beside);
}

template <class In, class Out>
__global__ void doubles_kernel(Gemm<In, Out> p, Tolerance tolerance, Differences* differences) {
  const uint64_t i = first();
  const uint64_t row = harness::mix(2 * i + 1) % static_cast<uint64_t>(p.M),
                 column = harness::mix(2 * i + 2) % static_cast<uint64_t>(p.N);
  double sum = 0;
  for (int k = 0; k < p.K; ++k)
    sum += static_cast<double>(to_float(p.A[row * p.lda + k])) *
           static_cast<double>(to_float(p.B[k * p.ldb + column]));
  if (!is_within(to_float(p.C[row * p.ldc + column]), sum, tolerance))
    atomicAdd(&differences->wrong, 1ULL);
}

// Calls count(differences) with zeros in device memory; what is there afterwards.
template <class Count>
Differences counted(cudaStream_t stream, Count count) {
  Differences result;
  // To the end of the program: taking and giving back memory takes longer than small products.
  static Differences* const on_device = [] {
    void* memory = nullptr;
    LADDER_CUDA_CHECK(cudaMalloc(&memory, sizeof(Differences)));
    return static_cast<Differences*>(memory);
  }();
  LADDER_CUDA_CHECK(cudaMemsetAsync(on_device, 0, sizeof result, stream));
  count(on_device);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  LADDER_CUDA_CHECK(cudaMemcpy(&result, on_device, sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

}  // namespace

template <class T>
void draw_uniform(T* data, size_t count, uint64_t seed, cudaStream_t stream) {
  launch(draw_kernel<T>, dim3(blocks_for(count)), dim3(THREADS), 0, stream, data, count, seed);
}

template <class In, class Out>
Tolerance tolerance(int K) {
  const double norm = std::sqrt(K);
  const auto bound = [&](double reference) {
    return harness::difference_bound<Out, typename harness::Formats<In, Out>::Accumulate>(
        K, norm, norm, reference);
  };
  // Beyond the smallest numbers it is linear in the reference.
  return {bound(0), bound(2) - bound(1)};
}

template <class Out>
Differences compare(const Out* c, const Out* reference, harness::Shape shape, int64_t ld,
                    Tolerance tolerance, cudaStream_t stream) {
  const auto rows = static_cast<uint64_t>(shape.m), columns = static_cast<uint64_t>(shape.n);
  return counted(stream, [&](Differences* differences) {
    launch(compare_kernel<Out>, dim3(blocks_for(rows * static_cast<uint64_t>(ld))), dim3(THREADS),
           0, stream, c, reference, rows, columns, static_cast<uint64_t>(ld), tolerance,
           differences);
  });
}

template <class In, class Out>
Differences compare_with_doubles(const Gemm<In, Out>& p, Tolerance tolerance) {
  constexpr int BLOCKS = 4;
  return counted(p.stream, [&](Differences* differences) {
    launch(doubles_kernel<In, Out>, dim3(BLOCKS), dim3(THREADS), 0, p.stream, p, tolerance,
           differences);
  });
}

#define INSTANTIATE(In, Out, Accumulate)                                                   \
  template void draw_uniform(In*, size_t, uint64_t, cudaStream_t);                         \
  template Tolerance tolerance<In, Out>(int);                                              \
  template Differences compare(const Out*, const Out*, harness::Shape, int64_t, Tolerance, \
                               cudaStream_t);                                              \
  template Differences compare_with_doubles(const Gemm<In, Out>&, Tolerance);
// The formats in which stages, or the library, compete.
INSTANTIATE(float, float, float)
INSTANTIATE(half, half, float)
INSTANTIATE(bf16, bf16, float)

}  // namespace ladder::peers
