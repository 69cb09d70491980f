#pragma once
// By which way a product of two matrices is computed: by the library, by the library on aligned
// copies, or by torch's own matmul. It depends on types, sizes and strides alone.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace gemm_ladder {

// What the library asks of a row: it starts at a multiple of 16 bytes.
constexpr int64_t ROW_BYTES = 16;
// What TMA and gemm.h take. at::mm copies what it does not take itself.
constexpr int64_t MOST_ELEMENTS = INT32_MAX - 1024, MOST_ROW_BYTES = int64_t{1} << 40;
// A batch of smaller products keeps the GPU busier in one launch, which torch's own always has.
constexpr int64_t LEAST_PRODUCTS_IN_BATCH = int64_t{1} << 33;
// Up to which the library has one launch, too (plan.h's is_for_batch): C of a product, on an H200.
constexpr int64_t MOST_ELEMENTS_IN_BATCH = 2 * 128 * 256 * 132;
// From which product on that one is as fast as torch's. 32 of 64x256x512 are, and 64 of 77x80x1024
// are not; 96 of 333x128x336 are, and 512 of 333x336x128, with a short K, are not; nor are 40 of
// 200x264x320, which fill 54% of their tiles of 64x128 (99% and 94%; 106% and 87%; 90%; H200).
constexpr int64_t LEAST_ROWS_IN_BATCH = 64, LEAST_K_IN_BATCH = 256;
constexpr int64_t LEAST_PRODUCTS_IN_ONE_LAUNCH = int64_t{1} << 23;
constexpr double LEAST_OF_TILES = 0.7;
// Products that the kernel of batch.cuh has in a launch. 21 has any number.
constexpr int64_t IN_A_LAUNCH = 64;

// How a matrix lies in memory: its rows `ld` elements apart, or its columns if transposed.
struct Stored {
  bool transposed;
  int64_t ld;
  bool aligned;  // the address and every row, or column
};

inline bool is_hopper(const at::Tensor& t) {
  int major = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, t.get_device()));
  return major == 9;
}

// The address, or for a meta tensor what it would be from an aligned one on.
inline uintptr_t address(const at::Tensor& t) {
  const auto base = t.is_meta() ? 0 : reinterpret_cast<uintptr_t>(t.storage().data());
  return base + static_cast<uintptr_t>(t.storage_offset()) * t.element_size();
}

// A matrix, or each of a batch, as `count` rows, or columns, of `length` elements; nothing where
// these are not contiguous.
inline std::optional<Stored> lies(const at::Tensor& t, bool transposed) {
  const int64_t unit = ROW_BYTES / t.element_size();
  const int from = transposed ? -1 : -2, along = transposed ? -2 : -1;
  const int64_t count = t.size(from), length = t.size(along);
  const int64_t between = t.stride(from), within = t.stride(along);
  if (length > 1 && within != 1) return std::nullopt;
  // Nothing is beyond the only row: it may as well be as long as is needed.
  const int64_t ld = count > 1 ? between : (length + unit - 1) / unit * unit;
  if (ld < length) return std::nullopt;  // rows overlap
  return Stored{transposed, ld, ld % unit == 0 && address(t) % ROW_BYTES == 0};
}
// In whichever way the library need not copy, if there is one.
inline std::optional<Stored> stored(const at::Tensor& t) {
  const auto by_rows = lies(t, false);
  if (by_rows && by_rows->aligned) return by_rows;
  const auto by_columns = lies(t, true);
  return by_rows && !(by_columns && by_columns->aligned) ? by_rows : by_columns;
}

// A new matrix each of whose rows starts at a multiple of 16 bytes.
inline at::Tensor with_aligned_rows(int64_t rows, int64_t columns,
                                    const at::TensorOptions& options) {
  const int64_t unit = ROW_BYTES / static_cast<int64_t>(options.dtype().itemsize());
  return at::empty({rows, (columns + unit - 1) / unit * unit}, options).narrow(1, 0, columns);
}

// How a new C lies: by rows, without anything between them.
inline bool new_rows_are_aligned(int64_t M, int64_t N, int64_t element_size) {
  return M == 1 || N * element_size % ROW_BYTES == 0;
}

