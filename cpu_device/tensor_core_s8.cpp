#include "tensor_core.h"

namespace cpu_device {

void wgmma_multiply_s8(const int8_t* a, const int8_t* b, int32_t* d, unsigned m, unsigned n) {
  constexpr unsigned STEP = 32;
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (unsigned k = 0; k < STEP; ++k) sum += a[i * STEP + k] * b[j * STEP + k];
      int32_t& to = d[i * n + j];
      to = static_cast<int32_t>(static_cast<uint32_t>(to) + static_cast<uint32_t>(sum));
    }
}

}  // namespace cpu_device
