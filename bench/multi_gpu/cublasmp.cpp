// cuBLASMp beside the stages from 12 on, in the same process and rounds. Shapes that the ranks
// divide evenly only.
#include <cublasmp.h>

#include <map>
#include <tuple>

#include "run.h"
#include "variants.h"

namespace ladder::multi_gpu {
namespace {

using Problem = Gemm<half, half>;

void check(cublasMpStatus_t status, const char* what) {
  if (status != CUBLASMP_STATUS_SUCCESS)
    throw CudaError(std::string(what) + ": " + cublasMpGetStatusString(status));
}
#define CHECKED(call) check(call, #call)

// What a product needs beforehand. Made by all ranks together, when it is first asked for; freed
// with the process.
struct Plan {
  cublasMpHandle_t handle = nullptr;
  cublasMpMatmulDescriptor_t matmul = nullptr;
  cublasMpMatrixDescriptor_t a = nullptr, b = nullptr, d = nullptr;
  int64_t m = 0, n = 0, k = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  std::vector<char> host_workspace;

  Plan(Rank& rank, Operation operation, cublasMpMatmulAlgoType_t algorithm, const Problem& p) {
    const int ranks = rank.ranks.count;
    const bool gather = operation == Operation::ALL_GATHER;
    if (p.M % ranks != 0) throw std::invalid_argument("cuBLASMp: rows not divisible by the ranks");
    const int64_t rows = p.M / ranks;
    cublasMpGrid_t column = nullptr, row = nullptr;  // of ranks
    CHECKED(cublasMpCreate(&handle, rank.stream));
    CHECKED(cublasMpGridCreate(ranks, 1, CUBLASMP_GRID_LAYOUT_COL_MAJOR, rank.nccl, &column));
    CHECKED(cublasMpGridCreate(1, ranks, CUBLASMP_GRID_LAYOUT_ROW_MAJOR, rank.nccl, &row));
    // It is column-major: to it our matrices are transposed, and C^T = B^T A^T.
    m = gather ? int64_t{p.N} * ranks : p.N;
    n = p.M;
    k = gather ? p.K : int64_t{p.K} * ranks;
    const auto describe = [](int64_t global_rows, int64_t global_cols, int64_t block_rows,
                             int64_t block_cols, int64_t ld, cublasMpGrid_t grid,
                             cublasMpMatrixDescriptor_t* descriptor) {
      CHECKED(cublasMpMatrixDescriptorCreate(global_rows, global_cols, block_rows, block_cols, 0, 0,
                                             ld, CUDA_R_16F, grid, descriptor));
    };
    describe(m, k, p.N, p.K, p.ldb, gather ? column : row, &a);
    describe(k, n, p.K, rows, p.lda, gather ? row : column, &b);
    describe(m, n, p.N, rows, p.ldc, gather ? column : row, &d);
    CHECKED(cublasMpMatmulDescriptorCreate(&matmul, CUBLAS_COMPUTE_32F));
    const auto set = [&](cublasMpMatmulDescriptorAttribute_t attribute, auto value) {
      CHECKED(cublasMpMatmulDescriptorSetAttribute(matmul, attribute, &value, sizeof(value)));
    };
    set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSA, CUBLAS_OP_N);
    set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSB, CUBLAS_OP_N);
    set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_ALGO_TYPE, algorithm);
    if (!gather)  // as NCCL's reduce-scatter and ours
      set(CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_COMMUNICATION_TYPE, CUDA_R_16F);
    const float one = 1, zero = 0;
    size_t host_bytes = 0;
    CHECKED(cublasMpMatmul_bufferSize(handle, matmul, m, n, k, &one, p.B, 1, 1, a, p.A, 1, 1, b,
                                      &zero, nullptr, 1, 1, nullptr, p.C, 1, 1, d, &workspace_bytes,
                                      &host_bytes));
    host_workspace.resize(host_bytes);
    CHECKED(cublasMpMalloc(row, &workspace, workspace_bytes));
  }

  void run(const Problem& p) {
    const float one = 1, zero = 0;
    CHECKED(cublasMpMatmul(handle, matmul, m, n, k, &one, p.B, 1, 1, a, p.A, 1, 1, b, &zero,
                           nullptr, 1, 1, nullptr, p.C, 1, 1, d, workspace, workspace_bytes,
                           host_workspace.data(), host_workspace.size()));
  }
};

Variant variant(Operation operation, const std::string& name, cublasMpMatmulAlgoType_t algorithm) {
  return {"cuBLASMp " + name, operation, Part::WHOLE, true,
          [=](Rank& rank, harness::Cublas&, const Problem& p) -> const half* {
            // A thread is a rank.
            thread_local std::map<std::tuple<Operation, int, int, int, int>, Plan> plans;
            const auto key = std::make_tuple(operation, static_cast<int>(algorithm), p.M, p.N, p.K);
            plans.try_emplace(key, rank, operation, algorithm, p).first->second.run(p);
            return p.C;
          }};
}

}  // namespace
}  // namespace ladder::multi_gpu

int main(int argc, char** argv) {
  using namespace ladder::multi_gpu;
  // NVLink multicast stays off.
  setenv("CUBLASMP_DISABLE_MULTICAST", "1", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  std::vector<Variant> more;
  for (const Operation operation : {Operation::ALL_GATHER, Operation::REDUCE_SCATTER}) {
    more.push_back(variant(operation, "split", CUBLASMP_MATMUL_ALGO_TYPE_SPLIT_P2P));
    more.push_back(variant(operation, "own choice", CUBLASMP_MATMUL_ALGO_TYPE_DEFAULT));
    more.push_back(variant(operation, "no overlap", CUBLASMP_MATMUL_ALGO_TYPE_NO_OVERLAP));
  }
  return run("multi_gpu_cublasmp", {}, argc, argv, more);
}