// Fitted to 25 shapes on an H200, each in fp16 and bf16 (docs/results/operator.jsonl): what copies
// take, of A and B in one launch and of C in another, and what cuBLAS takes longer where rows are
// not aligned.
constexpr double COPY_NS = 1000, COPIED_BYTES_PER_NS = 3000;  // a launch; read and written
constexpr double LIBRARY_PRODUCTS_PER_NS = 350e3;
constexpr double UNALIGNED_NS = 3000, UNALIGNED_PRODUCTS_PER_NS = 50e3,
                 UNALIGNED_BYTES_PER_NS = 4000;
constexpr double LEAST_PRODUCTS_ON_COPIES = 1 << 24;  // two launches more take the host longer

// Whether copies and a fast product take less time than a slow product without them.
inline bool copies_pay(int64_t M, int64_t N, int64_t K, bool a, bool b, bool c, int64_t size) {
  const double of_a = double(M) * double(K), of_b = double(K) * double(N),
               of_c = double(M) * double(N), products = of_a * double(N);
  // Of float32 nothing was measured, and no kernel of the library is as much faster there.
  if (products < LEAST_PRODUCTS_ON_COPIES || size == 4) return false;
  const double copied = (a ? of_a : 0) + (b ? of_b : 0) + (c ? of_c : 0);
  const double with_copies = ((a || b) + c) * COPY_NS + 2 * copied * size / COPIED_BYTES_PER_NS +
                             products / LIBRARY_PRODUCTS_PER_NS;
  const double without =
      UNALIGNED_NS + std::max(products / UNALIGNED_PRODUCTS_PER_NS,
                              (of_a + of_b + of_c) * size / UNALIGNED_BYTES_PER_NS);
  return with_copies < without;
}

// The tiles of 17 to 20 are of 128 rows, and divide no K: with few of them multiprocessors are
// idle, and with one more than there are multiprocessors of an H200, too. Whether C is at least
// such a part of the tiles that as many waves have.
inline bool fills(int64_t M, int64_t N, double least) {
  const auto up = [](int64_t x, int64_t unit) { return (x + unit - 1) / unit; };
  constexpr int64_t MULTIPROCESSORS = 132, ROWS = 128;
  for (const int64_t columns : {128, 256}) {
    const int64_t waves = up(up(M, ROWS) * up(N, columns), MULTIPROCESSORS);
    if (double(M) * double(N) >= least * double(waves * MULTIPROCESSORS * ROWS * columns))
      return true;
  }
  return false;
}
// From which part on 19 is as fast as cuBLAS with TF32: 128x11008x4096 has 65% of the tiles, and
// takes 53.7 us beside 56.2; 333x5760x2880 has 44%, and takes 59.4 beside 53.4.
constexpr double LEAST_FILLED_IN_TF32 = 0.6;

struct Way {
  enum By { LIBRARY, COPIES, TORCH } by;
  const char* why;  // it is not the library without copies
  // Where it is the library: which of them are copied first; C, which is copied afterwards.
  bool copy_a = false, copy_b = false, copy_c = false;
  bool tf32 = false;  // by the library, which reads a as tensor cores do
};

// Whether the library takes a matrix, or each of a batch, as it lies.
inline bool is_taken(const at::Tensor& t) {
  const int64_t size = t.element_size();
  const auto s = stored(t);
  return s && s->aligned && s->ld * size < MOST_ROW_BYTES &&
         (t.dim() == 2 || t.stride(0) * size % ROW_BYTES == 0);
}

// By the library, of a[M,K] * b[K,N] or of each product of two batches of these, with a new C.
inline Way with_copies(const at::Tensor& a, const at::Tensor& b) {
  const bool copy_a = !is_taken(a), copy_b = !is_taken(b),
             copy_c = !new_rows_are_aligned(a.size(-2), b.size(-1), a.element_size());
  if (!copy_a && !copy_b && !copy_c) return {Way::LIBRARY, ""};
  return {Way::COPIES, "rows do not start at multiples of 16 bytes", copy_a, copy_b, copy_c};
}

