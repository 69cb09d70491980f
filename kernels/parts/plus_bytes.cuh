#pragma once
// Buffers of a ring are addressed in bytes.
#include "../launch.cuh"

namespace ladder {

// The same place in a buffer that begins `bytes` later: an index of elements would be scaled anew
// each time.
template <class T>
__device__ __forceinline__ T* plus_bytes(T* p, unsigned bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(p) + bytes);
}

}  // namespace ladder
