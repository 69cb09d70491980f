#pragma once
// The library: a Gemm (extensions.h) solved by the stage that is expected to be done first.
// Plain C++: it needs no CUDA header. No stage includes it, so that what is called gemm() in a
// kernel of one's own is one's own.
// Its functions are compiled in the CMake target gemm_ladder::gemm, for Gemm<half, half>,
// Gemm<bf16, bf16> and Gemm<float, float>; for numbers of 8 bits: Gemm<e4m3, bf16>,
// Gemm<e5m2, bf16>, Gemm<int8_t, int32_t> and Gemm<int8_t, int8_t>; for a C of fp32:
// Gemm<half, float> and Gemm<bf16, float>; and for one of e4m3: Gemm<half, e4m3> and
// Gemm<bf16, e4m3>. The last eight need wgmma. Of anything else the linker says that it is
// undefined.
// They may be called by several threads at once.
#include <memory>

#include "extensions.h"

namespace ladder {

// Products of the same sizes, layouts and epilogue, in any order: none may read another's C.
// Product i has its A from A + i * stride_a on, and so on; strides in elements, not negative. With
// 0 all have the same A or B; of C's no two rows may overlap. The addend and the residual lie
// stride_c apart, too; the bias and the scales are the same for all.
struct Batch {
  int count = 1;         // of products; 0: nothing is done
  int64_t stride_a = 0;  // from one A to the next
  int64_t stride_b = 0;  // from one B to the next
  int64_t stride_c = 0;  // from one C to the next
};

// What the library is asked for beside the problem itself.
struct GemmOptions {
  // The tile is the same whatever the sizes and the GPU, and K is never divided: what is chosen
  // does not depend on tables of measured times, nor a row of C, to the bit, on how many others
  // there are. Of fp16 and bf16 with wgmma; elsewhere the choice depends on no table.
  bool fixed_tile = false;
  // C is stored transposed, that is by columns, as N rows of M elements, ldc apart; the addend and
  // the residual are, too. There can be no bias.
  bool transposed_c = false;
  Batch batch{};  // one product, or several
  // Of fp32, with wgmma: tensor cores multiply, which read 19 bits of each float, rounded to
  // nearest. Elsewhere it is refused.
  bool tf32 = false;
  // Of e4m3, with an even N: the tensor core, which keeps 14 bits of a sum, adds up no more than
  // 128 products; the rest is added up in fp32. With Gemm::scales it is, whatever this says.
  bool fp32_sums = false;
};

// Enqueues the whole of `problem`, with its layouts and its epilogue, on its stream, which belongs
// to the current device, as do the matrices. The stage, and its tile, are those that are expected
// to be done first; explain() names them. Throws std::invalid_argument, which names what is wrong,
// and leaves C as it is: a size or a leading dimension that cannot be, an address that is not on
// that device, a workspace smaller than workspace_bytes(), what no stage computes. Throws CudaError
// where CUDA refuses. Of fp16, bf16 and fp32, addresses and leading dimensions need no alignment
// but their elements'.
// The same call on the same kind of GPU gives the same bits, whatever else runs there.
// Numbers of 8 bits, and 16 with a C of fp32 or e4m3, have one layout, A by rows and B by columns;
// tf32 has any, and a workspace for what it transposes. Of all these, addresses, leading dimensions
// and strides are multiples of 16 bytes; C is by rows, and there is no fixed tile. C of int8 has
// alpha, column_scale and zero_point; C of e4m3 has alpha and column_scale, and is limited to -448
// and 448; A and B of e4m3 have alpha, row_scale, column_scale and bias, with an even N; others
// have no epilogue. Scales of blocks are for e4m3 and e5m2. Sums of int8 are
// exact up to a K of 131,071.
template <class In, class Out>
void gemm(const Gemm<In, Out>& problem, const GemmOptions& options = {});

// Bytes of device memory that Gemm::workspace has to have for gemm(): mostly 0. They depend on the
// GPU, the sizes, the layouts, the epilogue, the options, and on which addresses are multiples of
// 16, as null is. Throws likewise.
template <class In, class Out>
uint64_t workspace_bytes(const Gemm<In, Out>& problem, const GemmOptions& options = {});

// What gemm() would do on the current device, and why, in a few lines of text: the stage and its
// tile, how long that is expected to take, the next best, what it falls back to and for what
// reason; or why it would refuse. Reads no matrix, and needs none: their addresses may be null.
// Throws nothing but CudaError. Where the environment has LADDER_LOG=1, gemm() and plan() print it
// to standard error, once for each problem but for its addresses.
template <class In, class Out>
std::string explain(const Gemm<In, Out>& problem, const GemmOptions& options = {});

// Where the matrices of one product are.
template <class In, class Out>
struct Matrices {
  const In* A;  // M x K
  const In* B;  // K x N
  Out* C;       // M x N
};

namespace library {
template <class In, class Out>
struct Kept;
}

// A problem for which all is decided, and whatever can be is checked, for as many calls as one
// likes. Copies are the same plan, which several threads may run at once.
template <class In, class Out>
class KeptPlan {
 public:
  // On the current device, for `problem` as it is now but for its stream and its workspace. What
  // the epilogue reads stays where it is. A, B and C may be null; others are looked up here, as
  // gemm() does. Those that are multiples of 16, as null is, promise that run() gets such, too.
  // Throws as gemm().
  explicit KeptPlan(const Gemm<In, Out>& problem, const GemmOptions& options = {});

  // Enqueues it. An addend or a residual that was the problem's C is this C. The workspace has
  // workspace_bytes(). Throws std::invalid_argument for an address that is null or less aligned
  // than promised, and where another device is current than the plan's. On which device the
  // addresses are it does not look up. Throws CudaError where CUDA refuses.
  void run(const In* A, const In* B, Out* C, CUstream_st* stream = nullptr,
           void* workspace = nullptr) const;

  // Enqueues it for `count` products, in any order, each with matrices of its own; no two C may
  // overlap. `all` is in the host's memory, and is read before this returns. An addend or a
  // residual that was the problem's C is each product's own C, any other is the same for all. The
  // workspace is that of one product. Throws as run(), before anything is enqueued; also for a
  // count below 0, and where the plan's GemmOptions::batch has another count than 1.
  void run(const Matrices<In, Out>* all, int count, CUstream_st* stream = nullptr,
           void* workspace = nullptr) const;

  // Of the workspace: what ladder::workspace_bytes() says of the problem.
  uint64_t workspace_bytes() const;

 private:
  std::shared_ptr<const library::Kept<In, Out>> kept_;
};

// The same as the class's constructor: auto plan = ladder::plan(problem).
template <class In, class Out>
KeptPlan<In, Out> plan(const Gemm<In, Out>& problem, const GemmOptions& options = {}) {
  return KeptPlan<In, Out>(problem, options);
}

}  // namespace ladder
