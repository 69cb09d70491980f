#pragma once

namespace ladder::harness {

// How a stage adds up its products: how exact it is, and what cublasLt is asked for beside it.
// All but the first are ways to add up numbers of 8 bits, of whose sums tensor cores keep 14 bits.
enum class Sums {
  FP32,      // as Formats says
  FAST,      // by the tensor core alone
  PROMOTED,  // each 128 of K by the tensor core, these sums in fp32
  SCALED,    // the same with the factors of BlockScales
};
constexpr const char* SUMS_NAMES[] = {"fp32", "fast", "promoted", "scaled"};
inline const char* name(Sums sums) {
  return SUMS_NAMES[static_cast<int>(sums)];
}

}  // namespace ladder::harness
