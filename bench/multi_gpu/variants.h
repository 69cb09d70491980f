#pragma once
// What is measured: the ways to compute a product with several ranks, and their parts alone.
#include <functional>
#include <string>
#include <vector>

#include "extensions.h"
#include "harness/cublas.h"
#include "rank.h"

namespace ladder::multi_gpu {

enum class Operation { ALL_GATHER, REDUCE_SCATTER };
enum class Part { MULTIPLICATION, COMMUNICATION, WHOLE };

struct Variant {
  std::string name;
  Operation operation;
  Part part;
  bool needs_nccl;
  // Enqueues on the rank's stream and returns where the result will be: for all-gather p.C, this
  // rank's columns; for reduce-scatter this rank's rows. p is as the stages' headers say.
  std::function<const half*(Rank&, harness::Cublas&, const Gemm<half, half>& p)> run;
  // Where there is one, called for a problem before any run(): throws if the variant cannot have
  // it.
  std::function<void(Rank&, const Gemm<half, half>& p)> prepare = nullptr;
};

const std::vector<Variant>& all_variants();

// Bytes of the link's buffer that a problem needs, and its flags for tiles.
struct LinkSize {
  uint64_t bytes;
  int64_t tile_flags;
};
LinkSize link_size(int M, int N, int K, int ranks);

void load_variants();  // their kernels: see load_device_code()

}  // namespace ladder::multi_gpu
