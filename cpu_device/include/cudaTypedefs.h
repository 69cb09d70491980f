#pragma once
// The CPU device's stand-in for CUDA's header: types of the driver's functions.
#include <cuda.h>

typedef decltype(&cuTensorMapEncodeTiled) PFN_cuTensorMapEncodeTiled_v12000;
