#pragma once
// The problem that every stage solves. Plain C++: it needs no CUDA header.
#include <cstdint>

struct CUstream_st;  // cudaStream_t points to one

namespace ladder {

// C[M,N] = A[M,K] * B[K,N], row-major, enqueued on `stream`. Leading dimensions in elements; they
// are 64-bit so that every `row * ld` is. K = 0 writes zeros, M = 0 or N = 0 does nothing.
// Elements between a matrix's width and its leading dimension are never written, nor is C made of
// what is read there. A launcher takes a Gemm: that is a Product, and what later stages add to it,
// which others refuse (extensions.h, validate.h).
template <class In, class Out>
struct Product {
  int M;                          // rows of A and of C
  int N;                          // columns of B and of C
  int K;                          // columns of A, rows of B
  const In* A;                    // M x K
  int64_t lda;                    // elements from one row of A to the next
  const In* B;                    // K x N
  int64_t ldb;                    // elements from one row of B to the next
  Out* C;                         // M x N
  int64_t ldc;                    // elements from one row of C to the next
  CUstream_st* stream = nullptr;  // null: CUDA's default stream
};

// Rounding a dimension up to the next tile must not overflow an int.
constexpr int MAX_DIMENSION = INT32_MAX - 1024;

}  // namespace ladder
