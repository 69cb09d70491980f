#pragma once
// A problem's matrices in device memory.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness.h"
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
  T* get_or_null() const { return bytes_ > 0 ? data_ : nullptr; }  // null for no elements
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

// A problem whose matrices do not exist yet.
template <class In, class Out>
Gemm<In, Out> without_matrices(Shape shape, Padding padding, Layout layout) {
  Gemm<In, Out> p{};
  p.M = shape.m, p.N = shape.n, p.K = shape.k;
  p.lda = leading_dimension_a<In>(shape, layout) + padding.a;
  p.ldb = leading_dimension_b<In>(shape, layout) + padding.b;
  p.transposed_a = layout.transposed_a, p.transposed_b = layout.transposed_b;
  p.ldc = leading_dimension<Out>(shape.n) + padding.c;
  return p;
}

// Bytes of workspace that a variant needs for a problem.
template <class In, class Out>
uint64_t workspace_bytes(const Variant<In, Out>& variant, Shape shape, Padding padding = {},
                         Layout layout = USUAL_LAYOUT<In>) {
  if (!variant.workspace_bytes) return 0;
  return variant.workspace_bytes(without_matrices<In, Out>(shape, padding, layout));
}

// The most that one of them needs.
template <class In, class Out>
uint64_t workspace_bytes(const std::vector<Variant<In, Out>>& variants, Shape shape,
                         Padding padding = {}, Layout layout = USUAL_LAYOUT<In>) {
  uint64_t most = 0;
  for (const auto& variant : variants)
    most = std::max(most, workspace_bytes(variant, shape, padding, layout));
  return most;
}

// A workspace in device memory between two guard bands. What it holds is arbitrary at each call: a
// kernel that takes it for zeros finds NaN.
class Workspace {
 public:
  static constexpr uint64_t GUARD_BYTES = 4096;
  // Bytes of device memory that a workspace of `bytes` takes.
  static uint64_t footprint(uint64_t bytes) { return bytes > 0 ? bytes + 2 * GUARD_BYTES : 0; }

  explicit Workspace(uint64_t capacity) : memory_(footprint(capacity)), capacity_(capacity) {}

  uint64_t capacity() const { return capacity_; }
  void* get() const { return memory_.get() + GUARD_BYTES; }
  void poison(cudaStream_t stream) { memory_.fill(POISON, stream); }
  // After poison() and a launch that was given `bytes`: what was written outside them, or "".
  std::string find_stray_write(uint64_t bytes) const {
    const auto band = [&](uint64_t offset) {
      std::vector<unsigned char> copy(GUARD_BYTES);
      LADDER_CUDA_CHECK(
          cudaMemcpy(copy.data(), memory_.get() + offset, GUARD_BYTES, cudaMemcpyDeviceToHost));
      return copy;
    };
    const auto written = [](unsigned char byte) { return byte != POISON; };
    const auto before = band(0), after = band(GUARD_BYTES + bytes);
    const auto first = std::find_if(before.begin(), before.end(), written);
    if (first != before.end())
      return "wrote before the workspace, to byte -" + std::to_string(before.end() - first);
    const auto stray = std::find_if(after.begin(), after.end(), written);
    if (stray != after.end())
      return "wrote past the end of the workspace, to byte " +
             std::to_string(bytes + static_cast<uint64_t>(stray - after.begin())) + " of " +
             std::to_string(bytes);
    return "";
  }

 private:
  DeviceBuffer<unsigned char> memory_;
  uint64_t capacity_;
};

// Bytes of device memory that one set of A, B, C and the epilogue's matrices takes, where there are
// groups with a B for each. A double: it cannot overflow.
template <class In, class Out>
double bytes_per_set(Shape shape, const EpilogueChoice& epilogue = {},
                     Layout layout = USUAL_LAYOUT<In>, size_t groups = 0) {
  const double a = static_cast<double>(layout.transposed_a ? shape.k : shape.m) *
                   static_cast<double>(leading_dimension_a<In>(shape, layout));
  const double b = static_cast<double>(layout.transposed_b ? shape.n : shape.k) *
                   static_cast<double>(leading_dimension_b<In>(shape, layout)) *
                   static_cast<double>(std::max(size_t{1}, groups));
  const double c =
      static_cast<double>(shape.m) * static_cast<double>(leading_dimension<Out>(shape.n));
  const int of_its_size = 1 + (epilogue.beta != 0) + epilogue.residual;
  return (a + b) * sizeof(In) + (of_its_size * c + 2 * GUARD) * sizeof(Out);
}

