#pragma once
// How far a correct result may be from another correct result.
#include <algorithm>
#include <cmath>

#include "number.h"
#include "sums.h"

namespace ladder::harness {

// What a sum of K products may be off by that a tensor core has added up which keeps 14 bits of it:
// each instruction takes 32 products, and cuts these, what was there, and the sum, to 13 bits after
// the first of the largest. With signs that chance has chosen a sum is about `norm` / sqrt(K) (norm
// as in difference_bound), and hardly ever twice that further out on its way than at its end, the
// `size`. The sum is cut towards zero every time, by half a unit of the 14th bit on average; the
// products' cuts have signs of their own, and are sqrt(K) / sqrt(3) units together (their standard
// deviation; 2 sqrt(K) is more than three).
inline double tensor_core_error(int K, double norm, double size) {
  if (K == 0) return 0;
  const double largest = std::min(norm, size + 2 * norm / std::sqrt(K));
  return 0x1p-13 * largest * (K / 64.0 + 2 * std::sqrt(K));
}

// An upper bound on |c - c'| for two products of a row of A and a column of B (K long, 2-norms
// `row_norm` and `column_norm`), each accumulated in `Accumulate` in any order and rounded to Out
// once.
//
// Accumulating: Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis" (SIAM J.
// Sci. Comput. 41, 2019): |error| <= lambda sqrt(K) u |a||b|, and never more than K u |a||b|. With
// lambda = 2 the two meet at K = 4; data of both signs, which ours is, stays far below either.
// |a||b| = sum_k |a_k b_k| is at most row_norm * column_norm (Cauchy-Schwarz).
// Numbers of 8 bits: see Sums and above. Of parts of K each has its share of the norms, and the
// signs of what they are off by are chance's.
// Rounding: u_out |c|, where c itself may be off by the first term.
template <class Out, class Accumulate>
double difference_bound(int K, double row_norm, double column_norm, double reference,
                        Sums sums = Sums::FP32) {
  constexpr double U_ACCUMULATE = Number<Accumulate>::UNIT_ROUNDOFF,
                   U_OUT = Number<Out>::UNIT_ROUNDOFF;
  const double norm = row_norm * column_norm;
  double added = K, accumulate = 0;  // in Accumulate, and before
  if (sums == Sums::FAST) {
    accumulate = tensor_core_error(K, norm, std::abs(reference));
  } else if (sums != Sums::FP32) {
    added = std::max(1.0, std::ceil(K / double{SCALED_K}));
    accumulate = std::sqrt(added) * tensor_core_error(std::min(K, SCALED_K), norm / added,
                                                      std::abs(reference) / added);
  }
  if (sums != Sums::FAST) accumulate += std::min(added, 2 * std::sqrt(added)) * U_ACCUMULATE * norm;
  const double largest =
      std::max(std::abs(reference) + 2 * accumulate, Number<Out>::SMALLEST_NORMAL);
  return 2 * (accumulate + U_OUT * largest);
}

}  // namespace ladder::harness
