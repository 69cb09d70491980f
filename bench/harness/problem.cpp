#include "problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "draw_rows.h"

namespace ladder::harness {
namespace {

std::vector<float> draw_scales(int rows, int columns, int64_t ld, Data data, uint64_t seed,
                               Stream stream) {
  return draw_rows<float>(rows, columns, ld,
                          [=](uint64_t index) { return draw_scale(data, seed, stream, index); });
}

}  // namespace

template <class In, class Out>
Problem<In, Out>::Problem(Shape shape, Data data, uint64_t seed, Padding padding, Sums sums,
                          const EpilogueChoice& epilogue, Layout layout,
                          const std::vector<int>& groups)
    : shape(shape),
      data(data),
      lda(leading_dimension_a<In>(shape, layout) + padding.a),
      ldb(leading_dimension_b<In>(shape, layout) + padding.b),
      ldc(leading_dimension<Out>(shape.n) + padding.c),
      sums(sums),
      wide(harness::wide<In, Out>(shape.k, sums)),
      layout(layout),
      ends(groups.size()),
      a(draw_matrix<In>(layout.transposed_a ? shape.k : shape.m,
                        layout.transposed_a ? shape.m : shape.k, lda, data, seed, Stream::A,
                        wide.magnitude)),
      b(draw_matrix<In>(layout.transposed_b ? shape.n : shape.k * std::max(1, int(groups.size())),
                        layout.transposed_b ? shape.k : shape.n, ldb, data, seed, Stream::B,
                        wide.magnitude)),
      epilogue(epilogue, shape.m, shape.n, ldc, data, seed),
      row_norms(static_cast<size_t>(shape.m)),
      column_norms(std::max(size_t{1}, groups.size()) * static_cast<size_t>(shape.n)) {
  std::partial_sum(groups.begin(), groups.end(), ends.begin());
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
  for (int matrix = 0; matrix < matrices(); ++matrix) {
    double* const norms = column_norms.data() + int64_t{matrix} * shape.n;
    const int first = matrix * shape.k;
#pragma omp parallel for
    for (int begin = 0; begin < shape.n; begin += STRIP)
      for (int k = 0; k < shape.k; ++k)
        for (int j = begin; j < std::min(begin + STRIP, shape.n); ++j)
          norms[j] += square(at_b(first + k, j));
  }
  for (double& norm : column_norms) norm = std::sqrt(norm);
}

template <class In, class Out>
Out Problem<In, Out>::stored(int i, int j, double product) const {
  if constexpr (std::is_same_v<Out, int8_t>) {
    const auto factor = static_cast<float>(epilogue.factor(i, j));
    return requantised(product, factor, epilogue.choice.zero_point);
  } else if constexpr (std::is_same_v<Out, int32_t>) {
    return static_cast<int32_t>(product);
  } else {
    const double before = epilogue.before(i, j, product);
    return Number<Out>::from_float(static_cast<float>(epilogue.after(i, j, before)));
  }
}

namespace {

template <class In, class Out>
double bound_of_fraction(const Problem<In, Out>& p, int i, int j, double reference, double before,
                         Rounds rounds) {
  using Accumulate = typename Formats<In, Out>::Accumulate;
  const double row_norm = p.row_norms[static_cast<size_t>(i)],
               column_norm = p.column_norms[static_cast<size_t>(p.group_of(i)) *
                                                static_cast<size_t>(p.shape.n) +
                                            static_cast<size_t>(j)];
  const EpilogueData<Out>& e = p.epilogue;
  if (e.choice.is_product_alone())
    return is_exact(p.data)
               ? 0
               : difference_bound<Out, Accumulate>(p.shape.k, row_norm, column_norm, reference,
                                                   p.sums) +
                     factors_error(p.shape.k, row_norm * column_norm, std::abs(reference), rounds);
  const double added = e.magnitude_added(i, j);
  // Integers up to 1 / unit roundoff are numbers of the format.
  if (is_exact(p.data) &&
      (rounds == Rounds::ONCE || std::abs(before) + 2 * added <= 1 / Number<Out>::UNIT_ROUNDOFF))
    return 0;
  const Activated f = properties(e.choice.activation);
  return difference_bound<Out, Accumulate>(
      p.shape.k, row_norm, column_norm, reference, p.sums,
      {e.factor(i, j), before, added, f.lipschitz, f.relative, rounds == Rounds::TWICE});
}

template <class In, class Out>
double bound_of(const Problem<In, Out>& p, int i, int j, double reference, double before,
                Rounds rounds) {
  if constexpr (std::is_integral_v<Out>)
    return 0;
  else
    return bound_of_fraction(p, i, j, reference, before, rounds);
}

}  // namespace

template <class In, class Out>
Bound Problem<In, Out>::bound(const Output<Out>* results, Rounds rounds) const {
  const bool before = !epilogue.choice.is_product_alone();
  if (before && results == nullptr)
    throw std::logic_error("the bound of an epilogue needs the reference");
  return [=](int i, int j, double reference) {
    const auto at = static_cast<size_t>(i) * static_cast<size_t>(shape.n) + static_cast<size_t>(j);
    return bound_of(*this, i, j, reference, before ? results->before[at] : 0, rounds);
  };
}

template <class In, class Out>
std::vector<std::vector<double>> reference_rows(const Problem<In, Out>& p,
                                                const std::vector<int>& rows) {
  const auto n = static_cast<size_t>(p.shape.n);
  // Once, and not for every row: on the host a half takes longer to convert than to multiply. A
  // float holds what is scaled, too, but for its last bits, which a bound allows for.
  const int all_k = p.shape.k * p.matrices();
  std::vector<float> b(static_cast<size_t>(all_k) * n);
#pragma omp parallel for
  for (int k = 0; k < all_k; ++k)
    for (int j = 0; j < p.shape.n; ++j)
      b[static_cast<size_t>(k) * n + static_cast<size_t>(j)] = static_cast<float>(p.at_b(k, j));
  std::vector<std::vector<double>> results(rows.size(), std::vector<double>(n, 0.0));
#pragma omp parallel for
  for (size_t r = 0; r < rows.size(); ++r) {
    const int first = p.group_of(rows[r]) * p.shape.k;
    for (int k = 0; k < p.shape.k; ++k) {
      const double a = p.at_a(rows[r], k);
      const float* row = b.data() + static_cast<size_t>(first + k) * n;
      for (size_t j = 0; j < n; ++j) results[r][j] += a * static_cast<double>(row[j]);
    }
  }
  return results;
}

template <class In, class Out>
Output<Out> reference_of_products(const Problem<In, Out>& p,
                                  const std::function<double(int i, int j)>& product) {
  Output<Out> output = p.make_output();
  const bool keeps = !p.epilogue.choice.is_product_alone();
  const auto n = static_cast<size_t>(p.shape.n);
  if (keeps) output.before.resize(static_cast<size_t>(p.shape.m) * n);
#pragma omp parallel for
  for (int i = 0; i < p.shape.m; ++i)
    for (int j = 0; j < p.shape.n; ++j) {
      const double of = product(i, j);
      if (keeps)
        output.before[static_cast<size_t>(i) * n + static_cast<size_t>(j)] =
            p.epilogue.before(i, j, of);
      output.row(i)[j] = p.stored(i, j, of);
    }
  return output;
}

template <class In, class Out>
Output<Out> reference_output(const Problem<In, Out>& p) {
  std::vector<int> rows(static_cast<size_t>(p.shape.m));
  std::iota(rows.begin(), rows.end(), 0);
  const auto products = reference_rows(p, rows);
  return reference_of_products(
      p, [&](int i, int j) { return products[static_cast<size_t>(i)][static_cast<size_t>(j)]; });
}

template <class In, class Out>
std::string check_against_double(const Problem<In, Out>& p, const Output<Out>& result,
                                 const std::vector<int>& rows, Rounds rounds) {
  const auto products = reference_rows(p, rows);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int j = 0; j < p.shape.n; ++j) {
      const double product = products[r][static_cast<size_t>(j)],
                   before = p.epilogue.before(rows[r], j, product);
      // Where sums are exact the only rounding is the one to Out.
      const double expected = is_exact(p.data) || std::is_integral_v<Out>
                                  ? Number<Out>::to_float(p.stored(rows[r], j, product))
                                  : p.epilogue.after(rows[r], j, before);
      const double got = Number<Out>::to_float(result.row(rows[r])[j]);
      const double bound = bound_of(p, rows[r], j, expected, before, rounds);
      if (!(std::abs(got - expected) <= bound))
        return fmt::format("row {}, column {}: got {:.9g}, expected {:.9g} within {:.3g}", rows[r],
                           j, got, expected, bound);
    }
  }
  return "";
}

#define INSTANTIATE(In, Out, Accumulate)                                                 \
  template struct Problem<In, Out>;                                                      \
  template std::vector<std::vector<double>> reference_rows(const Problem<In, Out>&,      \
                                                           const std::vector<int>&);     \
  template Output<Out> reference_of_products(const Problem<In, Out>&,                    \
                                             const std::function<double(int, int)>&);    \
  template Output<Out> reference_output(const Problem<In, Out>&);                        \
  template std::string check_against_double(const Problem<In, Out>&, const Output<Out>&, \
                                            const std::vector<int>&, Rounds);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
