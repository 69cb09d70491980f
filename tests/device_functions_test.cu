// CUDA's device functions, on the GPU and on the CPU device: that there are such, and what they
// return.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "gpu_test.h"
#include "harness/buffers.h"

namespace ladder {
namespace {

using harness::DeviceBuffer;

constexpr int THREADS = 64;
constexpr unsigned ALL = 0xFFFFFFFF;

// The first line of `lines` is that of an expectation which does not hold, or 0.
#define HOLDS(...) \
  if (!(__VA_ARGS__)) *line = __LINE__

// Unknown to the compiler, so that the functions are those of the device.
template <class T>
__device__ T unknown(T value) {
  volatile T v = value;
  return v;
}
#define NEAR(expected, ...) HOLDS(fabs((__VA_ARGS__) - (expected)) <= 1e-5 * fabs(expected) + 1e-6)

__global__ void integers(int* line) {
  const int one = unknown(1), minus = unknown(-1);
  const unsigned u = unknown(0x12345678u), v = unknown(0x9ABCDEF0u);
  const unsigned long long wide = unknown(0x123456789ABCDEF0ull);
  HOLDS(__clz(one) == 31 && __clz(0) == 32 && __clz(minus) == 0);
  HOLDS(__clzll(1ll << unknown(40)) == 23 && __clzll(0) == 64);
  HOLDS(__ffs(8 * one) == 4 && __ffs(0) == 0 && __ffsll(1ll << unknown(40)) == 41);
  HOLDS(__popc(u) == 13 && __popcll(wide) == 32);
  HOLDS(__brev(u) == 0x1E6A2C48 && __brevll(wide) == 0x0F7B3D591E6A2C48ull);
  HOLDS(__byte_perm(u, v, 0x7610) == 0x9ABC5678 && __byte_perm(u, v, 0xFFF0) == 0x9A9A9A78);
  HOLDS(__funnelshift_l(u, v, 8) == 0xBCDEF012 && __funnelshift_l(u, v, 32) == v);
  HOLDS(__funnelshift_r(u, v, 8) == 0xF0123456 && __funnelshift_r(u, v, 32) == u);
  HOLDS(__funnelshift_lc(u, v, 40) == u && __funnelshift_rc(u, v, 40) == v);
  HOLDS(__mulhi(minus, one) == -1 && __umulhi(u, v) == 0x0B00EA4E);
  HOLDS(__mul64hi(minus, one) == -1 && __umul64hi(wide, wide) == 0x014B66DC33F6ACDCull);
  HOLDS(__mul24(minus, 5) == -5 && __umul24(v, one) == 0xBCDEF0);
  HOLDS(__sad(minus, one, 10u) == 12 && __usad(1u, 3u, 10u) == 12);
  HOLDS(__hadd(minus, 4) == 1 && __rhadd(minus, 4) == 2);
  HOLDS(__uhadd(v, v) == v && __urhadd(1u, 2u) == 2);
  HOLDS(__dp4a(minus, 0x01020304, 100) == 90);
  HOLDS(__dp4a(0xFFFFFFFFu * one, 0x01020304u, 0u) == 2550);
  HOLDS(__dp4a(make_char4(1, 2, 3, -4), make_char4(1, 1, 1, 1), one) == 3);
  HOLDS(__dp4a(make_uchar4(1, 2, 3, 255), make_uchar4(1, 1, 1, 1), 0u) == 261);
  HOLDS(__dp2a_lo(minus, 0x01020304, 0) == -7 && __dp2a_hi(minus, 0x01020304, 0) == -3);
  HOLDS(__dp2a_lo(0x00020003u * one, 0x01020304u, 0u) == 18);
  HOLDS(__dp2a_hi(0x00020003u * one, 0x01020304u, 0u) == 8);
  HOLDS(min(minus, 1u) == 1u && max(minus, 1u) == ALL && min(minus, one) == -1);
  HOLDS(umin(1u, 2u) == 1 && umax(1u, 2u) == 2 && llmin(-1, 2) == -1 && llmax(-1, 2) == 2);
  HOLDS(ullmin(1, 2) == 1 && ullmax(1, 2) == 2);
  HOLDS(min(wide, 5ull) == 5 && max(1ll, 5ull) == 5 && abs(minus) == 1);
  HOLDS(warpSize == 32);
}

__global__ void floats(int* line) {
  const float one = unknown(1.0f), third = unknown(1.0f / 3), tiny = unknown(1e-30f);
  const float nan = unknown(NAN), large = unknown(1e20f);
  const float above = 1 + 0x1p-23f, below = 1 - 0x1p-24f;
  HOLDS(__fadd_rn(one, tiny) == 1 && __fadd_rz(one, tiny) == 1);
  HOLDS(__fadd_ru(one, tiny) == above && __fadd_rd(one, tiny) == 1);
  HOLDS(__fsub_rn(one, tiny) == 1 && __fsub_rz(one, tiny) == below);
  HOLDS(__fsub_ru(one, tiny) == 1 && __fsub_rd(one, tiny) == below);
  HOLDS(__fmul_rn(above, above) == 1 + 0x1p-22f && __fmul_rz(above, above) == 1 + 0x1p-22f);
  HOLDS(__fmul_ru(above, above) > __fmul_rd(above, above));
  HOLDS(__fdiv_rn(one, 3) == third && __fdiv_ru(one, 3) > __fdiv_rd(one, 3));
  HOLDS(__fdiv_rz(one, 3) == __fdiv_rd(one, 3));
  HOLDS(__frcp_rn(3 * one) == third && __frcp_ru(3 * one) > __frcp_rd(3 * one));
  HOLDS(__frcp_rz(3 * one) == __frcp_rd(3 * one));
  HOLDS(__fsqrt_rn(4 * one) == 2 && __fsqrt_ru(2 * one) > __fsqrt_rd(2 * one));
  HOLDS(__fsqrt_rz(2 * one) == __fsqrt_rd(2 * one) && __frsqrt_rn(4 * one) == 0.5f);
  HOLDS(__fmaf_rn(above, above, -1) == 0x1p-22f + 0x1p-46f && __fmaf_rz(one, one, tiny) == 1);
  HOLDS(__fmaf_ru(one, one, tiny) == above && __fmaf_rd(one, one, -tiny) == below);
  const double d = unknown(1.0), d_tiny = unknown(1e-30);
  HOLDS(__dadd_rn(d, d_tiny) == 1 && __dadd_ru(d, d_tiny) > 1 && __dadd_rz(d, d_tiny) == 1);
  HOLDS(__dadd_rd(d, d_tiny) == 1 && __dsub_rn(d, d_tiny) == 1 && __dsub_rd(d, d_tiny) < 1);
  HOLDS(__dmul_rn(d, 3) == 3 && __ddiv_rn(d, 4) == 0.25 && __drcp_rn(4 * d) == 0.25);
  HOLDS(__dsqrt_rn(4 * d) == 2 && __fma_rn(d, 2, 3) == 5);

  HOLDS(__float2int_rn(2.5f * one) == 2 && __float2int_rz(-2.5f * one) == -2);
  HOLDS(__float2int_ru(2.5f * one) == 3 && __float2int_rd(-2.5f * one) == -3);
  HOLDS(__float2int_rn(large) == 0x7FFFFFFF && __float2int_rn(-large) == -0x7FFFFFFF - 1);
  HOLDS(__float2int_rn(nan) == 0 && __float2uint_rz(-one) == 0 && __float2uint_rn(large) == ALL);
  HOLDS(__float2uint_ru(0.5f * one) == 1 && __float2uint_rd(1.5f * one) == 1);
  HOLDS(__float2ll_rn(2.5f * one) == 2 && __float2ll_rz(-2.5f * one) == -2);
  HOLDS(__float2ull_ru(2.5f * one) == 3 && __float2ull_rz(-one) == 0);
  HOLDS(__double2int_rn(3.5 * d) == 4 && __double2int_rz(-3.5 * d) == -3);
  HOLDS(__double2uint_rn(3.5 * d) == 4 && __double2ll_rd(-3.5 * d) == -4);
  HOLDS(__double2ull_rz(3.5 * d) == 3);
  const int odd = unknown(0x1000001);
  HOLDS(__int2float_rn(odd) == 0x1000000 && __int2float_ru(odd) == 0x1000002);
  HOLDS(__int2float_rz(-odd) == -0x1000000 && __int2float_rd(-odd) == -0x1000002);
  HOLDS(__uint2float_rn(unknown(ALL)) == 0x1p32f && __uint2float_rz(unknown(ALL)) < 0x1p32f);
  HOLDS(__ll2float_rn(odd) == 0x1000000 && __ull2float_ru(odd) == 0x1000002);
  HOLDS(__int2double_rn(odd) == 0x1000001 && __uint2double_rn(7u) == 7);
  HOLDS(__ll2double_rn(odd) == 0x1000001 && __ull2double_rn(7u) == 7);
  HOLDS(__double2float_rn(1 + d_tiny) == 1 && __double2float_ru(d + 1e-12) == above);
  HOLDS(__double2float_rz(d + 1e-12) == 1 && __double2float_rd(d - 1e-12) == below);

  HOLDS(__float_as_int(one) == 0x3F800000 && __float_as_uint(-one) == 0xBF800000u);
  HOLDS(__int_as_float(0x3F800000) == 1 && __uint_as_float(0x3F800000u) == one);
  HOLDS(__double_as_longlong(d) == 0x3FF0000000000000ll);
  HOLDS(__longlong_as_double(0x3FF0000000000000ll) == d);
  HOLDS(__double2hiint(d) == 0x3FF00000 && __double2loint(d) == 0);
  HOLDS(__hiloint2double(0x3FF00000, 0) == d);

  HOLDS(max(nan, one) == 1 && min(one, nan) == 1 && max(one, 2.0) == 2 && fmaxf(nan, one) == 1);
  HOLDS(__saturatef(2 * one) == 1 && __saturatef(-one) == 0 && __saturatef(nan) == 0);
  NEAR(0.5f, rsqrtf(4 * one));
  NEAR(0.5, rsqrt(4 * d));
  NEAR(0.5f, rcbrtf(8 * one));
  NEAR(0.5, rcbrt(8 * d));
  NEAR(1.0f, sinpif(0.5f * one));
  NEAR(1.0, sinpi(0.5 * d));
  NEAR(-1.0f, cospif(one));
  NEAR(-1.0, cospi(d));
  NEAR(0.5f, normcdff(0 * one));
  NEAR(0.5, normcdf(0 * d));
  NEAR(0.2f, rhypotf(3 * one, 4.0f));
  NEAR(0.2, rhypot(3 * d, 4.0));
  NEAR(3.0f, norm3df(one, 2.0f, 2.0f));
  NEAR(3.0, norm3d(d, 2.0, 2.0));
  NEAR(1.0f / 3, rnorm3df(one, 2.0f, 2.0f));
  NEAR(1.0 / 3, rnorm3d(d, 2.0, 2.0));
  NEAR(2.718281828f, __expf(one));
  NEAR(10.0f, __exp10f(one));
  NEAR(10.0f, exp10f(one));
  NEAR(1.0f, __logf(2.718281828f * one));
  NEAR(3.0f, __log2f(8 * one));
  NEAR(2.0f, __log10f(100 * one));
  NEAR(8.0f, __powf(2 * one, 3.0f));
  NEAR(0.841470985f, __sinf(one));
  NEAR(0.540302306f, __cosf(one));
  NEAR(1.557407725f, __tanf(one));
  NEAR(0.75f, __fdividef(3 * one, 4.0f));
  NEAR(0.75f, fdividef(3 * one, 4.0f));
  float sine, cosine;
  __sincosf(one, &sine, &cosine);
  NEAR(0.841470985f, sine);
  NEAR(0.540302306f, cosine);
  sincosf(one, &sine, &cosine);
  NEAR(0.540302306f, cosine);
  HOLDS(isnan(nan) && !isinf(one) && isfinite(one) && signbit(-one) && abs(-one) == 1);
}

template <class T>
__device__ unsigned bits(T x) {
  return *reinterpret_cast<unsigned short*>(&x);
}
// What halves and bfloat16s have in common.
template <class T, class P>
__device__ void sixteen_bits(int* line, T one, P pair, float step) {
  const T two = one + one;
  HOLDS(float(__hadd(one, two)) == 3 && float(__hsub(one, two)) == -1);
  HOLDS(float(__hmul(two, two)) == 4 && float(__hdiv(one, two)) == 0.5f);
  HOLDS(float(__hadd_rn(one, two)) == 3 && float(__hsub_rn(one, two)) == -1);
  HOLDS(float(__hmul_rn(two, two)) == 4);
  HOLDS(float(__hadd_sat(one, two)) == 1 && float(__hsub_sat(one, two)) == 0);
  HOLDS(float(__hmul_sat(two, two)) == 1 && float(__hfma_sat(two, two, two)) == 1);
  HOLDS(float(__hfma(two, two, one)) == 5 && float(__hfma_relu(two, -two, one)) == 0);
  // 1 - step * step, less one: with one rounding alone.
  HOLDS(float(__hfma(T(1 + step), T(1 - step), -one)) == -step * step);
  HOLDS(float(__hneg(one)) == -1 && float(__habs(-one)) == 1);
  HOLDS(__heq(one, one) && __hne(one, two) && __hlt(one, two) && __hle(one, one));
  HOLDS(__hgt(two, one) && __hge(one, one) && !__hisnan(one) && __hisnan(T(NAN)));
  HOLDS(__hisinf(T(INFINITY)) == 1 && __hisinf(T(-INFINITY)) == -1 && __hisinf(one) == 0);
  HOLDS(float(__hmax(one, two)) == 2 && float(__hmin(one, two)) == 1);
  HOLDS(float(__hmax(one, T(NAN))) == 1 && __hisnan(__hmax_nan(one, T(NAN))));
  HOLDS(float(__hmax_nan(T(INFINITY), T(-INFINITY))) == INFINITY);
  HOLDS(float(__hmin_nan(one, two)) == 1);
  HOLDS(float(__hmin_nan(T(INFINITY), T(-INFINITY))) == -INFINITY);
  HOLDS(float(one + two) == 3 && float(one - two) == -1 && float(two * two) == 4);
  HOLDS(float(one / two) == 0.5f && one < two && two > one && one <= one && one >= one);
  HOLDS(one == one && one != two);
  T sum = one;
  sum += two;
  sum *= two;
  sum -= one;
  sum /= T(5.0f);
  HOLDS(float(sum) == 1);
  HOLDS(float(hsqrt(two + two)) == 2 && float(hrcp(two)) == 0.5f &&
        float(hrsqrt(two + two)) == 0.5f);
  HOLDS(float(hfloor(T(1.5f))) == 1 && float(hceil(T(1.5f))) == 2 && float(htrunc(T(-1.5f))) == -1);
  HOLDS(float(hrint(T(2.5f))) == 2 && float(hexp2(two)) == 4 && float(hlog2(two)) == 1);
  HOLDS(fabsf(float(hexp(one)) - 2.71828f) < 0.02f && float(hlog(one)) == 0);
  HOLDS(float(hsin(one - one)) == 0 && float(hcos(one - one)) == 1);

  const auto are = [](P v, float x, float y) {
    return __low2float(v) == x && __high2float(v) == y;
  };
  HOLDS(are(pair, 1, 2) && float(pair.x) == 1 && float(pair.y) == 2);
  HOLDS(are(__hadd2(pair, pair), 2, 4) && are(__hsub2(pair, pair), 0, 0));
  HOLDS(are(__hmul2(pair, pair), 1, 4) && are(__h2div(pair, pair), 1, 1));
  HOLDS(are(__hfma2(pair, pair, pair), 2, 6) && are(__hneg2(pair), -1, -2));
  HOLDS(are(__hfma2_relu(__hneg2(pair), pair, pair), 0, 0));
  HOLDS(are(__habs2(__hneg2(pair)), 1, 2) && are(__hmax2(pair, __hneg2(pair)), 1, 2));
  HOLDS(are(__hmin2(pair, __hneg2(pair)), -1, -2));
  HOLDS(are(__heq2(pair, P(one, one)), 1, 0) && are(__hgt2(pair, P(one, one)), 0, 1));
  HOLDS(are(pair + pair, 2, 4) && are(pair - pair, 0, 0) && are(pair * pair, 1, 4));
  HOLDS(are(pair / pair, 1, 1) && are(h2rcp(P(one, two)), 1, 0.5f));
  P both = pair;
  both += pair;
  HOLDS(are(both, 2, 4) && are(h2sqrt(P(one, two + two)), 1, 2) && are(h2exp2(pair), 2, 4));
  HOLDS(are(__lowhigh2highlow(pair), 2, 1));
  HOLDS(float(__shfl_xor_sync(ALL, T(float(threadIdx.x)), 1)) == float(threadIdx.x ^ 1));
  HOLDS(are(__shfl_sync(ALL, pair, 3), 1, 2));
}
__global__ void halves(int* line) {
  const half one = __float2half(unknown(1.0f));
  sixteen_bits(line, one, __halves2half2(one, one + one), 0x1p-10f);
  HOLDS(bits(one) == 0x3C00 && __half_as_ushort(one) == 0x3C00 && __half_as_short(one) == 0x3C00);
  HOLDS(__half2float(__ushort_as_half(0x3C00)) == 1 && __half2float(__short_as_half(0x3C00)) == 1);
  HOLDS(__half2float(__float2half_rn(2049.0f)) == 2048 &&
        __half2float(__float2half_rz(2051.0f)) == 2050);
  HOLDS(__half2float(__float2half_rz(-1e9f)) == -65504);
  HOLDS(__half2float(__double2half(1 + 0x1p-11 + 0x1p-50)) == 1 + 0x1p-10f);
  HOLDS(__half2float(__int2half_rn(2049)) == 2048 && __half2float(__uint2half_rn(7u)) == 7);
  HOLDS(__half2int_rn(__float2half(2.5f)) == 2 && __half2int_rz(__float2half(-2.5f)) == -2);
  HOLDS(__half2uint_rz(__float2half(2.5f)) == 2);
  const half2 pair = make_half2(one, __float2half(2.0f));
  HOLDS(__half22float2(pair).y == 2 && __half22float2(__float22half2_rn(make_float2(3, 4))).x == 3);
  HOLDS(__high2float(__float2half2_rn(5.0f)) == 5 &&
        __low2float(__floats2half2_rn(6.0f, 7.0f)) == 6);
  HOLDS(__half2float(__low2half(pair)) == 1 && __half2float(__high2half(pair)) == 2);
  HOLDS(__high2float(__low2half2(pair)) == 1 && __low2float(__high2half2(pair)) == 2);
  HOLDS(__high2float(__half2half2(one)) == 1 && __high2float(__lows2half2(pair, pair)) == 1);
  HOLDS(__low2float(__highs2half2(pair, pair)) == 2);
  const __half same = one;
  const __half2 same_pair = pair;
  HOLDS(same == one && __low2float(same_pair) == 1);
}
__global__ void bfloat16s(int* line) {
  const __nv_bfloat16 one = __float2bfloat16(unknown(1.0f));
  sixteen_bits(line, one, __halves2bfloat162(one, one + one), 0x1p-7f);
  HOLDS(bits(one) == 0x3F80 && __bfloat16_as_ushort(one) == 0x3F80);
  HOLDS(__bfloat16_as_short(one) == 0x3F80 && __bfloat162float(__ushort_as_bfloat16(0x3F80)) == 1);
  HOLDS(__bfloat162float(__short_as_bfloat16(0x3F80)) == 1);
  HOLDS(__bfloat162float(__float2bfloat16_rn(257.0f)) == 256);
  HOLDS(__bfloat162float(__float2bfloat16_rz(259.0f)) == 258);
  HOLDS(__bfloat162float(__double2bfloat16(1 + 0x1p-8 + 0x1p-50)) == 1 + 0x1p-7f);
  HOLDS(__bfloat162float(__int2bfloat16_rn(257)) == 256 &&
        __bfloat162float(__uint2bfloat16_rn(7u)) == 7);
  HOLDS(__bfloat162int_rn(__float2bfloat16(2.5f)) == 2 &&
        __bfloat162int_rz(__float2bfloat16(-2.5f)) == -2);
  HOLDS(__bfloat162uint_rz(__float2bfloat16(2.5f)) == 2);
  const __nv_bfloat162 pair = make_bfloat162(one, __float2bfloat16(2.0f));
  HOLDS(__bfloat1622float2(pair).y == 2);
  HOLDS(__bfloat1622float2(__float22bfloat162_rn(make_float2(3, 4))).x == 3);
  HOLDS(__high2float(__float2bfloat162_rn(5.0f)) == 5);
  HOLDS(__low2float(__floats2bfloat162_rn(6.0f, 7.0f)) == 6);
  HOLDS(__bfloat162float(__low2bfloat16(pair)) == 1 &&
        __bfloat162float(__high2bfloat16(pair)) == 2);
  HOLDS(__high2float(__low2bfloat162(pair)) == 1 && __low2float(__high2bfloat162(pair)) == 2);
  HOLDS(__high2float(__bfloat162bfloat162(one)) == 1);
  HOLDS(__high2float(__lows2bfloat162(pair, pair)) == 1);
  HOLDS(__low2float(__highs2bfloat162(pair, pair)) == 2);
}

__device__ __noinline__ unsigned leaders(unsigned mask) {
  return __ffs(static_cast<int>(mask)) - 1;
}
__global__ void __launch_bounds__(THREADS) warps(int* line) {
  const int lane = threadIdx.x % warpSize;
  HOLDS(__shfl_sync(ALL, lane, 5) == 5 && __shfl_sync(ALL, lane, 5, 8) == lane / 8 * 8 + 5);
  HOLDS(__shfl_up_sync(ALL, lane, 1) == max(lane - 1, 0));
  HOLDS(__shfl_up_sync(ALL, lane, 1, 8) == (lane % 8 == 0 ? lane : lane - 1));
  HOLDS(__shfl_down_sync(ALL, lane, 1) == min(lane + 1, 31));
  HOLDS(__shfl_down_sync(ALL, lane, 1, 8) == (lane % 8 == 7 ? lane : lane + 1));
  HOLDS(__shfl_xor_sync(ALL, lane, 3) == (lane ^ 3));
  HOLDS(__shfl_xor_sync(ALL, lane, 8, 8) == (lane % 16 < 8 ? lane : lane - 8));
  HOLDS(__shfl_sync(ALL, static_cast<double>(lane), 7) == 7);
  HOLDS(__shfl_sync(ALL, static_cast<long long>(lane) << 40, 7) == 7ll << 40);
  HOLDS(__ballot_sync(ALL, lane % 2) == 0xAAAAAAAA);
  HOLDS(__any_sync(ALL, lane == 3) && !__any_sync(ALL, lane == 32) && __all_sync(ALL, 1));
  HOLDS(!__all_sync(ALL, lane != 3));
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  HOLDS(__reduce_add_sync(ALL, 1u) == 32 && __reduce_add_sync(ALL, -lane) == -496);
  HOLDS(__reduce_min_sync(ALL, -lane) == -31 && __reduce_max_sync(ALL, lane) == 31);
  HOLDS(__reduce_min_sync(ALL, lane + 1u) == 1 && __reduce_max_sync(ALL, lane + 1u) == 32);
  HOLDS(__reduce_and_sync(ALL, lane | 64u) == 64 && __reduce_or_sync(ALL, 1u << lane) == ALL);
  HOLDS(__reduce_xor_sync(ALL, 1u << lane) == ALL);
#endif
  HOLDS(__match_any_sync(ALL, lane % 4) == 0x11111111u << lane % 4);
  HOLDS(__match_any_sync(ALL, static_cast<long long>(lane)) == 1u << lane);
  int same = 0;
  HOLDS(__match_all_sync(ALL, 7, &same) == ALL && same);
  HOLDS(__match_all_sync(ALL, lane, &same) == 0 && !same);
  // A part of the warp.
  if (lane < 16) {
    HOLDS(__ballot_sync(0xFFFF, lane % 2) == 0xAAAA && __shfl_sync(0xFFFF, lane, 2) == 2);
    HOLDS(__shfl_down_sync(0xFFFF, lane, 8) == lane + 8 || lane >= 8);
    __syncwarp(0xFFFF);
  } else {
    HOLDS(__all_sync(0xFFFF0000, lane >= 16) && __shfl_xor_sync(0xFFFF0000, lane, 1) == (lane ^ 1));
    const unsigned active = __activemask();
    HOLDS((active & 0xFFFF) == 0 && (active >> lane & 1) && leaders(active) >= 16);
  }
  __syncwarp();
  HOLDS(__syncthreads_count(threadIdx.x < 40) == 40 && __syncthreads_count(1) == THREADS);
  HOLDS(__syncthreads_or(threadIdx.x == 40) && !__syncthreads_or(0));
  HOLDS(__syncthreads_and(1) && !__syncthreads_and(threadIdx.x != 40));
  __syncthreads();
}

template <class... T>
constexpr int bytes_of = (sizeof(T) + ...);
static_assert(bytes_of<char1, char2, char3, char4, uchar1, uchar2, uchar3, uchar4> == 20);
static_assert(bytes_of<short1, short2, short3, short4, ushort1, ushort2, ushort3, ushort4> == 40);
static_assert(bytes_of<int1, int2, int3, int4, uint1, uint2, uint3, uint4> == 80);
static_assert(bytes_of<float1, float2, float3, float4> == 40);
static_assert(bytes_of<long1, long2, long3, ulong1, ulong2, ulong3> == 96);
static_assert(bytes_of<longlong1, longlong2, longlong3, ulonglong1, ulonglong2, ulonglong3> == 96);
static_assert(bytes_of<double1, double2, double3> == 48);
static_assert(sizeof(char3) == 3 && alignof(char4) == 4 && alignof(short2) == 4);
static_assert(alignof(short4) == 8 && sizeof(float3) == 12 && alignof(float3) == 4);
static_assert(alignof(float2) == 8 && alignof(uint4) == 16 && alignof(double2) == 16);
static_assert(sizeof(double3) == 24 && alignof(longlong2) == 16);

__constant__ float constants[3] = {1, 2, 3};
__device__ int counter;

__global__ void memory(int* line, const float* in, unsigned* u, float* f) {
  const int i = threadIdx.x;
  HOLDS(constants[1] == 20 && constants[2] == 3 && __ldg(&in[i]) == i);
  f[i] = static_cast<float>(i);
  __threadfence_block();
  __syncthreads();
  __threadfence();
  __threadfence_system();
  HOLDS(__ldcg(&f[i]) == i && __ldca(&f[i]) == i && __ldcs(&f[i]) == i && __ldcv(&f[i]) == i);
  HOLDS(__ldlu(&f[i]) == i);
  __stcg(&f[i], 2.0f * i);
  HOLDS(f[i] == 2 * i);
  __stcs(&f[i], 3.0f * i);
  __stwb(&f[i], 4.0f * i);
  __stwt(&f[i], 5.0f * i);
  HOLDS(f[i] == 5 * i);
  __syncthreads();
  float4* const quads = reinterpret_cast<float4*>(f);
  if (i < 16) {
    const float4 quad = __ldcg(&quads[i]);
    HOLDS(quad.w == 5 * (4 * i + 3));
    __stcg(&quads[i], make_float4(quad.w, quad.z, quad.y, quad.x));
    HOLDS(f[4 * i] == 5 * (4 * i + 3));
  }
  atomicAdd(&u[0], 1u);
  atomicSub(&u[1], 1u);
  atomicMax(&u[2], static_cast<unsigned>(i));
  atomicMin(&u[3], static_cast<unsigned>(i));
  atomicAnd(&u[4], ~(1u << i % 32));
  atomicOr(&u[5], 1u << i % 32);
  atomicXor(&u[6], 1u << i % 32);
  atomicInc(&u[7], 9u);
  atomicDec(&u[8], 9u);
  atomicExch(&u[9], 7u);
  atomicCAS(&u[10], 0u, 5u);
  atomicAdd_block(&u[11], 1u);
  atomicAdd_system(&u[11], 1u);
  atomicCAS_block(&u[12], 0u, 1u);
  atomicAdd(reinterpret_cast<float*>(&u[14]), 0.5f);
  atomicAdd(reinterpret_cast<unsigned long long*>(&u[16]), 1ull << 32);
  atomicAdd(reinterpret_cast<double*>(&u[18]), 0.5);
  atomicCAS(reinterpret_cast<unsigned long long*>(&u[20]), 0ull, 1ull << 40);
  atomicMax(reinterpret_cast<long long*>(&u[22]), static_cast<long long>(i) << 32);
  atomicAdd(reinterpret_cast<half2*>(&u[24]), __floats2half2_rn(1, 2));
  atomicCAS(reinterpret_cast<unsigned short*>(&u[25]), static_cast<unsigned short>(0),
            static_cast<unsigned short>(3));
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  atomicAdd(reinterpret_cast<half*>(&u[26]), __float2half(1));
  atomicAdd(reinterpret_cast<__nv_bfloat16*>(&u[27]), __float2bfloat16(1));
  atomicAdd(reinterpret_cast<__nv_bfloat162*>(&u[28]), __floats2bfloat162_rn(1, 2));
#else
  if (i == 0) u[26] = 0x5400, u[27] = 0x4280, u[28] = 0x43004280;
#endif
  atomicAdd(&counter, 1);
  const long long before = clock64();
  __nanosleep(1);
  HOLDS(clock64() >= before);
  assert(i < THREADS);
  if (i < 0) printf("%d\n", i);
  if (i < 0) __trap();
}

class DeviceFunctions : public GpuTest<80, false> {
 protected:
  // The line of an expectation that does not hold, 0 if all do.
  template <class... Params>
  static int run(void (*kernel)(int*, Params...), std::common_type_t<Params>... args) {
    DeviceBuffer<int> line(1);
    line.upload({0});
    launch(kernel, dim3(1), dim3(THREADS), 0, nullptr, line.get(), args...);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<int> said(1);
    line.download(said);
    return said[0];
  }
};

TEST_F(DeviceFunctions, Integers) {
  EXPECT_EQ(0, run(integers));
}
TEST_F(DeviceFunctions, Floats) {
  EXPECT_EQ(0, run(floats));
}
TEST_F(DeviceFunctions, Halves) {
  EXPECT_EQ(0, run(halves));
}
TEST_F(DeviceFunctions, Bfloat16s) {
  EXPECT_EQ(0, run(bfloat16s));
}
TEST_F(DeviceFunctions, WarpsAndBlocks) {
  EXPECT_EQ(0, run(warps));
}
TEST_F(DeviceFunctions, Memory) {
  const float twenty = 20;
  LADDER_CUDA_CHECK(cudaMemcpyToSymbol(constants, &twenty, sizeof twenty, sizeof twenty));
  const int zero = 0;
  LADDER_CUDA_CHECK(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
  DeviceBuffer<unsigned> u(32);
  DeviceBuffer<float> f(THREADS);
  std::vector<unsigned> numbers(32, 0);
  numbers[3] = numbers[4] = ALL;
  u.upload(numbers);
  std::vector<float> counted(THREADS);
  std::iota(counted.begin(), counted.end(), 0.0f);
  DeviceBuffer<float> in(THREADS);
  in.upload(counted);
  EXPECT_EQ(0, run(memory, in.get(), u.get(), f.get()));
  u.download(numbers);
  const std::vector<unsigned> expected = {
      64,  0u - 64, 63,         0,          0,      ALL,    0,          4, 6,          7, 5,
      128, 1,       0,          0x42000000, 0,      0,      64,         0, 0x40400000, 0, 256,
      0,   63,      0x58005400, 3,          0x5400, 0x4280, 0x43004280, 0, 0,          0};
  EXPECT_EQ(expected, numbers);
  int count = 0;
  LADDER_CUDA_CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  EXPECT_EQ(THREADS, count);
}

}  // namespace
}  // namespace ladder
