// cuBLASMp beside the stages from 12 on, in the same process and rounds. What it refuses is left
// out by name, shape by shape; CUBLASMP_LOG_LEVEL=1 in the environment makes it say why.
#include <cublasmp.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "run.h"
#include "variants.h"

namespace ladder::multi_gpu {
namespace {

using Problem = Gemm<half, half>;

#define CHECKED(call)                                                                         \
  do {                                                                                        \
    const cublasMpStatus_t status = call;                                                     \
    if (status != CUBLASMP_STATUS_SUCCESS)                                                    \
      throw CudaError(fmt::format("{}: {}",                                                   \
                                  std::string(#call).substr(0, std::string(#call).find('(')), \
                                  cublasMpGetStatusString(status)));                          \
  } while (false)

// Made by all ranks together and freed with the process, as the plans are.
struct Library {
  cublasMpHandle_t handle = nullptr;
  cublasMpGrid_t column = nullptr, row = nullptr;  // of ranks

  explicit Library(const Rank& rank) {
    const int ranks = rank.ranks.count;
    CHECKED(cublasMpCreate(&handle, rank.stream));
    CHECKED(cublasMpGridCreate(ranks, 1, CUBLASMP_GRID_LAYOUT_COL_MAJOR, rank.nccl, &column));
    CHECKED(cublasMpGridCreate(1, ranks, CUBLASMP_GRID_LAYOUT_ROW_MAJOR, rank.nccl, &row));
  }
};

struct Way {
  const char* name;
  cublasMpMatmulAlgoType_t algorithm;
  bool transposed;  // our B is stored transposed, as PyTorch stores weights
};

// No algorithm that is free to use NVLink multicast, as cuBLASMp's own choice is for
// reduce-scatter.
constexpr Way WAYS[] = {{"split", CUBLASMP_MATMUL_ALGO_TYPE_SPLIT_P2P, false},
                        {"split, transposed", CUBLASMP_MATMUL_ALGO_TYPE_SPLIT_P2P, true},
                        {"no overlap", CUBLASMP_MATMUL_ALGO_TYPE_NO_OVERLAP, false},
                        {"no overlap, transposed", CUBLASMP_MATMUL_ALGO_TYPE_NO_OVERLAP, true}};

// The N x K matrix that is p's B transposed, in memory of the GPU. Slow: on the host.
half* transposed_b(const Problem& p) {
  constexpr int BLOCK = 64;
  const size_t height = static_cast<size_t>(p.K), width = static_cast<size_t>(p.N);
  const size_t pitch = width * sizeof(half);
  std::vector<half> from(height * width), to(height * width);
  LADDER_CUDA_CHECK(cudaMemcpy2D(from.data(), pitch, p.B, static_cast<size_t>(p.ldb) * sizeof(half),
                                 pitch, height, cudaMemcpyDeviceToHost));
  for (size_t k0 = 0; k0 < height; k0 += BLOCK)
    for (size_t n = 0; n < width; ++n)
      for (size_t k = k0; k < std::min(k0 + BLOCK, height); ++k)
        to[n * height + k] = from[k * width + n];
  half* result = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&result, to.size() * sizeof(half)));
  LADDER_CUDA_CHECK(
      cudaMemcpy(result, to.data(), to.size() * sizeof(half), cudaMemcpyHostToDevice));
  return result;
}

struct Plan {
  cublasMpHandle_t handle;
  cublasMpMatmulDescriptor_t matmul = nullptr;
  cublasMpMatrixDescriptor_t a = nullptr, b = nullptr, d = nullptr;
  int64_t m, n, k;
  const half* weights;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  std::vector<char> host_workspace;

