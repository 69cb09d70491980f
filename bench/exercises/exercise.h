#pragma once
// All that the kernels of an exercise see: CUDA, the instructions of kernels/ptx as ptx::, two
// helpers, and numbers of 8 bits.
#include <mma.h>

#include <cstdint>

#include "launch.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/pairs.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/stmatrix.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"
#include "types.cuh"

#ifdef LADDER_CPU_DEVICE  // state between launches otherwise; nobody here copies to a symbol
  #undef __constant__
  #define __constant__ const
#endif

namespace ptx = ladder::ptx;
namespace wmma = nvcuda::wmma;
using ladder::ceil_div;        // ceil_div(a, b) of ints, a >= 0, b > 0
using ladder::dynamic_shared;  // dynamic_shared<T>(): the block's dynamic shared memory, as a T&
using ladder::e4m3;            // 8 bits: a sign, 4 of exponent, 3 of fraction
