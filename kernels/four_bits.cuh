#pragma once
// A matrix of numbers of four bits: how it lies in memory, and the layouts it is made from. It is
// what the stages from 24 on multiply by.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "launch.cuh"
#include "parts/sixteen_bits.cuh"
#include "types.cuh"
#include "validate.h"

namespace ladder {

// ---- In device memory --------------------------------------------------------------------------

constexpr int GROUP = 128;           // numbers along K that have a scale and a zero point together
constexpr int STEP = 2 * GROUP;      // along K, that kernels multiply at once
constexpr int PACKED_COLUMNS = 64;   // wgmma's m: the product is transposed
constexpr int PACKED_THREADS = 128;  // of a warpgroup

// A number q of four bits becomes a number of T, without arithmetic: q is put into the lowest bits
// of ZERO's fraction, where a step is 1, and the result is ZERO + q.
template <class T>
struct Magic;
template <>
struct Magic<half> {
  static constexpr float ZERO = 1024;  // 2^10: a half has 10 bits of fraction
  static constexpr uint32_t BITS = 0x6400;
};
template <>
struct Magic<bf16> {
  static constexpr float ZERO = 128;  // 2^7: a bf16 has 7
  static constexpr uint32_t BITS = 0x4300;
};

// What is multiplied at once: 64 columns of a group. Thread t of a warpgroup loads
// numbers[half][t], of each half of the group: its part of wgmma's A for four instructions, a word
// for each. place_of says which number is where.
template <class T>
struct Packed {
  uint4 numbers[GROUP / 64][PACKED_THREADS];
  T scale[PACKED_COLUMNS];
  T zero[PACKED_COLUMNS];  // Magic<T>::ZERO + the zero point: what has to be subtracted
};
// The K x N matrix is column after column of these, each from its first group to its last, and one
// more of zeros where that makes whole steps.
__host__ __device__ constexpr int padded_groups(int K) {
  return ceil_div(K, STEP) * (STEP / GROUP);
}
constexpr size_t packed_count(int K, int N) {
  return static_cast<size_t>(padded_groups(K)) * static_cast<size_t>(ceil_div(N, PACKED_COLUMNS));
}
template <class P>
constexpr size_t packed_bytes(int K, int N) {
  return packed_count(K, N) * sizeof(P);
}

// C[M,N] = A[M,K] * W[K,N]. A and C are row-major, W is `packed`, in P.
template <class T, class P = Packed<T>>
struct PackedProduct {
  int M, N, K;
  const T* A;
  int64_t lda;
  const P* packed;
  T* C;
  int64_t ldc;
  cudaStream_t stream = nullptr;
};
template <class T>
using FourBits = PackedProduct<T>;

// Throws std::invalid_argument that names what is wrong. Then: whether there is nothing to do.
template <class T, class P>
bool done_without_kernel(const PackedProduct<T, P>& p) {
  require_size("M", p.M, 0), require_size("N", p.N, 0), require_size("K", p.K, 0);
  const auto matrix = [](const std::string& name, const T* address, int64_t ld, int width) {
    if (ld < width)
      throw std::invalid_argument("ld" + name + " is " + std::to_string(ld) + ", but a row has " +
                                  std::to_string(width) + " elements");
    require_multiple(("ld" + name).c_str(), static_cast<uint64_t>(ld), 16 / sizeof(T));
    require_multiple(("the address of " + name).c_str(), reinterpret_cast<uintptr_t>(address), 16);
  };
  matrix("a", p.A, p.lda, p.K), matrix("c", p.C, p.ldc, p.N);
  require_multiple("the address of the packed matrix", reinterpret_cast<uintptr_t>(p.packed), 16);
  if (p.M == 0 || p.N == 0) return true;
  if (p.K > 0) return false;
  LADDER_CUDA_CHECK(cudaMemset2DAsync(p.C, static_cast<size_t>(p.ldc) * sizeof(T), 0,
                                      static_cast<size_t>(p.N) * sizeof(T),
                                      static_cast<size_t>(p.M), p.stream));
  return true;
}

// ---- On the host -------------------------------------------------------------------------------

// W[k][n] = (numbers[k][n] - zeros[k / 128][n]) * scales[k / 128][n], row-major. Numbers are 0 to
// 15, zero points 0 to 16. Signed numbers, -8 to 7, are these with a zero point of 8.
struct Quantised {
  int K, N;
  std::vector<uint8_t> numbers;  // K x N
  std::vector<float> scales;     // ceil(K / 128) x N
  std::vector<uint8_t> zeros;    // the same

