#pragma once
// How far a correct result may be from another correct result.
#include <algorithm>
#include <cmath>

#include "number.h"

namespace ladder::harness {

// An upper bound on |c - c'| for two products of a row of A and a column of B (K long, 2-norms
// `row_norm` and `column_norm`), each accumulated in `Accumulate` in any order and rounded to Out
// once.
//
// Accumulating: Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis" (SIAM J.
// Sci. Comput. 41, 2019): |error| <= lambda sqrt(K) u |a||b|, and never more than K u |a||b|. With
// lambda = 2 the two meet at K = 4; data of both signs, which ours is, stays far below either.
// |a||b| = sum_k |a_k b_k| is at most row_norm * column_norm (Cauchy-Schwarz).
// Rounding: u_out |c|, where c itself may be off by the first term.
template <class Out, class Accumulate>
double difference_bound(int K, double row_norm, double column_norm, double reference) {
  constexpr double U_ACCUMULATE = Number<Accumulate>::UNIT_ROUNDOFF,
                   U_OUT = Number<Out>::UNIT_ROUNDOFF;
  const double steps = std::min<double>(K, 2 * std::sqrt(K));
  const double accumulate = steps * U_ACCUMULATE * row_norm * column_norm;
  const double largest =
      std::max(std::abs(reference) + 2 * accumulate, Number<Out>::SMALLEST_NORMAL);
  return 2 * (accumulate + U_OUT * largest);
}

// The same behind an activation f of x = factor * (product) + what is added, with a residual.
//
// x: the error of the sum times |factor|, and five roundings in fp32 (of alpha times the scale, of
// the product with both, of two additions) of what is at most |x| + 2 magnitude_added, for the
// product itself is at most |x| + magnitude_added. f: at most `lipschitz` times that, and its own
// error. Then one more addition, and the rounding to Out. Where a variant rounds to Out between two
// kernels, it is once more the error of that number.
struct Elementwise {
  double factor, before, magnitude_added, lipschitz, relative;
  bool rounds_between;
};
template <class Out, class Accumulate>
double difference_bound(int K, double row_norm, double column_norm, double reference,
                        const Elementwise& e) {
  constexpr double U = Number<float>::UNIT_ROUNDOFF,
                   U_ACCUMULATE = Number<Accumulate>::UNIT_ROUNDOFF,
                   U_OUT = Number<Out>::UNIT_ROUNDOFF;
  const double steps = std::min<double>(K, 2 * std::sqrt(K));
  const double largest_before = std::abs(e.before) + 2 * e.magnitude_added;
  const double before =
      std::abs(e.factor) * steps * U_ACCUMULATE * row_norm * column_norm + 5 * U * largest_before;
  const double between =
      e.rounds_between
          ? e.lipschitz * U_OUT * std::max(largest_before, Number<Out>::SMALLEST_NORMAL)
          : 0;
  // The residual is at most the difference of what is before and behind it.
  const double after = e.lipschitz * before + e.relative * std::abs(e.before) +
                       U * (2 * std::abs(e.before) + std::abs(reference));
  const double largest =
      std::max(std::abs(reference) + 2 * after + between, Number<Out>::SMALLEST_NORMAL);
  return 2 * (after + U_OUT * largest) + between;
}

}  // namespace ladder::harness