// Several copies of the same operands, each with a C of its own. Timing goes round them, so that no
// launch finds its operands in the L2 cache only because the one before it left them there. They
// share one workspace, as the calls on one stream of a program would.
template <class In, class Out>
class BufferSets {
 public:
  // With a workspace for any of `variants`.
  BufferSets(const Problem<In, Out>& problem, int count,
             const std::vector<Variant<In, Out>>& variants = {})
      : problem_(problem),
        scales_a_(problem.scales_a.size()),
        scales_b_(problem.scales_b.size()),
        ends_(problem.ends.size()) {
    ends_.upload(problem.ends);
    scales_a_.upload(problem.scales_a);
    scales_b_.upload(problem.scales_b);
    for (int i = 0; i < count; ++i) {
      Set& set = sets_.emplace_back(
          Set{DeviceBuffer<In>(problem.a.size()), DeviceBuffer<In>(problem.b.size()),
              DeviceBuffer<Out>(problem.make_output().size()), upload(problem.epilogue.addend),
              upload(problem.epilogue.residual), upload(problem.epilogue.bias),
              upload(problem.epilogue.row_scale), upload(problem.epilogue.column_scale)});
      set.a.upload(problem.a);
      set.b.upload(problem.b);
    }
    const uint64_t bytes =
        workspace_bytes(variants, problem.shape, problem.padding(), problem.layout);
    if (bytes > 0) workspace_.emplace(bytes).poison(nullptr);
    LADDER_CUDA_CHECK(
        cudaDeviceSynchronize());  // runs are on streams that do not wait for this one
  }

  int count() const { return static_cast<int>(sets_.size()); }
  // Set number i, without a workspace.
  Gemm<In, Out> gemm(int i, cudaStream_t stream) const {
    const Set& set = sets_[static_cast<size_t>(i)];
    Gemm<In, Out> p{
        problem_.shape.m, problem_.shape.n, problem_.shape.k,    set.a.get(),  problem_.lda,
        set.b.get(),      problem_.ldb,     set.c.get() + GUARD, problem_.ldc, stream};
    p.transposed_a = problem_.layout.transposed_a;
    p.transposed_b = problem_.layout.transposed_b;
    if (!problem_.scales_a.empty())
      p.scales = {scales_a_.get(), problem_.lds_a, scales_b_.get(), problem_.lds_b};
    if (!problem_.ends.empty()) p.groups = {problem_.matrices(), ends_.get(), problem_.ends.data()};
    const EpilogueChoice& choice = problem_.epilogue.choice;
    p.epilogue = {choice.alpha,
                  set.row_scale.get_or_null(),
                  set.column_scale.get_or_null(),
                  choice.beta,
                  set.addend.get_or_null(),
                  problem_.ldc,
                  set.bias.get_or_null(),
                  choice.activation,
                  set.residual.get_or_null(),
                  problem_.ldc,
                  choice.zero_point};
    return p;
  }
  // The same with the workspace that `variant` asks for and not a byte more.
  Gemm<In, Out> gemm(int i, cudaStream_t stream, const Variant<In, Out>& variant) const {
    Gemm<In, Out> p = gemm(i, stream);
    p.workspace_bytes =
        workspace_bytes(variant, problem_.shape, problem_.padding(), problem_.layout);
    if (p.workspace_bytes > 0) p.workspace = workspace_.value().get();
    return p;
  }

  const void* workspace() const { return workspace_ ? workspace_->get() : nullptr; }

  // Launches of `variant` on the set of a given number; their arguments are made now.
  std::function<void(int)> launches(const Variant<In, Out>& variant, cudaStream_t stream) const {
    std::vector<Gemm<In, Out>> problems;
    for (int i = 0; i < count(); ++i) problems.push_back(gemm(i, stream, variant));
    return [=](int set) { variant.gemm(problems[static_cast<size_t>(set)]); };
  }

  // Poisons C of the first set and the workspace, runs the variant on them and returns what is then
  // in memory.
  Output<Out> run_poisoned(const Variant<In, Out>& variant, cudaStream_t stream) {
    Output<Out> output = problem_.make_output();
    output.poison();
    sets_.front().c.upload(output.memory);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());  // `stream` may be one that does not wait
    if (workspace_) workspace_->poison(stream);
    const Gemm<In, Out> p = gemm(0, stream, variant);
    variant.gemm(p);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
    sets_.front().c.download(output.memory);
    if (workspace_) output.stray = workspace_->find_stray_write(p.workspace_bytes);
    return output;
  }
  // The same for something that needs no workspace.
  template <class Function>
  Output<Out> run_poisoned(const Function& gemm, cudaStream_t stream) {
    return run_poisoned(Variant<In, Out>("", gemm), stream);
  }

 private:
  struct Set {
    DeviceBuffer<In> a, b;
    DeviceBuffer<Out> c;
    DeviceBuffer<Out> addend, residual, bias;  // of no elements where there is nothing
    DeviceBuffer<float> row_scale, column_scale;
  };
  template <class T>
  static DeviceBuffer<T> upload(const std::vector<T>& from) {
    DeviceBuffer<T> buffer(from.size());
    if (!from.empty()) buffer.upload(from);
    return buffer;
  }
  const Problem<In, Out>& problem_;
  std::vector<Set> sets_;
  DeviceBuffer<float> scales_a_, scales_b_;  // small: in every set the same
  DeviceBuffer<int> ends_;                   // of groups, likewise
  std::optional<Workspace> workspace_;
};

}  // namespace ladder::harness
