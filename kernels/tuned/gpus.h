#pragma once
// Made by ./ladder tune: the tables there are.
#include "h100.h"
#include "h200.h"

namespace ladder::tuned {

// A GPU that is none of them gets the first.
inline constexpr const Gpu* GPUS[] = {&H200, &H100};

}  // namespace ladder::tuned
