#pragma once
// What the stages from 12 on include: checks and times products of several GPUs. One process with a
// rank for each GPU, or one of several processes that torchrun, mpirun or srun have started.
#include <string>
#include <vector>

#include "variants.h"

namespace ladder::multi_gpu {

// Runs as the command line says and returns the exit code, one of harness::Exit. Of the variants
// those whose names contain one of `variants`, all where there are none, and `more` besides. Never
// throws.
int run(const std::string& stage, const std::vector<std::string>& variants, int argc, char** argv,
        const std::vector<Variant>& more = {});

}  // namespace ladder::multi_gpu
