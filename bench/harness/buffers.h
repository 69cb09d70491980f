#pragma once
// A problem's matrices in device memory.
#include <utility>
#include <vector>

#include "launch.cuh"
#include "problem.h"

namespace ladder::harness {

// Owns device memory for `count` elements.
template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : bytes_(count * sizeof(T)) {
    LADDER_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), bytes_));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  T* get() const { return data_; }
  void upload(const std::vector<T>& from) {
    LADDER_CUDA_CHECK(cudaMemcpy(data_, from.data(), bytes_, cudaMemcpyHostToDevice));
  }
  void download(std::vector<T>& to) const {
    LADDER_CUDA_CHECK(cudaMemcpy(to.data(), data_, bytes_, cudaMemcpyDeviceToHost));
  }
  void fill(int byte, cudaStream_t stream) {
    LADDER_CUDA_CHECK(cudaMemsetAsync(data_, byte, bytes_, stream));
  }

 private:
  T* data_ = nullptr;
  size_t bytes_;
};

// Bytes of device memory that one set of A, B and C takes. A double: it cannot overflow.
template <class In, class Out>
double bytes_per_set(Shape shape) {
  const double a =
      static_cast<double>(shape.m) * static_cast<double>(leading_dimension<In>(shape.k));
  const double b =
      static_cast<double>(shape.k) * static_cast<double>(leading_dimension<In>(shape.n));
  const double c =
      static_cast<double>(shape.m) * static_cast<double>(leading_dimension<Out>(shape.n));
  return (a + b) * sizeof(In) + (c + 2 * GUARD) * sizeof(Out);
}

// Several copies of the same operands, each with a C of its own. Timing goes round them, so that no
// launch finds its operands in the L2 cache only because the one before it left them there.
template <class In, class Out>
class BufferSets {
 public:
  BufferSets(const Problem<In, Out>& problem, int count) : problem_(problem) {
    for (int i = 0; i < count; ++i) {
      Set& set = sets_.emplace_back(Set{DeviceBuffer<In>(problem.a.size()),
                                        DeviceBuffer<In>(problem.b.size()),
                                        DeviceBuffer<Out>(problem.make_output().size())});
      set.a.upload(problem.a);
      set.b.upload(problem.b);
      set.c.fill(POISON, nullptr);
    }
    LADDER_CUDA_CHECK(
        cudaDeviceSynchronize());  // runs are on streams that do not wait for this one
  }

  int count() const { return static_cast<int>(sets_.size()); }
  Gemm<In, Out> gemm(int i, cudaStream_t stream) const {
    const Set& set = sets_[static_cast<size_t>(i)];
    return {problem_.shape.m, problem_.shape.n, problem_.shape.k,    set.a.get(),  problem_.lda,
            set.b.get(),      problem_.ldb,     set.c.get() + GUARD, problem_.ldc, stream};
  }

  // Poisons C of the first set, runs `gemm` on it and returns what is then in memory.
  template <class Function>
  Output<Out> run_poisoned(const Function& gemm, cudaStream_t stream) {
    sets_.front().c.fill(POISON, stream);
    gemm(this->gemm(0, stream));
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    Output<Out> output = problem_.make_output();
    sets_.front().c.download(output.memory);
    return output;
  }

 private:
  struct Set {
    DeviceBuffer<In> a, b;
    DeviceBuffer<Out> c;
  };
  const Problem<In, Out>& problem_;
  std::vector<Set> sets_;
};

}  // namespace ladder::harness
