#include "exercise.h"

// Loads 16 x 16 numbers as mma.sync wants an operand A.
template <int PITCH>
static __device__ void load(uint16_t (&tile)[16][PITCH], unsigned* out) {
  const int lane = threadIdx.x;
  for (int i = lane; i < 16 * 16; i += 32) tile[i / 16][i % 16] = i;
  __syncthreads();
  uint32_t r[4];
  ptx::ldmatrix_x4(r, &tile[lane % 16][lane / 16 * 8]);
  for (int i = 0; i < 4; ++i) out[i * 32 + lane] = r[i];
}

static __global__ void pitches_kernel(unsigned* out) {
  __shared__ __align__(128) uint16_t pitch_64[16][64], pitch_48[16][48], pitch_40[16][40],
      pitch_32[16][32];
  load(pitch_64, out);
  load(pitch_48, out + 128);
  load(pitch_40, out + 256);
  load(pitch_32, out + 384);
}
