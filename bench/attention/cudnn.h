#pragma once
// cuDNN's attention, to be raced with the stages.
#include "case.h"

namespace ladder::attention_bench {

// For problems of p's shape and scale, with other addresses and streams. Its name has cuDNN's
// version. Throws UsageError where the program is built without it (LADDER_CUDNN), and
// std::runtime_error with cuDNN's reason where it has no kernel for the shape.
Variant cudnn(const Attention& p);

}  // namespace ladder::attention_bench
