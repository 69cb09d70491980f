#pragma once
// The number formats beside float and half, by the names that people call them.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "extensions.h"

namespace ladder {

using bf16 = __nv_bfloat16;  // 1 bit of sign, 8 of exponent, 7 of fraction: a float cut in half
using e4m3 = __nv_fp8_e4m3;  // 1, 4, 3: to 448, without infinities
using e5m2 = __nv_fp8_e5m2;  // 1, 5, 2: to 57,344; a half cut in half

// A float of which a tensor core reads 1, 8, 10: the range of a float with the fraction of a half.
struct tf32 {
  float value;
};
template <>
inline constexpr bool ALONG_K<tf32> = true;

}  // namespace ladder
