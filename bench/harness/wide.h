#pragma once
// How wide the integers of --data wide may be: as many values as there can be with every sum exact,
// because a wrong result goes unseen with a probability of 2 / (their number) in one run
// (docs/proofs.md).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "number.h"
#include "sums.h"

namespace ladder::harness {

struct Wide {
  int magnitude;       // A and B are made of integers from -magnitude to magnitude
  double too_large{};  // the probability that a result is one that is rounded to C's format
  int values() const { return 2 * magnitude + 1; }
  // In how many runs a wrong result goes unseen with a probability below 2^-60; 0 where no number
  // is enough.
  int runs() const {
    const double unseen = 2.0 / values() + too_large;
    return unseen < 1 ? 1 + static_cast<int>(60 / -std::log2(unseen)) : 0;
  }
};

// The largest integer up to which all of them are numbers of the format.
template <class T>
constexpr int64_t largest_integer() {
  if constexpr (std::is_same_v<T, tf32>)
    return 1 << 11;
  else if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::max();
  else
    return static_cast<int64_t>(1 / Number<T>::UNIT_ROUNDOFF);
}

// Sums are exact for certain, whatever the order: K products stay below what is exact. Results of
// K products of magnitude^2 = p are numbers of C's format for certain, or where that would leave
// few values, most of the time: by Hoeffding's inequality a result is beyond `last` with a
// probability of at most 2 exp(-last^2 / (2 K p^2)).
template <class In, class Out>
Wide wide(int k, Sums sums) {
  constexpr double RARELY = 0x1p-20;
  const double scaled = sums == Sums::SCALED ? 4 : 1;  // factors up to 2, twice
  const auto last = static_cast<double>(largest_integer<Out>());
  const auto too_large = [&](double magnitude) {
    const double product = scaled * magnitude * magnitude;
    return k * product <= last ? 0.0 : 2 * std::exp(-last * last / (2 * k * product * product));
  };
  const auto is_exact = [&](double magnitude) {
    const double product = magnitude * magnitude;
    if (std::is_integral_v<Out>) return k * product <= last;
    if (sums != Sums::FP32) {  // tensor cores keep 14 bits of sums of 8-bit numbers
      const int added = sums == Sums::FAST ? k : std::min(k, SCALED_K);
      if (added * product > 0x1p14) return false;
    }
    return k * product * scaled <= 0x1p24 && too_large(magnitude) <= RARELY;
  };
  int magnitude = 1;
  while (magnitude < largest_integer<In>() && is_exact(magnitude + 1)) ++magnitude;
  return {magnitude, too_large(magnitude)};
}

}  // namespace ladder::harness