inline bool is_by_columns(const at::Tensor& t) {
  const auto s = stored(t);
  return s && s->transposed;
}

// In how many launches the library has a batch, with a new C.
enum class Launches { ONE, FOR_EACH_64, FOR_EACH };
inline Launches launches_of(const at::Tensor& a, const at::Tensor& b) {
  const int64_t count = a.size(0), M = a.size(1), N = b.size(2), size = a.element_size();
  if (size != 2 || !is_taken(a) || !is_taken(b) || is_by_columns(a) ||
      !new_rows_are_aligned(M, N, size) || M * N > MOST_ELEMENTS_IN_BATCH)
    return Launches::FOR_EACH;
  const bool is_for_21 = a.scalar_type() == at::kHalf && a.is_contiguous() && b.is_contiguous() &&
                         count * M <= MOST_ELEMENTS;
  return count <= IN_A_LAUNCH || is_for_21 ? Launches::ONE : Launches::FOR_EACH_64;
}
// Whether that is one, and as fast as torch's.
inline bool is_one_fast_launch(const at::Tensor& a, const at::Tensor& b) {
  const int64_t M = a.size(1), N = b.size(2), K = a.size(2);
  const int64_t rows = (M + 63) / 64 * 64, columns = (N + 127) / 128 * 128;  // of whole tiles
  return launches_of(a, b) == Launches::ONE && M >= LEAST_ROWS_IN_BATCH && K >= LEAST_K_IN_BATCH &&
         M * N * K >= LEAST_PRODUCTS_IN_ONE_LAUNCH &&
         double(M) * double(N) >= LEAST_OF_TILES * double(rows) * double(columns);
}

// With TF32: by 19, where it need not transpose b, which takes it 6 to 14% more.
inline Way way_in_tf32(const at::Tensor& a, const at::Tensor& b, bool is_alone) {
  const auto as_it_is = [](const at::Tensor& t, bool transposed) {
    const auto s = lies(t, transposed);
    return s && s->aligned && s->ld * t.element_size() < MOST_ROW_BYTES;
  };
  const bool is_taken = a.dim() == 2 && is_alone && as_it_is(a, false) && as_it_is(b, true) &&
                        new_rows_are_aligned(a.size(0), b.size(1), a.element_size()) &&
                        fills(a.size(0), b.size(1), LEAST_FILLED_IN_TF32);
  if (!is_taken) return {Way::TORCH, "in TF32 it is as fast, or faster"};
  Way way{Way::LIBRARY, ""};
  way.tf32 = true;
  return way;
}

// Of a product alone, or with bias and activation, which no launch of a whole batch has.
inline Way way_of(const at::Tensor& a, const at::Tensor& b, bool is_alone = true) {
  const auto torchs_own = [](const char* why) { return Way{Way::TORCH, why}; };
  if (a.is_cpu()) return torchs_own("the tensors are on the CPU");
  const auto type = a.scalar_type();
  if (type == at::kDouble) return torchs_own("the library has no float64");
  if (a.numel() == 0 || b.numel() == 0) return torchs_own("there is nothing to multiply");
  const int64_t M = a.size(-2), K = a.size(-1), N = b.size(-1);
  if (std::max({M, N, K, a.size(0)}) > MOST_ELEMENTS)
    return torchs_own("a dimension is 2^31 - 1024 or more");
  if (type == at::kFloat && at::globalContext().allowTF32CuBLAS())
    return way_in_tf32(a, b, is_alone);
  if (a.dim() == 3 && double(M) * double(N) * double(K) < LEAST_PRODUCTS_IN_BATCH &&
      !(is_alone && is_one_fast_launch(a, b)))
    return torchs_own("small products of a batch are faster in one launch");
  if (type == at::kFloat && (is_by_columns(a) || is_by_columns(b)))
    return torchs_own("of float32 the library would first transpose a copy");
  const Way way = with_copies(a, b);
  if (way.by == Way::COPIES &&
      !copies_pay(M, N, K, way.copy_a, way.copy_b, way.copy_c, a.element_size()))
    return torchs_own("rows do not start at multiples of 16 bytes, and copies would take longer");
  return way;
}

}  // namespace gemm_ladder
