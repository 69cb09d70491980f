#pragma once
// What the tensor cores of sm_90 make of halves and fp32 sums, bit by bit: mma.sync, WMMA and wgmma
// alike.
//
// NVIDIA does not say how they add. The rules are those of MMA-Sim (Xie, Wang, Yang, Yang:
// "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores", arXiv 2511.10909),
// whose methods go back to Fasi, Higham, Mikaitis, Pranesh: "Numerical behavior of NVIDIA tensor
// cores" (PeerJ Computer Science 7:e330, 2021). build/tensor_arithmetic looks for them on a GPU;
// tests/data/tensor_core_h200.txt is what an H200 answered.
//
// 1. Sixteen products and the number that is there make one sum: no order, no rounding between.
// 2. A number's exponent is that of its first bit, in a half never below -14 (subnormal). A
//    product's is the sum of its factors', although 1.5 * 1.5 has a bit before that. The largest
//    exponent of the seventeen is the sum's, E. Zeros have none.
// 3. Each of the seventeen is cut to multiples of 2^(E - 25), towards zero: what is 26 bits smaller
//    than the largest is lost.
// 4. Then they are added exactly, and the sum is cut to the 24 bits of a float, towards zero.
// 5. A sum that is zero is +0. NaN is 0x7FFFFFFF, whatever made it: a NaN, 0 * infinity, infinities
//    of both signs.
#include <cstdint>

namespace cpu_device {

// d += a * b. Halves by their bits: a is m x k, row by row; b is n x k, that is, transposed; d is
// m x n. n is a multiple of 8, k of 16; the sums of each 16 of k are those of an instruction.
void tensor_core_multiply(const uint16_t* a, const uint16_t* b, float* d, unsigned m, unsigned n,
                          unsigned k);

}  // namespace cpu_device
