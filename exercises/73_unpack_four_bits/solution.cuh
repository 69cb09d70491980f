#include "exercise.h"

// The eight numbers of a word, each less the zero point, in their order: four registers of two
// halves. Nibbles i and i + 4 of the word are numbers 2 i and 2 i + 1.
static __device__ void unpack(uint32_t word, uint32_t zero, uint32_t (&pairs)[4]) {
  const uint32_t large_zero = (0x6400 + zero) * 0x10001;  // 1024 + the zero point, in both halves
  for (int i = 0; i < 4; ++i) {
    const uint32_t large = ptx::and_or(word >> 4 * i, 0x000F000F, 0x64006400);  // 1024 + numbers
    pairs[i] = ptx::subtract_pairs<half>(large, large_zero);
  }
}

// A thread for each of n words. 16 words are a group, with one of the zero points.
static __global__ void unpack_kernel(int n, const uint32_t* words, const uint8_t* zeros,
                                     half* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t pairs[4];
  unpack(words[i], zeros[i / 16], pairs);
  reinterpret_cast<uint4&>(out[8 * i]) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}
