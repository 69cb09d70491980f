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

}  // namespace ladder::harness
