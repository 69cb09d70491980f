// Numbers of four and eight bits on the host: packed as wgmma wants them, and read from the layouts
// of others.
#include "four_bits.cuh"

#include <gtest/gtest.h>

#include <set>

#include "eight_bits.cuh"

namespace ladder::four_bits {
namespace {

// K x N of all kinds of numbers and zero points; the last group is not whole.
Quantised some(int K, int N) {
  Quantised q(K, N);
  for (size_t i = 0; i < q.numbers.size(); ++i) q.numbers[i] = static_cast<uint8_t>(i * 7 % 16);
  for (size_t i = 0; i < q.scales.size(); ++i) {
    q.scales[i] = 0.5f + static_cast<float>(i % 5);
    q.zeros[i] = static_cast<uint8_t>(i % 16);
  }
  return q;
}

void expect_same(const Quantised& a, const Quantised& b) {
  EXPECT_EQ(a.numbers, b.numbers);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.zeros, b.zeros);
}

// Every number of 64 x 64 has one place; and where thread 37, lane 5 of the second warp, has some.
TEST(FourBits, EachNumberHasOnePlace) {
  std::set<std::pair<int, int>> places;
  for (int thread = 0; thread < PACKED_THREADS; ++thread)
    for (int word = 0; word < 4; ++word)
      for (int nibble = 0; nibble < 8; ++nibble) {
        const Place place = place_of(thread, word, nibble);
        EXPECT_TRUE(place.column < 64 && place.k < 64);
        places.insert({place.column, place.k});
      }
  EXPECT_EQ(64u * 64u, places.size());
  const Place second = place_of(37, 2, 4), below = place_of(37, 2, 1), further = place_of(37, 2, 2);
  EXPECT_EQ(17, second.column);
  EXPECT_EQ(2 * 16 + 2 + 1, second.k);
  EXPECT_EQ(25, below.column);
  EXPECT_EQ(2 * 16 + 2, below.k);
  EXPECT_EQ(17, further.column);
  EXPECT_EQ(2 * 16 + 10, further.k);
}

template <class T>
void expect_packed(const Quantised& q) {
  const std::vector<Packed<T>> packed = pack<T>(q);
  ASSERT_EQ(packed_bytes<Packed<T>>(q.K, q.N), packed.size() * sizeof packed[0]);
  const int groups = padded_groups(q.K);
  for (int column = 0; column < ceil_div(q.N, PACKED_COLUMNS); ++column)
    for (int group = 0; group < groups; ++group) {
      const Packed<T>& p = packed[static_cast<size_t>(column * groups + group)];
      for (int part = 0; part < 2; ++part)
        for (int thread = 0; thread < PACKED_THREADS; ++thread)
          for (int word = 0; word < 4; ++word)
            for (int nibble = 0; nibble < 8; ++nibble) {
              const Place place = place_of(thread, word, nibble);
              const int k = group * GROUP + part * 64 + place.k,
                        n = column * PACKED_COLUMNS + place.column;
              const uint4& four = p.numbers[part][thread];
              const uint32_t words[] = {four.x, four.y, four.z, four.w};
              const float number = static_cast<float>(words[word] >> 4 * nibble & 15) +
                                   Magic<T>::ZERO - as_float(p.zero[place.column]);
              const float weight = number * as_float(p.scale[place.column]);
              if (k < q.K && n < q.N) {
                ASSERT_EQ(q.weight(k, n), weight) << k << " " << n;
              } else if (k >= q.groups() * GROUP || n >= q.N) {
                ASSERT_EQ(0, weight) << k << " " << n;
              }
            }
    }
}
TEST(FourBits, PackedIsWhatItWas) {
  for (const auto& [K, N] : {std::pair(128, 64), std::pair(300, 72), std::pair(1, 1)}) {
    expect_packed<half>(some(K, N));
    expect_packed<bf16>(some(K, N));
  }
}

TEST(FourBits, FromGptq) {
  constexpr int K = 256, N = 16;
  Quantised q = some(K, N);
  for (uint8_t& zero : q.zeros) ++zero;  // 1 to 16
  std::vector<uint32_t> weights(K / 8 * N), zeros(2 * N / 8);
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n)
      weights[static_cast<size_t>(k / 8 * N + n)] |= uint32_t{q.numbers[q.at(k, n)]} << k % 8 * 4;
  for (int g = 0; g < 2; ++g)
    for (int n = 0; n < N; ++n)
      zeros[static_cast<size_t>((g * N + n) / 8)] |= (q.zeros[q.at(g, n)] - 1u) << n % 8 * 4;
  expect_same(q, from_gptq(K, N, weights.data(), zeros.data(), q.scales.data()));
}

