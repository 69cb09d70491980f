#include "sha256.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace ladder::jit {
namespace {

// Of the cube roots of the first 64 primes the first 32 bits behind the point.
constexpr uint32_t ROOTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotated(uint32_t x, int right) {
  return x >> right | x << (32 - right);
}

using State = std::array<uint32_t, 8>;
void add_block(State& state, const unsigned char* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{block[i * 4]} << 24 | uint32_t{block[i * 4 + 1]} << 16 |
           uint32_t{block[i * 4 + 2]} << 8 | block[i * 4 + 3];
  for (int i = 16; i < 64; ++i) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[i - 7] +
           (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t one = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                         ((e & f) ^ (~e & g)) + ROOTS[i] + w[i],
                   two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                         ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const uint32_t done[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += done[i];
}

}  // namespace

std::string sha256(const std::string& text) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  constexpr size_t BLOCK = 64, LENGTH = 8;  // bytes
  // What is left of the text, a bit that is set, zeros, and in the last bytes its length in bits.
  std::string end = text.substr(text.size() / BLOCK * BLOCK) + '\x80';
  end.resize((end.size() + LENGTH + BLOCK - 1) / BLOCK * BLOCK);
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (size_t i = 0; i < LENGTH; ++i) end[end.size() - 1 - i] = static_cast<char>(bits >> i * 8);
  const auto add = [&](const std::string& blocks) {
    for (size_t at = 0; at + BLOCK <= blocks.size(); at += BLOCK)
      add_block(state, reinterpret_cast<const unsigned char*>(&blocks[at]));
  };
  add(text), add(end);
  std::string digits;
  for (const uint32_t word : state) {
    char eight[9];
    std::snprintf(eight, sizeof eight, "%08x", word);
    digits += eight;
  }
  return digits;
}

}  // namespace ladder::jit
