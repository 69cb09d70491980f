#pragma once
// The operands of one run, on the host, with what checking them needs.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bound.h"
#include "data.h"
#include "epilogue.h"
#include "layout.h"
#include "verify.h"
#include "wide.h"

namespace ladder::harness {

struct Shape {
  int m, n, k;
};

// Elements to add to each leading dimension beyond the smallest multiple of 16 bytes.
struct Padding {
  int64_t a = 0, b = 0, c = 0;
};

// The smallest leading dimension for rows of `width`: a multiple of 16 bytes.
template <class T>
int64_t leading_dimension(int width) {
  constexpr int64_t UNIT = PER_16_BYTES<T>;
  return (width + UNIT - 1) / UNIT * UNIT;
}

template <class In>
int64_t leading_dimension_a(Shape shape, Layout layout) {
  return leading_dimension<In>(layout.transposed_a ? shape.m : shape.k);
}
template <class In>
int64_t leading_dimension_b(Shape shape, Layout layout) {
  return leading_dimension<In>(layout.transposed_b ? shape.k : shape.n);
}

template <class In, class Out>
struct Problem {
  Shape shape;
  Data data;
  int64_t lda, ldb, ldc;
  Sums sums;
  Wide wide;  // of Data::WIDE
  Layout layout;
  // The row at which each group ends, as in Gemm; of one product none. With groups, B's matrices
  // are behind each other, and no operand is transposed.
  std::vector<int> ends;
  // With those leading dimensions, each perhaps transposed. Elements beyond the width are
  // NaN, so that a kernel which lets one of them into a result fails.
  std::vector<In> a, b;
  // BlockScales, where the sums have them.
  int64_t lds_a = 0, lds_b = 0;
  std::vector<float> scales_a, scales_b;
  EpilogueData<Out> epilogue;
  // 2-norms of A's rows and B's columns, scaled; those of one group's B behind those of another's.
  std::vector<double> row_norms, column_norms;

  Problem(Shape shape, Data data, uint64_t seed, Padding padding = {}, Sums sums = Sums::FP32,
          const EpilogueChoice& epilogue = {}, Layout layout = USUAL_LAYOUT<In>,
          const std::vector<int>& groups = {});

  // How many matrices B has, and which of them a row of A is multiplied by.
  int matrices() const { return ends.empty() ? 1 : static_cast<int>(ends.size()); }
  int group_of(int row) const {
    return static_cast<int>(std::upper_bound(ends.begin(), ends.end(), row) - ends.begin());
  }

  // Elements, scaled. With groups, B's `k` counts the rows of all its matrices.
  double at_a(int i, int k) const {
    const double x = Number<In>::to_float(
        a[static_cast<size_t>(layout.transposed_a ? k * lda + i : i * lda + k)]);
    return scales_a.empty() ? x
                            : x * double{scales_a[static_cast<size_t>(k / SCALED_K * lds_a + i)]};
  }
  double at_b(int k, int j) const {
    const double x = Number<In>::to_float(
        b[static_cast<size_t>(layout.transposed_b ? j * ldb + k : k * ldb + j)]);
    return scales_b.empty()
               ? x
               : x * double{scales_b[static_cast<size_t>(j / SCALED_N * lds_b + k / SCALED_K)]};
  }

  Output<Out> make_output() const { return {shape.m, shape.n, ldc}; }
  Padding padding() const {
    return {lda - leading_dimension_a<In>(shape, layout),
            ldb - leading_dimension_b<In>(shape, layout), ldc - leading_dimension<Out>(shape.n)};
  }
  // What has to be stored of a product; where it cannot be but one number, that. Rounded through
  // fp32.
  Out stored(int i, int j, double product) const;
  // `reference` is needed for problems with an epilogue, and has to live as long as the bound.
  Bound bound(const Output<Out>* reference = nullptr, Rounds rounds = Rounds::ONCE) const;
};

// Rows `rows` of A * B, accumulated in double: n values for each.
template <class In, class Out>
std::vector<std::vector<double>> reference_rows(const Problem<In, Out>& problem,
                                                const std::vector<int>& rows);

// The results of the epilogue on products, of which product(i, j) is one; rounded to Out through
// fp32.
template <class In, class Out>
Output<Out> reference_of_products(const Problem<In, Out>& problem,
                                  const std::function<double(int i, int j)>& product);

// The same of A * B, accumulated in double.
template <class In, class Out>
Output<Out> reference_output(const Problem<In, Out>& problem);

// Checks the given rows of `result` against the epilogue of reference_rows; "" or what is wrong.
template <class In, class Out>
std::string check_against_double(const Problem<In, Out>& problem, const Output<Out>& result,
                                 const std::vector<int>& rows, Rounds rounds = Rounds::ONCE);

}  // namespace ladder::harness
