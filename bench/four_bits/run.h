#pragma once
// What the stages from 24 on include: checks and times products by numbers of four bits, on a GPU
// or on the CPU device.
#include "case.h"

namespace ladder::four_bits_bench {

// Runs as the command line says and returns the exit code, one of harness::Exit: 0 all right; 1 a
// wrong result or a CUDA error; 2 bad input; 77 no usable GPU. Never throws.
int run(const char* stage, const std::vector<Variant>& variants, int argc, char** argv);

}  // namespace ladder::four_bits_bench
