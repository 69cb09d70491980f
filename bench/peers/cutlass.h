#pragma once
// Kernels of CUTLASS: fp16, row-major, sums in fp32. No header of CUTLASS in here.
#include <string>
#include <vector>

#include "launch.cuh"

namespace ladder::peers {

// What CUTLASS lets one choose at the launch.
struct CutlassChoice {
  enum Split { HEURISTIC, WHOLE_TILES, STREAM_K, SPLIT_K };  // of K; for its stream-K scheduler
  int swizzle = 1;  // tiles side by side in the order in which they are taken
  Split split = HEURISTIC;
  int parts = 1;  // of K, for SPLIT_K
};

struct CutlassKernel {
  std::string name;
  int rows, columns;        // of a tile of C
  bool stream_k;            // has the scheduler that can share out a tile's K
  bool for_unaligned_rows;  // others are faster where N and K are multiples of 8
  // Bytes of workspace that launch() needs.
  uint64_t (*workspace_bytes)(const Gemm<half, half>&, const CutlassChoice&);
  // Throws CudaError, too where CUTLASS says that this kernel cannot run the problem.
  void (*launch)(const Gemm<half, half>&, const CutlassChoice&);
};

// All of them; none where they are not built.
std::vector<CutlassKernel> cutlass_kernels();

// What is worth trying of a kernel; nothing where others are certain to be faster.
std::vector<CutlassChoice> cutlass_choices(const CutlassKernel& kernel, int M, int N, int K,
                                           int multiprocessors);
std::string describe(const CutlassChoice& choice);

}  // namespace ladder::peers
