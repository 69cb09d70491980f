#include "verify.h"

#include <fmt/format.h>

namespace harness {
namespace {

template <class Out>
bool is_poison(const Out& value) {
  Out poison;
  std::memset(static_cast<void*>(&poison), POISON, sizeof poison);
  return std::memcmp(&value, &poison, sizeof poison) == 0;
}

// Where an element outside C was written, or "".
template <class Out>
std::string find_stray_write(const Output<Out>& c) {
  const auto count = static_cast<int64_t>(c.memory.size());
  for (int64_t i = 0; i < GUARD; ++i) {
    if (!is_poison(c.memory[static_cast<size_t>(i)]))
      return fmt::format("wrote {} elements before C", GUARD - i);
    if (!is_poison(c.memory[static_cast<size_t>(count - GUARD + i)]))
      return fmt::format("wrote {} elements past the end of C", i + 1);
  }
  for (int i = 0; i < c.rows; ++i)
    for (int64_t j = c.cols; j < c.ld; ++j)
      if (!is_poison(c.row(i)[j]))
        return fmt::format("wrote {} elements past the end of row {} of C", j - c.cols + 1, i);
  return "";
}

}  // namespace

template <class Out>
Verdict verify(const Output<Out>& c, const Output<Out>& reference, const Bound& bound) {
  Verdict verdict;
  double worst = -1;
  for (int i = 0; i < c.rows; ++i) {
    for (int j = 0; j < c.cols; ++j) {
      const double got = Number<Out>::to_float(c.row(i)[j]);
      const double expected = Number<Out>::to_float(reference.row(i)[j]);
      const double allowed = bound(i, j, expected);
      const double difference = std::abs(got - expected);
      // Negated, so that a NaN on either side is a failure.
      const bool wrong = !(difference <= allowed);
      if (wrong && verdict.wrong++ == 0)
        verdict.message =
            fmt::format("row {}, column {}: got {:.9g}, expected {:.9g} within {:.3g}", i, j, got,
                        expected, allowed);
      const double ratio = difference == 0 ? 0 : difference / allowed;
      if (!(ratio <= worst) && !std::isnan(worst)) {
        worst = ratio;
        verdict.max_error = difference;
        verdict.bound = allowed;
      }
    }
  }
  if (verdict.wrong > 0)
    verdict.message += fmt::format("; {} of {} elements are wrong", verdict.wrong,
                                   static_cast<int64_t>(c.rows) * c.cols);
  const std::string stray = find_stray_write(c);
  if (!stray.empty()) verdict.message += (verdict.message.empty() ? "" : "; ") + stray;
  verdict.ok = verdict.message.empty();
  return verdict;
}

template Verdict verify(const Output<float>&, const Output<float>&, const Bound&);
template Verdict verify(const Output<half>&, const Output<half>&, const Bound&);

}  // namespace harness
