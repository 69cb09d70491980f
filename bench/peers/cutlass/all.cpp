#include "../cutlass.h"

namespace ladder::peers {

void add_cooperative_128x128(std::vector<CutlassKernel>&);
void add_cooperative_128x192(std::vector<CutlassKernel>&);
void add_cooperative_128x256(std::vector<CutlassKernel>&);
void add_cooperative_256x128(std::vector<CutlassKernel>&);
void add_pingpong_128x128(std::vector<CutlassKernel>&);
void add_pingpong_64x128(std::vector<CutlassKernel>&);
void add_pingpong_64x256(std::vector<CutlassKernel>&);
void add_pingpong_64x64(std::vector<CutlassKernel>&);
void add_pingpong_swapped(std::vector<CutlassKernel>&);
void add_stream_k(std::vector<CutlassKernel>&);
void add_stream_k_narrow(std::vector<CutlassKernel>&);
void add_stream_k_swapped(std::vector<CutlassKernel>&);
void add_unaligned(std::vector<CutlassKernel>&);

std::vector<CutlassKernel> cutlass_kernels() {
  std::vector<CutlassKernel> kernels;
  for (const auto add : {add_cooperative_128x128, add_cooperative_128x192, add_cooperative_128x256,
                         add_cooperative_256x128, add_pingpong_128x128, add_pingpong_64x128,
                         add_pingpong_64x256, add_pingpong_64x64, add_pingpong_swapped,
                         add_stream_k, add_stream_k_narrow, add_stream_k_swapped, add_unaligned})
    add(kernels);
  return kernels;
}

}  // namespace ladder::peers