TEST(FourBits, FromAwq) {
  constexpr int K = 256, N = 16, ORDER[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const Quantised q = some(K, N);
  const auto packed = [&](const std::vector<uint8_t>& numbers) {
    std::vector<uint32_t> words(numbers.size() / 8);
    for (size_t i = 0; i < words.size(); ++i)
      for (size_t nibble = 0; nibble < 8; ++nibble)
        words[i] |= uint32_t{numbers[i * 8 + static_cast<size_t>(ORDER[nibble])]} << nibble * 4;
    return words;
  };
  expect_same(q, from_awq(K, N, packed(q.numbers).data(), packed(q.zeros).data(), q.scales.data()));
}

TEST(FourBits, FromTorch) {
  constexpr int K = 256, N = 8;
  const Quantised q = some(K, N);
  std::vector<uint8_t> bytes(N * K / 2);
  for (int n = 0; n < N; ++n)
    for (int k = 0; k < K; ++k)
      bytes[static_cast<size_t>((n * K + k) / 2)] |=
          static_cast<uint8_t>(q.numbers[q.at(k, n)] << (k % 2 == 0 ? 4 : 0));
  std::vector<float> scales_and_offsets;
  for (size_t i = 0; i < q.scales.size(); ++i) {
    scales_and_offsets.push_back(q.scales[i]);
    scales_and_offsets.push_back(static_cast<float>(8 - q.zeros[i]) * q.scales[i]);
  }
  expect_same(q, from_torch(K, N, bytes.data(), scales_and_offsets.data()));
  scales_and_offsets[1] = 0.3f * scales_and_offsets[0];
  EXPECT_THROW(from_torch(K, N, bytes.data(), scales_and_offsets.data()), std::invalid_argument);
}

TEST(FourBits, RefusesWhatIsNoNumber) {
  const auto message = [](const Quantised& q) {
    try {
      pack<half>(q);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Quantised number = some(130, 3), zero = number, scale = number;
  number.numbers[number.at(129, 2)] = 16;
  EXPECT_EQ("the number of row 129, column 2 is 16, but must be from 0 to 15", message(number));
  zero.zeros[zero.at(1, 0)] = 17;
  EXPECT_EQ("the zero point of row 1, column 0 is 17, but must be from 0 to 16", message(zero));
  scale.scales[scale.at(0, 1)] = 1e6f;
  EXPECT_EQ("the scale of row 0, column 1 is 1000000.000000, but must be finite in the type of A",
            message(scale));
  const std::vector<uint32_t> words(100);
  const std::vector<float> scales(100);
  const auto *const w = words.data(), *const z = w;
  EXPECT_THROW(from_gptq(12, 8, w, z, scales.data()), std::invalid_argument);
  EXPECT_THROW(from_awq(8, 12, w, z, scales.data()), std::invalid_argument);
}

// Every byte is where its place says, and what is beyond K or N is 0.
TEST(EightBits, ArePackedByTheirPlaces) {
  using eight_bits::Number;
  Quantised q(150, 70);
  for (size_t i = 0; i < q.numbers.size(); ++i) q.numbers[i] = static_cast<uint8_t>(i * 11 % 255);
  for (size_t i = 0; i < q.scales.size(); ++i) q.scales[i] = 0.5f + static_cast<float>(i % 5);
  const auto packed = eight_bits::pack<half, Number::INT8>(q);
  ASSERT_EQ(packed_count(q.K, q.N), packed.size());
  std::set<std::pair<int, int>> places;
  for (size_t i = 0; i < packed.size(); ++i)
    for (int part = 0; part < 2; ++part)
      for (int thread = 0; thread < PACKED_THREADS; ++thread)
        for (int word = 0; word < 8; ++word)
          for (int byte = 0; byte < 4; ++byte) {
            const Place place = eight_bits::place_of(thread, word, byte);
            places.insert({place.column, place.k});
            const int group = static_cast<int>(i) % padded_groups(q.K);
            const int k = group * GROUP + part * 64 + place.k,
                      n = static_cast<int>(i) / padded_groups(q.K) * PACKED_COLUMNS + place.column;
            const uint4& four = packed[i].numbers[part][word / 4][thread];
            const uint32_t words[] = {four.x, four.y, four.z, four.w};
            const bool is_there = k < q.K && n < q.N;
            ASSERT_EQ(is_there ? q.numbers[q.at(k, n)] : 0, words[word % 4] >> 8 * byte & 255);
            const float scale = as_float(packed[i].scale[place.column]);
            ASSERT_EQ(group < q.groups() && n < q.N ? q.scales[q.at(group, n)] : 0, scale);
          }
  EXPECT_EQ(64u * 64u, places.size());
}

TEST(EightBits, HaveTheValuesOfTheirFormat) {
  using eight_bits::Number, eight_bits::value_of;
  EXPECT_EQ(-128, value_of(Number::INT8, 0x80));
  EXPECT_EQ(127, value_of(Number::INT8, 0x7F));
  EXPECT_EQ(448, value_of(Number::E4M3, 0x7E));
  EXPECT_EQ(-1, value_of(Number::E4M3, 0xB8));
  EXPECT_EQ(0x1p-9f, value_of(Number::E4M3, 0x01));
  EXPECT_EQ(0x1p-6f, value_of(Number::E4M3, 0x08));
  Quantised q(8, 8);
  q.numbers[q.at(3, 5)] = 0xFF;
  EXPECT_NO_THROW((eight_bits::pack<bf16, Number::INT8>(q)));
  EXPECT_THROW((eight_bits::pack<bf16, Number::E4M3>(q)), std::invalid_argument);
}

}  // namespace
}  // namespace ladder::four_bits
