#include "exercise.h"

constexpr int FIELDS = 8;  // x, y, z, vx, vy, vz, mass, charge

// Where a field of a particle lies in the FIELDS * capacity floats of `particles`.
static __device__ int place(int particle, int field, int capacity) {
  return particle * FIELDS + field;
}

// From fields[field][particle], `ld` elements from row to row.
static __global__ void fill_kernel(int n, int capacity, const float* fields, int ld,
                                   float* particles) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  for (int f = 0; f < FIELDS; ++f) particles[place(i, f, capacity)] = fields[f * ld + i];
}

// Each particle moves for a time of dt.
static __global__ void move_kernel(int n, int capacity, float dt, float* particles) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  for (int d = 0; d < 3; ++d)
    particles[place(i, d, capacity)] += dt * particles[place(i, 3 + d, capacity)];
}

// The positions: out[d][particle].
static __global__ void positions_kernel(int n, int capacity, const float* particles, float* out,
                                        int ld) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  for (int d = 0; d < 3; ++d) out[d * ld + i] = particles[place(i, d, capacity)];
}
