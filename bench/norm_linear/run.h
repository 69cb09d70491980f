#pragma once
// What stage 23c includes: checks and times a linear layer behind a LayerNorm, on a GPU or on the
// CPU device.
#include "case.h"

namespace ladder::norm_linear_bench {

// Runs as the command line says and returns the exit code, one of harness::Exit: 0 all right; 1 a
// wrong result or a CUDA error; 2 bad input; 77 no usable GPU. Never throws.
int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv);

}  // namespace ladder::norm_linear_bench
