#include "problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "random.h"

namespace ladder::harness {
namespace {

// `element` makes the number at an index that counts the elements of the rows.
template <class T, class Element>
std::vector<T> draw_rows(int rows, int columns, int64_t ld, const Element& element) {
  std::vector<T> matrix(static_cast<size_t>(rows * ld));
  if (matrix.empty()) return matrix;
  std::memset(static_cast<void*>(matrix.data()), POISON, matrix.size() * sizeof(T));
#pragma omp parallel for
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const uint64_t index =
          static_cast<uint64_t>(i) * static_cast<uint64_t>(columns) + static_cast<uint64_t>(j);
      matrix[static_cast<size_t>(i * ld + j)] = element(index);
    }
  }
  return matrix;
}
template <class In>
std::vector<In> draw_matrix(int rows, int columns, int64_t ld, Data data, uint64_t seed,
                            Stream stream) {
  return draw_rows<In>(rows, columns, ld, [=](uint64_t index) {
    return Number<In>::from_float(draw(data, seed, stream, index));
  });
}
std::vector<float> draw_scales(int rows, int columns, int64_t ld, Data data, uint64_t seed,
                               Stream stream) {
  return draw_rows<float>(rows, columns, ld,
                          [=](uint64_t index) { return draw_scale(data, seed, stream, index); });
}

}  // namespace

template <class In, class Out>
Problem<In, Out>::Problem(Shape shape, Data data, uint64_t seed, Padding padding, Sums sums)
    : shape(shape),
      data(data),
      lda(leading_dimension<In>(shape.k) + padding.a),
      ldb(leading_dimension_b<In>(shape) + padding.b),
      ldc(leading_dimension<Out>(shape.n) + padding.c),
      sums(sums),
      a(draw_matrix<In>(shape.m, shape.k, lda, data, seed, Stream::A)),
      b(draw_matrix<In>(TRANSPOSED_B<In> ? shape.n : shape.k, TRANSPOSED_B<In> ? shape.k : shape.n,
                        ldb, data, seed, Stream::B)),
      row_norms(static_cast<size_t>(shape.m)),
      column_norms(static_cast<size_t>(shape.n)) {
  if (sums == Sums::SCALED) {
    const int parts = ceil_div(shape.k, SCALED_K), strips = ceil_div(shape.n, SCALED_N);
    lds_a = leading_dimension<float>(shape.m);
    lds_b = leading_dimension<float>(parts);
    scales_a = draw_scales(parts, shape.m, lds_a, data, seed, Stream::SCALES_A);
    scales_b = draw_scales(strips, parts, lds_b, data, seed, Stream::SCALES_B);
  }
  const auto square = [](double x) { return x * x; };
#pragma omp parallel for
  for (int i = 0; i < shape.m; ++i) {
    double sum = 0;
    for (int k = 0; k < shape.k; ++k) sum += square(at_a(i, k));
    row_norms[static_cast<size_t>(i)] = std::sqrt(sum);
  }
  constexpr int STRIP = 512;  // columns a thread adds up at a time
#pragma omp parallel for
  for (int begin = 0; begin < shape.n; begin += STRIP)
    for (int k = 0; k < shape.k; ++k)
      for (int j = begin; j < std::min(begin + STRIP, shape.n); ++j)
        column_norms[static_cast<size_t>(j)] += square(at_b(k, j));
  for (double& norm : column_norms) norm = std::sqrt(norm);
}

template <class In, class Out>
Bound Problem<In, Out>::bound() const {
  if (is_exact(data)) return [](int, int, double) { return 0.0; };
  return [this](int i, int j, double reference) {
    return difference_bound<Out, typename Formats<In, Out>::Accumulate>(
        shape.k, row_norms[static_cast<size_t>(i)], column_norms[static_cast<size_t>(j)], reference,
        sums);
  };
}

template <class In, class Out>
std::vector<std::vector<double>> reference_rows(const Problem<In, Out>& p,
                                                const std::vector<int>& rows) {
  const auto n = static_cast<size_t>(p.shape.n);
  // Once, and not for every row: on the host a half takes longer to convert than to multiply. A
  // float holds what is scaled, too, but for its last bits, which a bound allows for.
  std::vector<float> b(static_cast<size_t>(p.shape.k) * n);
#pragma omp parallel for
  for (int k = 0; k < p.shape.k; ++k)
    for (int j = 0; j < p.shape.n; ++j)
      b[static_cast<size_t>(k) * n + static_cast<size_t>(j)] = static_cast<float>(p.at_b(k, j));
  std::vector<std::vector<double>> results(rows.size(), std::vector<double>(n, 0.0));
#pragma omp parallel for
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int k = 0; k < p.shape.k; ++k) {
      const double a = p.at_a(rows[r], k);
      const float* row = b.data() + static_cast<size_t>(k) * n;
      for (size_t j = 0; j < n; ++j) results[r][j] += a * static_cast<double>(row[j]);
    }
  }
  return results;
}

template <class In, class Out>
Output<Out> reference_output(const Problem<In, Out>& p) {
  Output<Out> output = p.make_output();
  std::vector<int> rows(static_cast<size_t>(p.shape.m));
  std::iota(rows.begin(), rows.end(), 0);
  const auto references = reference_rows(p, rows);
#pragma omp parallel for
  for (int i = 0; i < p.shape.m; ++i)
    for (int j = 0; j < p.shape.n; ++j)
      output.row(i)[j] = Number<Out>::from_float(
          static_cast<float>(references[static_cast<size_t>(i)][static_cast<size_t>(j)]));
  return output;
}

template <class In, class Out>
std::string check_against_double(const Problem<In, Out>& p, const Output<Out>& result,
                                 const std::vector<int>& rows) {
  const auto references = reference_rows(p, rows);
  const Bound bound = p.bound();
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int j = 0; j < p.shape.n; ++j) {
      const double exact = references[r][static_cast<size_t>(j)];
      // Where sums are exact the only rounding is the one to Out.
      const double expected =
          is_exact(p.data)
              ? Number<Out>::to_float(Number<Out>::from_float(static_cast<float>(exact)))
              : exact;
      const double got = Number<Out>::to_float(result.row(rows[r])[j]);
      if (!(std::abs(got - expected) <= bound(rows[r], j, expected)))
        return fmt::format("row {}, column {}: got {:.9g}, expected {:.9g} within {:.3g}", rows[r],
                           j, got, expected, bound(rows[r], j, expected));
    }
  }
  return "";
}

#define INSTANTIATE(In, Out, Accumulate)                                                 \
  template struct Problem<In, Out>;                                                      \
  template std::vector<std::vector<double>> reference_rows(const Problem<In, Out>&,      \
                                                           const std::vector<int>&);     \
  template Output<Out> reference_output(const Problem<In, Out>&);                        \
  template std::string check_against_double(const Problem<In, Out>&, const Output<Out>&, \
                                            const std::vector<int>&);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
