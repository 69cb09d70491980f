#include "verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace ladder::harness {
namespace {

// Where an element outside C was written, or "".
template <class Out>
std::string find_stray_write(const Output<Out>& c) {
  const auto written = [](const Out& value) { return !is_poison(value); };
  const auto begin = c.memory.begin() + GUARD, end = c.memory.end() - GUARD;
  const auto before = std::find_if(c.memory.begin(), begin, written);
  if (before != begin)
    return fmt::format("wrote before C, to the place of element -{}", begin - before);
  const auto past = std::find_if(end, c.memory.end(), written);
  if (past != c.memory.end()) {
    const int64_t ld = std::max(c.ld, int64_t{1});
    return fmt::format("wrote past the end of C, to the place of row {}, column {}; C is {} x {}",
                       (past - begin) / ld, (past - begin) % ld, c.rows, c.cols);
  }
  for (int i = 0; i < c.rows; ++i)
    for (int64_t j = c.cols; j < c.ld; ++j)
      if (written(c.row(i)[j]))
        return fmt::format("wrote past the end of row {} of C, to column {}; C is {} x {}", i, j,
                           c.rows, c.cols);
  return "";
}

// The verdict on some rows of C.
struct Comparison {
  Verdict verdict;
  double worst = -1;  // error / bound of the verdict's element

  void keep_worst(double error, double bound) {
    const double ratio = error == 0 ? 0 : error / bound;
    if (ratio <= worst || std::isnan(worst)) return;
    worst = ratio;
    verdict.max_error = error;
    verdict.bound = bound;
  }
};

template <class Out>
Comparison compare_rows(const Output<Out>& c, const Output<Out>& reference, const Bound& bound,
                        int begin, int end) {
  Comparison result;
  for (int i = begin; i < end; ++i) {
    for (int j = 0; j < c.cols; ++j) {
      const double got = Number<Out>::to_float(c.row(i)[j]);
      const double expected = Number<Out>::to_float(reference.row(i)[j]);
      const double allowed = bound(i, j, expected);
      const double difference = std::abs(got - expected);
      // Negated, so that a NaN on either side is a failure.
      if (!(difference <= allowed) && result.verdict.wrong++ == 0)
        result.verdict.message = fmt::format(
            "row {}, column {}: got {}, expected {:.9g} within {:.3g}", i, j,
            is_poison(c.row(i)[j]) ? "nothing" : fmt::format("{:.9g}", got), expected, allowed);
      result.keep_worst(difference, allowed);
    }
  }
  return result;
}

}  // namespace

template <class Out>
Verdict verify(const Output<Out>& c, const Output<Out>& reference, const Bound& bound) {
  const int count = std::min(c.rows, 64);
  std::vector<Comparison> parts(static_cast<size_t>(count));
#pragma omp parallel for
  for (int i = 0; i < count; ++i)
    parts[static_cast<size_t>(i)] =
        compare_rows(c, reference, bound, static_cast<int>(int64_t{c.rows} * i / count),
                     static_cast<int>(int64_t{c.rows} * (i + 1) / count));
  Comparison all;
  Verdict& verdict = all.verdict;
  for (const Comparison& part : parts) {
    verdict.wrong += part.verdict.wrong;
    if (verdict.message.empty()) verdict.message = part.verdict.message;
    all.keep_worst(part.verdict.max_error, part.verdict.bound);
  }
  if (verdict.wrong > 0)
    verdict.message += fmt::format("; {} of {} elements are wrong", verdict.wrong,
                                   static_cast<int64_t>(c.rows) * c.cols);
  for (const std::string& stray : {find_stray_write(c), c.stray})
    if (!stray.empty()) verdict.message += (verdict.message.empty() ? "" : "; ") + stray;
  verdict.ok = verdict.message.empty();
  return verdict;
}

#define INSTANTIATE(Out) \
  template Verdict verify(const Output<Out>&, const Output<Out>&, const Bound&);
LADDER_OUTPUTS(INSTANTIATE)

}  // namespace ladder::harness