  Plan(const Library& library, int ranks, Operation operation, const Way& way, const Problem& p)
      : handle(library.handle) {
    const bool gather = operation == Operation::ALL_GATHER;
    if (p.M % ranks != 0) throw std::invalid_argument("rows not divisible by the ranks");
    const int64_t rows = p.M / ranks;
    // It is column-major: to it our matrices are transposed, and C^T = B^T A^T.
    m = gather ? int64_t{p.N} * ranks : p.N;
    n = p.M;
    k = gather ? p.K : int64_t{p.K} * ranks;
    weights = way.transposed ? transposed_b(p) : p.B;
    const auto describe = [](int64_t all_rows, int64_t all_cols, int64_t block_rows,
                             int64_t block_cols, int64_t ld, cublasMpGrid_t grid,
                             cublasMpMatrixDescriptor_t* descriptor) {
      CHECKED(cublasMpMatrixDescriptorCreate(all_rows, all_cols, block_rows, block_cols, 0, 0, ld,
                                             CUDA_R_16F, grid, descriptor));
    };
    cublasMpGrid_t const along = gather ? library.column : library.row;
    cublasMpGrid_t const across = gather ? library.row : library.column;
    if (way.transposed)
      describe(k, m, p.K, p.N, p.K, across, &a);
    else
      describe(m, k, p.N, p.K, p.ldb, along, &a);
    describe(k, n, p.K, rows, p.lda, across, &b);
    describe(m, n, p.N, rows, p.ldc, along, &d);
    CHECKED(cublasMpMatmulDescriptorCreate(&matmul, CUBLAS_COMPUTE_32F));
    const auto set = [&](cublasMpMatmulDescriptorAttribute_t attribute, auto value) {
      CHECKED(cublasMpMatmulDescriptorSetAttribute(matmul, attribute, &value, sizeof(value)));
    };
    set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSA, way.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSB, CUBLAS_OP_N);
    set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_ALGO_TYPE, way.algorithm);
    if (!gather)  // as NCCL's reduce-scatter and ours
      set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_COMMUNICATION_TYPE, CUDA_R_16F);
    const float one = 1, zero = 0;
    size_t host_bytes = 0;
    CHECKED(cublasMpMatmul_bufferSize(handle, matmul, m, n, k, &one, weights, 1, 1, a, p.A, 1, 1, b,
                                      &zero, nullptr, 1, 1, d, p.C, 1, 1, d, &workspace_bytes,
                                      &host_bytes));
    // Neither may be null, whatever is asked for. Registered with the grid of D, or it is not
    // found.
    host_workspace.resize(std::max<size_t>(host_bytes, 1));
    CHECKED(cublasMpMalloc(along, &workspace, std::max<size_t>(workspace_bytes, 1)));
  }

  void run(const Problem& p) {
    const float one = 1, zero = 0;
    CHECKED(cublasMpMatmul(handle, matmul, m, n, k, &one, weights, 1, 1, a, p.A, 1, 1, b, &zero,
                           nullptr, 1, 1, d, p.C, 1, 1, d, workspace, workspace_bytes,
                           host_workspace.data(), host_workspace.size()));
  }
};

// A thread is a rank. Each plan is of the problem that was prepared last.
using Key = std::pair<Operation, const Way*>;
std::map<Key, Plan>& plans() {
  static thread_local std::map<Key, Plan> all;
  return all;
}

Variant variant(Operation operation, const Way& way) {
  const Key key(operation, &way);
  return {std::string("cuBLASMp ") + way.name,
          operation,
          Part::WHOLE,
          true,
          [key](Rank&, harness::Cublas&, const Problem& p) -> const half* {
            plans().at(key).run(p);
            return p.C;
          },
          [key](Rank& rank, const Problem& p) {
            static thread_local const Library library(rank);
            Plan plan(library, rank.ranks.count, key.first, *key.second, p);
            plan.run(p);
            plans().insert_or_assign(key, std::move(plan));
          }};
}

}  // namespace
}  // namespace ladder::multi_gpu

int main(int argc, char** argv) {
  using namespace ladder::multi_gpu;
  // NVLink multicast stays off: without it in NCCL there is none in cuBLASMp.
  setenv("CUBLASMP_DISABLE_MULTICAST", "1", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  std::vector<Variant> more;
  for (const Operation operation : {Operation::ALL_GATHER, Operation::REDUCE_SCATTER})
    for (const Way& way : WAYS) more.push_back(variant(operation, way));
  return run("multi_gpu_cublasmp", {}, argc, argv, more);
}
