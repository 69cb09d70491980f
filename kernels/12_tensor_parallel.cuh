#pragma once
// 12 tensor parallel: C[M,N] = A[M,K] * B[K,N] by several ranks, each with a GPU of its own and a
// part of each matrix: communicate, then multiply, or the other way round. Row-major, fp16 in, fp32
// accumulate, fp16 out.
// Idea    a product can be divided in two ways. By columns of B: every rank needs all of A, of
//         which it has a share of the rows (all-gather), and computes columns of C. By K: every
//         rank multiplies its columns of A by its rows of B, and the products are added up; each
//         rank keeps a share of the rows (reduce-scatter). A layer of a neural network divided by
//         columns and the next divided by K follow each other with nothing in between.
// vs 11c  11c itself, on a part of the problem; before or after it one call of NCCL.
// Limit   the tensor cores idle while NCCL works, and the links while 11c does: the times add up.
#include <nccl.h>

#include "11c_chosen_by_shape.cuh"
#include "parts/link.cuh"

namespace ladder::tensor_parallel {

#define LADDER_NCCL_CHECK(call)                                                          \
  do {                                                                                   \
    const ncclResult_t status = (call);                                                  \
    if (status != ncclSuccess)                                                           \
      throw ::ladder::CudaError(std::string(#call) + ": " + ncclGetErrorString(status)); \
  } while (0)

// p.M rows of A in all, of which this rank's are at p.A, in memory for a full share; p.B and p.C
// are this rank's columns of B and C. Works in the link's buffer, which takes a full share of A
// from every rank.
inline const half* all_gather_gemm(const Gemm<half, half>& p, Link& link, ncclComm_t nccl) {
  half* const all = link.buffer(link.ranks.own);
  const int64_t full = share(p.M, link.ranks.count, 0).count;
  LADDER_NCCL_CHECK(ncclAllGather(p.A, all, full * p.lda, ncclHalf, nccl, p.stream));
  Gemm<half, half> mine = p;
  mine.A = all;
  chosen_by_shape::gemm(mine);
  return p.C;
}

// p.K columns of A and rows of B, which this rank has; this rank's rows of the sum go to p.C, which
// has room for a full share of rows. Works in the link's buffer: a full share of C for every rank.
inline const half* gemm_reduce_scatter(const Gemm<half, half>& p, Link& link, ncclComm_t nccl) {
  half* const product = link.buffer(link.ranks.own);
  const int64_t full = share(p.M, link.ranks.count, 0).count;
  Gemm<half, half> mine = p;
  mine.C = product;
  chosen_by_shape::gemm(mine);
  LADDER_NCCL_CHECK(
      ncclReduceScatter(product, p.C, full * p.ldc, ncclHalf, ncclSum, nccl, p.stream));
  return p.C;
}

}  // namespace ladder::tensor_parallel