  Quantised(int K, int N)
      : K(K), N(N), numbers(size(K, N)), scales(of_groups()), zeros(of_groups()) {}
  int groups() const { return ceil_div(K, GROUP); }
  size_t of_groups() const { return size(groups(), N); }
  size_t at(int row, int n) const { return size(row, N) + static_cast<size_t>(n); }
  float weight(int k, int n) const {
    const size_t group = at(k / GROUP, n);
    return static_cast<float>(numbers[at(k, n)] - zeros[group]) * scales[group];
  }

 private:
  static size_t size(int rows, int columns) {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
  }
};

namespace four_bits {

// Which of 64 x 64 numbers is nibble `nibble` of word `word` of thread `thread`: its column and its
// place along K. As wgmma has A in registers: register r has two neighbours along K of row lane / 4
// of the warp's 16, of the row 8 further if r is odd, and from 8 further along K on if r is 2 or 3.
struct Place {
  int column, k;
};
constexpr Place place_of(int thread, int word, int nibble) {
  const int lane = thread % 32, reg = nibble % 4;
  return {thread / 32 * 16 + lane / 4 + reg % 2 * 8,
          word * 16 + lane % 4 * 2 + reg / 2 * 8 + nibble / 4};
}

[[noreturn]] inline void refuse(const std::string& what, const std::string& is, int row, int n,
                                const std::string& rule) {
  throw std::invalid_argument(what + " of row " + std::to_string(row) + ", column " +
                              std::to_string(n) + " is " + is + ", but " + rule);
}
template <class T>
T scale_in(const Quantised& q, int group, int n) {
  const float scale = q.scales[q.at(group, n)];
  if (!std::isfinite(as_float(rounded<T>(scale))))
    refuse("the scale", std::to_string(scale), group, n, "must be finite in the type of A");
  return rounded<T>(scale);
}

// For the device. Throws std::invalid_argument that names the first number that is none, and the
// first scale that is none in T.
template <class T>
std::vector<Packed<T>> pack(const Quantised& q) {
  std::vector<Packed<T>> packed(packed_count(q.K, q.N));
  for (int n = 0; n < q.N; ++n)
    for (int group = 0; group < q.groups(); ++group) {
      const T scale = scale_in<T>(q, group, n);
      const int zero = q.zeros[q.at(group, n)];
      if (zero > 16)
        refuse("the zero point", std::to_string(zero), group, n, "must be from 0 to 16");
      Packed<T>& to =
          packed[static_cast<size_t>(n / PACKED_COLUMNS) * static_cast<size_t>(padded_groups(q.K)) +
                 static_cast<size_t>(group)];
      to.scale[n % PACKED_COLUMNS] = scale;
      to.zero[n % PACKED_COLUMNS] = rounded<T>(Magic<T>::ZERO + static_cast<float>(zero));
    }
  for (int k = 0; k < q.K; ++k)
    for (int n = 0; n < q.N; ++n)
      if (q.numbers[q.at(k, n)] > 15)
        refuse("the number", std::to_string(q.numbers[q.at(k, n)]), k, n, "must be from 0 to 15");
  for (size_t i = 0; i < packed.size(); ++i) {
    const int first_n =
                  static_cast<int>(i / static_cast<size_t>(padded_groups(q.K))) * PACKED_COLUMNS,
              first_k = static_cast<int>(i % static_cast<size_t>(padded_groups(q.K))) * GROUP;
    for (int part = 0; part < GROUP / 64; ++part)
      for (int thread = 0; thread < PACKED_THREADS; ++thread) {
        uint32_t words[4] = {};
        for (int word = 0; word < 4; ++word)
          for (int nibble = 0; nibble < 8; ++nibble) {
            const Place place = place_of(thread, word, nibble);
            const int k = first_k + part * 64 + place.k, n = first_n + place.column;
            if (k < q.K && n < q.N) words[word] |= uint32_t{q.numbers[q.at(k, n)]} << 4 * nibble;
          }
        packed[i].numbers[part][thread] = make_uint4(words[0], words[1], words[2], words[3]);
      }
  }
  return packed;
}

// ---- Layouts of others -------------------------------------------------------------------------
// Each in groups of 128 along K. Throw std::invalid_argument where K or N is no multiple of 8.

// GPTQ's (version 1): eight numbers along K in a word of K / 8 x N, the first in the lowest bits;
// zero points, less 1, eight along N in a word of K / 128 x N / 8; scales K / 128 x N.
inline Quantised from_gptq(int K, int N, const uint32_t* qweight, const uint32_t* qzeros,
                           const float* scales) {
  require_multiple("K", static_cast<uint64_t>(K), 8),
      require_multiple("N", static_cast<uint64_t>(N), 8);
  Quantised q(K, N);
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) q.numbers[q.at(k, n)] = qweight[q.at(k / 8, n)] >> 4 * (k % 8) & 15;
  for (int g = 0; g < q.groups(); ++g)
    for (int n = 0; n < N; ++n)
      q.zeros[q.at(g, n)] = static_cast<uint8_t>((qzeros[q.at(g, n) / 8] >> 4 * (n % 8) & 15) + 1);
  std::copy_n(scales, q.scales.size(), q.scales.begin());
  return q;
}

// AWQ's: eight numbers along N in a word of K x N / 8, of columns 0, 2, 4, 6, 1, 3, 5, 7 from the
// lowest bits on; zero points likewise, K / 128 x N / 8; scales K / 128 x N.
inline Quantised from_awq(int K, int N, const uint32_t* qweight, const uint32_t* qzeros,
                          const float* scales) {
  require_multiple("N", static_cast<uint64_t>(N), 8);
  Quantised q(K, N);
  const auto number = [&](const uint32_t* words, int row, int n) {
    const int nibble = n % 8 / 2 + n % 2 * 4;
    return static_cast<uint8_t>(words[q.at(row, n) / 8] >> 4 * nibble & 15);
  };
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) q.numbers[q.at(k, n)] = number(qweight, k, n);
  for (int g = 0; g < q.groups(); ++g)
    for (int n = 0; n < N; ++n) q.zeros[q.at(g, n)] = number(qzeros, g, n);
  std::copy_n(scales, q.scales.size(), q.scales.begin());
  return q;
}

