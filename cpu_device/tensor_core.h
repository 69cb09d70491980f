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
//
// With operands of 8 bits wgmma's rules are the same, with other numbers: 32 products and the
// number that is there make one sum; an exponent is never below -6 (e4m3) or -14 (e5m2); each of
// the 33 is cut to multiples of 2^(E - 13), and the sum to its first 14 bits. That beside 2^16 an
// addend keeps its bits down to 2^3 and no others, within an instruction and from one to the next,
// is what an H200 answered. That it is 32 products at once, and not twice 16, is MMA-Sim's.
#include <cstdint>

namespace cpu_device {

// The rules for bf16 are those for halves, but for the exponent of a subnormal, -126: MMA-Sim's.
// What comes of sums that no normal float holds is not known.

// d += a * b. Halves by their bits: a is m x k, row by row; b is n x k, that is, transposed; d is
// m x n. n is a multiple of 8, k of 16; the sums of each 16 of k are those of an instruction.
void tensor_core_multiply(const uint16_t* a, const uint16_t* b, float* d, unsigned m, unsigned n,
                          unsigned k);

// The same of bf16.
void tensor_core_multiply_bf16(const uint16_t* a, const uint16_t* b, float* d, unsigned m,
                               unsigned n, unsigned k);

// The formats of 8 bits.
enum class Fp8 { E4M3, E5M2 };

// The same of numbers of 8 bits by wgmma. k is a multiple of 32; the sums of each 32 of k are those
// of an instruction.
void wgmma_multiply_fp8(const uint8_t* a, Fp8 type_a, const uint8_t* b, Fp8 type_b, float* d,
                        unsigned m, unsigned n, unsigned k);

// The same of 32 integers of 8 bits: exact, and beyond 32 bits modulo 2^32.
void wgmma_multiply_s8(const int8_t* a, const int8_t* b, int32_t* d, unsigned m, unsigned n);

// The same of 8 floats, of which the lower 13 bits are not read: the rules are those of halves,
// with 8 products in a sum, which is MMA-Sim's, and bf16's exponents.
void wgmma_multiply_tf32(const float* a, const float* b, float* d, unsigned m, unsigned n);

// The tf32 nearest to a float, of two as near the even one: what TMA makes of floats whose map says
// TFLOAT32.
float rounded_to_tf32(float x);

}  // namespace cpu_device
