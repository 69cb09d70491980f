#include "exercise.h"

// The eight numbers of a word, each less the zero point, in their order: four registers of two
// halves. Nibbles i and i + 4 of the word are numbers 2 i and 2 i + 1.
static __device__ void unpack(uint32_t word, uint32_t zero, uint32_t (&pairs)[4]) {
  // Your code.
}

// A thread for each of n words. 16 words are a group, with one of the zero points.
static __global__ void unpack_kernel(int n, const uint32_t* words, const uint8_t* zeros,
                                     half* out) {
  // Your code.
}
