#pragma once
// The library for C, and so for whatever can call C: gemm.h's functions with status codes. No
// exception leaves them. They are compiled in the CMake target gemm_ladder::gemm, and linked as
// C++: it has the C++ runtime in it. They may be called by several threads at once.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Whether it was done. If not, ladder_last_error() says why, and C is as it was.
// 1 is the caller's mistake, or what the library does not do, 2 that CUDA refuses, and 3 anything
// else, as that there is no memory.
typedef enum ladder_status {
  LADDER_OK = 0,
  LADDER_INVALID_ARGUMENT = 1,
  LADDER_CUDA_ERROR = 2,
  LADDER_FAILED = 3
} ladder_status;

// What A, B and C consist of. Where there are two names, C consists of the second.
typedef enum ladder_type {
  LADDER_FP16 = 0,
  LADDER_BF16 = 1,
  LADDER_FP32 = 2,
  LADDER_E4M3_BF16 = 3,
  LADDER_E5M2_BF16 = 4,
  LADDER_INT8_INT32 = 5,
  LADDER_INT8_INT8 = 6,
  LADDER_FP16_FP32 = 7,
  LADDER_BF16_FP32 = 8,
  LADDER_FP16_E4M3 = 9,
  LADDER_BF16_E4M3 = 10
} ladder_type;

// As ladder::Activation.
typedef enum ladder_activation {
  LADDER_NONE = 0,
  LADDER_RELU = 1,
  LADDER_GELU = 2,
  LADDER_GELU_ERF = 3,
  LADDER_SILU = 4
} ladder_activation;

// C = activation(alpha * row_scale * column_scale * (A * B) + beta * addend + bias) + residual.
// The fields of ladder::Gemm, of its epilogue and of ladder::GemmOptions: they say the same there.
// What is true is 1.
typedef struct {
  int32_t type;               // LADDER_FP16 to LADDER_BF16_E4M3
  int32_t M;                  // rows of A and of C
  int32_t N;                  // columns of B and of C
  int32_t K;                  // columns of A, rows of B
  const void* A;              // M x K
  int64_t lda;                // elements from one row of A to the next
  const void* B;              // K x N
  int64_t ldb;                // elements from one row of B to the next
  void* C;                    // M x N
  int64_t ldc;                // elements from one row of C to the next
  void* stream;               // a cudaStream_t, or null
  void* workspace;            // device memory, 16-byte aligned
  uint64_t workspace_bytes;   // its size
  int32_t transposed_a;       // A is stored as K x M
  int32_t transposed_b;       // B is stored as N x K
  int32_t starts_early;       // as Gemm::starts_early
  int32_t fixed_tile;         // as GemmOptions::fixed_tile
  int32_t transposed_c;       // as GemmOptions::transposed_c
  int32_t batch_count;        // of products, as Batch::count
  int64_t stride_a;           // elements from one A to the next
  int64_t stride_b;           // elements from one B to the next
  int64_t stride_c;           // elements from one C to the next
  float alpha;                // a factor of all of it
  float beta;                 // of the addend, which with 0 is not read
  const float* row_scale;     // M, or null
  const float* column_scale;  // N, or null
  const void* addend;         // M x N; may be C
  int64_t ld_addend;          // elements from one row of it to the next
  const void* bias;           // N, or null
  const void* residual;       // M x N, or null
  int64_t ld_residual;        // elements from one row of it to the next
  int32_t activation;         // LADDER_NONE to LADDER_SILU
  int32_t zero_point;         // as Epilogue::zero_point
  int32_t tf32;               // as GemmOptions::tf32
  const float* scales_a;      // as BlockScales::a, or null
  int64_t ld_scales_a;        // factors from one row of them to the next
  const float* scales_b;      // as BlockScales::b, or null
  int64_t ld_scales_b;        // factors from one row of them to the next
  int32_t fp32_sums;          // as GemmOptions::fp32_sums
} ladder_problem;

// All fields 0 or null, but alpha and batch_count 1: what comes first. A null `problem` is left
// alone.
void ladder_problem_init(ladder_problem* problem);

// Enqueues it, as ladder::gemm().
ladder_status ladder_gemm(const ladder_problem* problem);

// As ladder::workspace_bytes(), to *bytes.
ladder_status ladder_workspace_bytes(const ladder_problem* problem, uint64_t* bytes);

// As ladder::explain(), to `text`, which has `size` characters and ends with a zero; what does not
// fit is left out.
ladder_status ladder_explain(const ladder_problem* problem, char* text, size_t size);

// A ladder::KeptPlan.
typedef struct ladder_plan ladder_plan;

// As ladder::plan(), to *plan, which is null where it was not done.
ladder_status ladder_plan_create(const ladder_problem* problem, ladder_plan** plan);

// Of the workspace that a run has to have, to *bytes.
ladder_status ladder_plan_workspace_bytes(const ladder_plan* plan, uint64_t* bytes);

// As KeptPlan::run().
ladder_status ladder_plan_run(const ladder_plan* plan, const void* A, const void* B, void* C,
                              void* stream, void* workspace);

// Where the matrices of one product are.
typedef struct {
  const void* A;  // M x K
  const void* B;  // K x N
  void* C;        // M x N
} ladder_matrices;

// As KeptPlan::run() of several: `all` are `count` of them, on the host.
ladder_status ladder_plan_run_all(const ladder_plan* plan, const ladder_matrices* all,
                                  int32_t count, void* stream, void* workspace);

// A null plan is left alone.
void ladder_plan_destroy(ladder_plan* plan);

// Why this thread's last call was not done, in a line; "" where it was.
const char* ladder_last_error(void);

#ifdef __cplusplus
}
#endif