// What torch's _convert_weight_to_int4pack and _weight_int4pack_mm take: two numbers along K in a
// byte of N x K / 2, the first in the upper bits; and K / 128 x N x 2 floats, a scale and an
// offset, W = (number - 8) * scale + offset. Throws std::invalid_argument as well where an offset
// is no whole number of scales, from -8 to 8 of them, within a hundredth.
inline Quantised from_torch(int K, int N, const uint8_t* numbers, const float* scales_and_offsets) {
  require_multiple("K", static_cast<uint64_t>(K), 8);
  Quantised q(K, N);
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) {
      const size_t i = static_cast<size_t>(n) * static_cast<size_t>(K) + static_cast<size_t>(k);
      q.numbers[q.at(k, n)] = k % 2 == 0 ? numbers[i / 2] >> 4 : numbers[i / 2] & 15;
    }
  for (size_t i = 0; i < q.scales.size(); ++i) {
    const float scale = scales_and_offsets[2 * i], offset = scales_and_offsets[2 * i + 1];
    const float steps = offset == 0 ? 0 : offset / scale, zero = std::round(8 - steps);
    if (!(std::abs(8 - steps - zero) < 0.01f && zero >= 0 && zero <= 16))
      throw std::invalid_argument(
          "offset number " + std::to_string(i) + " is " + std::to_string(steps) +
          " times its scale, but must be a whole number of times, from -8 to 8");
    q.scales[i] = scale;
    q.zeros[i] = static_cast<uint8_t>(zero);
  }
  return q;
}

}  // namespace four_bits
}  // namespace ladder
