#pragma once
// How far a correct result may be from another correct result.
#include <algorithm>
#include <cmath>

#include "epilogue.h"
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

// What a sum of K products may be off by that is accumulated in `Accumulate` in any order; `norm`
// is the product of the 2-norms of the row of A and the column of B, `size` the sum's absolute
// value.
//
// Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis" (SIAM J. Sci. Comput.
// 41, 2019): |error| <= lambda sqrt(K) u |a||b|, and never more than K u |a||b|. With lambda = 2
// the two meet at K = 4; data of both signs, which ours is, stays far below either. |a||b| = sum_k
// |a_k b_k| is at most `norm` (Cauchy-Schwarz). Numbers of 8 bits: see Sums and above. Of parts of
// K each has its share of the norms, and the signs of what they are off by are chance's.
template <class Accumulate>
double sum_error(int K, double norm, double size, Sums sums) {
  if (sums == Sums::FAST) return tensor_core_error(K, norm, size);
  double added = K, error = 0;  // in Accumulate, and before
  if (sums != Sums::FP32) {
    added = std::max(1.0, std::ceil(K / double{SCALED_K}));
    error = std::sqrt(added) * tensor_core_error(std::min(K, SCALED_K), norm / added, size / added);
  }
  return error + std::min(added, 2 * std::sqrt(added)) * Number<Accumulate>::UNIT_ROUNDOFF * norm;
}

// What a sum of K products may be off by because each factor was made a tf32 before. Rounded, a
// factor is off by at most u = 2^-11 of itself, so that the sum is by 2 u of all |a_k b_k|, which
// are at most `norm` together. Chance gives these errors signs: of products of about norm / K each
// they are 0.6 u norm / sqrt(K) together (their standard deviation; for numbers spread evenly over
// a power of two an error is 0.4 u, and a product has two), and 4 u norm / sqrt(K) is more than six
// of that. Where bits are cut off, u = 2^-10, and all errors make their product smaller: 2 u of the
// sum, too. Where these bits are multiplied as well, what is missing is the product of two of them,
// u^2, and what both lose when they are rounded in their turn, half of that each.
inline double factors_error(int K, double norm, double size, Rounds rounds) {
  if (K == 0) return 0;
  constexpr double SECOND_ORDER = 1.001;  // both factors of a product are off
  const double by_chance = 2 * norm / std::sqrt(K);
  const auto within = [&](double product, double sum) {
    return SECOND_ORDER * product * std::min(norm, sum);
  };
  switch (rounds) {
    case Rounds::ONCE:
    case Rounds::TWICE:
      break;
    case Rounds::TF32:
      return within(2 * 0x1p-11, by_chance);
    case Rounds::CUT_TO_TF32:
      return within(2 * 0x1p-10, size + by_chance);
    case Rounds::SPLIT:
      return within(2 * 0x1p-20, size + by_chance);
  }
  return 0;
}

// An upper bound on |c - c'| for two products of a row of A and a column of B (K long, 2-norms
// `row_norm` and `column_norm`), each accumulated in `Accumulate` in any order and rounded to Out
// once: by u_out |c|, where c itself may be off by the error of the sum.
template <class Out, class Accumulate>
double difference_bound(int K, double row_norm, double column_norm, double reference,
                        Sums sums = Sums::FP32) {
  const double accumulate =
      sum_error<Accumulate>(K, row_norm * column_norm, std::abs(reference), sums);
  const double largest =
      std::max(std::abs(reference) + 2 * accumulate, Number<Out>::SMALLEST_NORMAL);
  return 2 * (accumulate + Number<Out>::UNIT_ROUNDOFF * largest);
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
double difference_bound(int K, double row_norm, double column_norm, double reference, Sums sums,
                        const Elementwise& e) {
  constexpr double U = Number<float>::UNIT_ROUNDOFF, U_OUT = Number<Out>::UNIT_ROUNDOFF;
  const double factor = std::abs(e.factor),
               largest_before = std::abs(e.before) + 2 * e.magnitude_added;
  const double size = factor == 0 ? 0 : (std::abs(e.before) + e.magnitude_added) / factor;
  const double before = factor * sum_error<Accumulate>(K, row_norm * column_norm, size, sums) +
                        5 * U * largest_before;
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
