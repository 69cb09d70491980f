#pragma once
// A matrix of numbers of eight bits, with a scale for each group and column: how it lies in memory.
#include <cmath>

#include "four_bits.cuh"

namespace ladder::eight_bits {

enum class Number { INT8, E4M3 };  // from -128 to 127; or a sign, four bits of exponent, three more

// As Packed of four_bits.cuh, but a thread's part of half a group is 32 bytes,
// numbers[half][0][t] and numbers[half][1][t]. There are no zero points.
template <class T, Number NUMBER>
struct Packed {
  uint4 numbers[GROUP / 64][2][PACKED_THREADS];
  T scale[PACKED_COLUMNS];
};

// Of a byte. A NaN of e4m3 is not told from a number.
inline float value_of(Number number, uint8_t byte) {
  if (number == Number::INT8) return static_cast<int8_t>(byte);
  const int exponent = byte >> 3 & 15, fraction = byte & 7;
  const float size = exponent > 0 ? std::ldexp(8.0f + static_cast<float>(fraction), exponent - 10)
                                  : std::ldexp(static_cast<float>(fraction), -9);
  return byte & 0x80 ? -size : size;
}

// Which of 64 x 64 numbers is byte `byte` of word `word`, of eight, of thread `thread`. Four bytes
// are two registers of wgmma's A: bytes 0 and 2, and bytes 1 and 3.
constexpr four_bits::Place place_of(int thread, int word, int byte) {
  const int lane = thread % 32, reg = word % 2 * 2 + byte % 2;
  return {thread / 32 * 16 + lane / 4 + reg % 2 * 8,
          word / 2 * 16 + lane % 4 * 2 + reg / 2 * 8 + byte / 2};
}

// For the device, of bytes and scales; zero points are not looked at. Throws std::invalid_argument
// that names the first scale that is none in T, and the first NaN.
template <class T, Number NUMBER>
std::vector<Packed<T, NUMBER>> pack(const Quantised& q) {
  std::vector<Packed<T, NUMBER>> packed(packed_count(q.K, q.N));
  const auto at = [&](int group, int n) -> Packed<T, NUMBER>& {
    return packed[static_cast<size_t>(n / PACKED_COLUMNS) *
                      static_cast<size_t>(padded_groups(q.K)) +
                  static_cast<size_t>(group)];
  };
  for (int n = 0; n < q.N; ++n)
    for (int group = 0; group < q.groups(); ++group)
      at(group, n).scale[n % PACKED_COLUMNS] = four_bits::scale_in<T>(q, group, n);
  for (int k = 0; k < q.K; ++k)
    for (int n = 0; n < q.N; ++n)
      if (NUMBER == Number::E4M3 && (q.numbers[q.at(k, n)] & 0x7F) == 0x7F)
        four_bits::refuse("the number", "NaN", k, n, "must be finite");
  for (int n0 = 0; n0 < q.N; n0 += PACKED_COLUMNS)
    for (int k0 = 0; k0 < q.K; k0 += 64)
      for (int thread = 0; thread < PACKED_THREADS; ++thread)
        for (int part = 0; part < 2; ++part) {
          uint32_t words[4] = {};
          for (int i = 0; i < 16; ++i) {
            const four_bits::Place place = place_of(thread, 4 * part + i / 4, i % 4);
            const int k = k0 + place.k, n = n0 + place.column;
            if (k < q.K && n < q.N) words[i / 4] |= uint32_t{q.numbers[q.at(k, n)]} << i % 4 * 8;
          }
          at(k0 / GROUP, n0).numbers[k0 / 64 % 2][part][thread] =
              make_uint4(words[0], words[1], words[2], words[3]);
        }
  return packed;
}

}  // namespace ladder::eight_bits
