#pragma once
// Variants of 16, to be compared with it: an epilogue behind the product, all of it or a part.
#include <utility>

#include "16_fused_epilogue.cuh"

namespace ladder::fused_epilogue {

// How much of it is done within the kernel that multiplies. What is left takes another kernel, and
// C is what goes from one to the other, rounded.
enum class Within { NOTHING, BIAS };

template <Within WITHIN, class T>
void gemm_and_epilogue(const Gemm<T, T>& p) {
  if (done_without_product(p)) return;
  if (p.epilogue.beta != 0 && p.epilogue.addend == p.C)
    throw std::invalid_argument("the addend is C, which the product would overwrite");
  Gemm<T, T> first = p, then = p;
  first.epilogue = {};
  if (WITHIN == Within::BIAS) {
    std::swap(first.epilogue.alpha, then.epilogue.alpha);
    std::swap(first.epilogue.row_scale, then.epilogue.row_scale);
    std::swap(first.epilogue.column_scale, then.epilogue.column_scale);
    std::swap(first.epilogue.bias, then.epilogue.bias);
  }
  launch_chosen(first, Blocks::THAT_STAY);
  if (!is_product_alone(then.epilogue)) epilogue_pass::launch_epilogue<T>(then, p.C);
}

}  // namespace ladder::fused_epilogue
