#pragma once
// Reproducible data: element i of a matrix depends on the seed, the matrix and i alone, so that
// any part can be drawn in any order.
#include <cstdint>

#include "data.h"
#include "sums.h"

namespace ladder::harness {

// A's and B's must differ, or swapped operands pass.
enum class Stream : uint64_t { A = 1, B = 2, SCALES_A, SCALES_B, ADDEND, BIAS, RESIDUAL, SCALE };

// The i-th of 2^64 values, uniform over all 64-bit numbers. A hash of (seed, stream, i) by the
// finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014), applied once to derive the stream's key and once to the counter.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
constexpr uint64_t random_bits(uint64_t seed, Stream stream, uint64_t i) {
  constexpr uint64_t GOLDEN_RATIO = 0x9E3779B97F4A7C15u;
  const uint64_t key = mix(seed + static_cast<uint64_t>(stream) * GOLDEN_RATIO);
  return mix(key + (i + 1) * GOLDEN_RATIO);
}

// Uniform in [-1, 1), in steps of 2^-23: every bit of the significand is random. Constant or
// low-entropy data would draw less power and run faster than real data does.
constexpr float random_uniform(uint64_t seed, Stream stream, uint64_t i) {
  return static_cast<float>(random_bits(seed, stream, i) >> 40) * 0x1p-23f - 1.0f;
}

// Integers from -4 to 4. Sums of up to 2^20 products stay below 2^24, so that fp32 adds them
// exactly in any order.
constexpr int EXACT_MAGNITUDE = 4;
constexpr int EXACT_MAX_K = (1 << 24) / (EXACT_MAGNITUDE * EXACT_MAGNITUDE);
static_assert(EXACT_MAGNITUDE <= 8, "e5m2 has no 9");
inline float random_integer(uint64_t seed, Stream stream, uint64_t i,
                            int magnitude = EXACT_MAGNITUDE) {
  const uint64_t high = random_bits(seed, stream, i) >> 32;
  const auto values = 2 * static_cast<uint64_t>(magnitude) + 1;
  return static_cast<float>(static_cast<int>((high * values) >> 32) - magnitude);
}

// Two bits of the significand are set, and 2^20 of its squares still fit a half: 36,864.
constexpr float CONSTANT = 0x3p-4f;

// The K up to which products of such data and their sums are exact.
inline int exact_max_k(Data data, Sums sums) {
  // Integers below 2^14 are exact in 14 bits. By Hoeffding's inequality a sum of as many products
  // is further out with a probability of less than 2 exp(-2^14 / 2^9) = 3e-14; multiples of
  // CONSTANT's square, 9 / 256, are for certain up to 2^14 / 9.
  if (sums == Sums::FAST && is_integers(data)) return 1 << 14;
  if (sums == Sums::FAST && data == Data::CONSTANT) return (1 << 14) / 9;
  // Factors up to 2, twice. (Wide integers may be narrower than the others.)
  return sums == Sums::SCALED ? EXACT_MAX_K / 4 : EXACT_MAX_K;
}

inline float draw(Data data, uint64_t seed, Stream stream, uint64_t i) {
  switch (data) {
    case Data::EXACT:
    case Data::WIDE:  // what is neither A nor B
      return random_integer(seed, stream, i);
    case Data::ZEROS:
      return 0;
    case Data::CONSTANT:
      return CONSTANT;
    case Data::UNIFORM:
      break;
  }
  return random_uniform(seed, stream, i);
}

// A factor of an epilogue or of BlockScales: from 1/2 to 3/2, so that no row or column disappears;
// 1 or 2 where all has to be exact.
inline float draw_scale(Data data, uint64_t seed, Stream stream, uint64_t i) {
  if (data == Data::UNIFORM) return 1 + random_uniform(seed, stream, i) / 2;
  if (is_integers(data)) return static_cast<float>(1 + random_bits(seed, stream, i) % 2);
  return 1;
}

}  // namespace ladder::harness
