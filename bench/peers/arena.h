#pragma once
// Device memory for all shapes of a run, taken once: operands are drawn once, and shapes only point
// into it. The sets of a shape lie one after another.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/buffers.h"
#include "matrices.h"

namespace ladder::peers {

// The elements of one set of a shape, each matrix on a line of L2, and operands by rows or by
// columns.
template <class In, class Out>
struct SetSize {
  int64_t a, b, c;

  explicit SetSize(harness::Shape s)
      : a(operand(s.m, s.k)),
        b(operand(s.k, s.n)),
        c(rounded(s.m * harness::leading_dimension<Out>(s.n) + harness::GUARD)) {}
  double bytes() const {
    return static_cast<double>(a + b) * sizeof(In) + static_cast<double>(c) * sizeof(Out);
  }
  // As many as take up twice the L2 cache, which then holds nothing of a set when its turn comes.
  int sets(uint64_t l2_bytes) const {
    constexpr double MOST = 1000;
    return static_cast<int>(
        std::clamp(std::ceil(2.0 * static_cast<double>(l2_bytes) / bytes()), 1.0, MOST));
  }

 private:
  static int64_t operand(int rows, int columns) {
    return rounded(std::max(rows * harness::leading_dimension<In>(columns),
                            columns * harness::leading_dimension<In>(rows)));
  }
  static int64_t rounded(int64_t elements) {
    constexpr int64_t LINE = 512;
    return (elements + LINE - 1) / LINE * LINE;
  }
};

template <class In, class Out>
class Arena {
 public:
  static constexpr uint64_t WORKSPACE_BYTES = uint64_t{256} << 20;

  Arena(const std::vector<harness::Shape>& shapes, uint64_t l2_bytes)
      : l2_bytes_(l2_bytes),
        operand_elements_(
            largest(shapes, [&](const Size& s) { return (s.a + s.b) * s.sets(l2_bytes); })),
        operands_(operand_elements_),
        results_(largest(shapes, [&](const Size& s) { return s.c * s.sets(l2_bytes); })),
        reference_(largest(shapes, [](const Size& s) { return s.c; })),
        workspace_(WORKSPACE_BYTES) {}

  // The operands of all sets of all shapes.
  void draw(uint64_t seed, cudaStream_t stream) const {
    draw_uniform(operands_.get(), operand_elements_, seed, stream);
  }

  int sets(harness::Shape shape) const { return Size(shape).sets(l2_bytes_); }
  // Set number `set` of a shape, with `workspace_bytes` to work in.
  Gemm<In, Out> gemm(harness::Shape s, int set, uint64_t workspace_bytes,
                     cudaStream_t stream) const {
    const Size size(s);
    const In* const a = operands_.get() + set * (size.a + size.b);
    Gemm<In, Out> p{s.m,
                    s.n,
                    s.k,
                    a,
                    harness::leading_dimension<In>(s.k),
                    a + size.a,
                    harness::leading_dimension<In>(s.n),
                    results_.get() + set * size.c,
                    harness::leading_dimension<Out>(s.n),
                    stream};
    return with_workspace(p, workspace_bytes);
  }
  // `workspace_bytes` are at most WORKSPACE_BYTES.
  Gemm<In, Out> with_workspace(Gemm<In, Out> p, uint64_t workspace_bytes) const {
    p.workspace = workspace_bytes > 0 ? workspace_.get() : nullptr;
    p.workspace_bytes = workspace_bytes;
    return p;
  }
  Out* reference() const { return reference_.get(); }
  // Of a C and the elements after it.
  static size_t result_bytes(harness::Shape s) {
    return static_cast<size_t>(s.m * harness::leading_dimension<Out>(s.n) + harness::GUARD) *
           sizeof(Out);
  }

 private:
  using Size = SetSize<In, Out>;
  template <class Count>
  static size_t largest(const std::vector<harness::Shape>& shapes, Count count) {
    int64_t most = 0;
    for (const harness::Shape& shape : shapes) most = std::max(most, count(Size(shape)));
    return static_cast<size_t>(most);
  }

  uint64_t l2_bytes_;
  size_t operand_elements_;
  harness::DeviceBuffer<In> operands_;
  harness::DeviceBuffer<Out> results_, reference_;
  harness::DeviceBuffer<unsigned char> workspace_;
};

}  // namespace ladder::peers
