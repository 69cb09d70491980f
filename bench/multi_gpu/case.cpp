#include "case.h"

#include <algorithm>
#include <cmath>

namespace ladder::multi_gpu {
namespace {

int64_t padded(int width) {
  return std::max((width + 7) / 8 * 8, 8);
}
size_t elements(int rows, int64_t ld) {
  return static_cast<size_t>(std::max(rows, 1)) * static_cast<size_t>(ld);
}

}  // namespace

Case::Case(Rank& rank, harness::Cublas& cublas, Operation operation, Size size, Values values,
           int versions, uint64_t seed)
    : rank_(rank), operation_(operation), size_(size), values_(values), seed_(seed), wrong_(1) {
  const bool gather = operation == Operation::ALL_GATHER;
  const Ranks ranks = rank.ranks;
  const cudaStream_t stream = rank.stream;
  const int full = share(size.m, ranks.count, 0).count;
  const Share rows = share(size.m, ranks.count, ranks.own);
  const Share cols = share(size.n, ranks.count, ranks.own);
  const Share depth = share(size.k, ranks.count, ranks.own);

  p_.M = size.m, p_.stream = stream;
  p_.N = gather ? cols.count : size.n;
  p_.K = gather ? size.k : depth.count;
  p_.lda = padded(p_.K), p_.ldb = padded(p_.N);
  // When checked, all-gather's C has columns beyond its width, to see that nobody writes there.
  p_.ldc = padded(p_.N) + (gather && values == Values::EXACT ? 8 : 0);
  const int a_rows = gather ? full : size.m;
  const int c_rows = gather ? size.m : full;
  guard_rows_ = gather ? 16 : 0;
  a_ = Memory<half>(elements(a_rows, p_.lda));
  b_ = Memory<half>(elements(p_.K, p_.ldb));
  c_ = Memory<half>(elements(c_rows + guard_rows_, p_.ldc));
  p_.A = a_.get(), p_.B = b_.get(), p_.C = c_.get();
  const uint64_t seed_b = seed + 1000;
  fill(b_.get(), p_.K, p_.N, p_.ldb, {gather ? 0 : depth.first, gather ? cols.first : 0}, seed_b,
       values, stream);
  // Of sums that are rounded at different places.
  tolerance_ = values == Values::EXACT ? 0
                                       : 0x1p-9f * 2 * std::sqrt(static_cast<float>(size.k)) *
                                             static_cast<float>(gather ? 1 : ranks.count);

  result_rows_ = gather ? size.m : rows.count;
  result_cols_ = p_.N;
  reference_ld_ = padded(result_cols_);
  const int64_t lda = padded(size.k), ldb = padded(p_.N);
  Memory<half> whole_a(elements(result_rows_, lda)), whole_b(elements(size.k, ldb));
  fill(whole_b.get(), size.k, p_.N, ldb, {0, gather ? cols.first : 0}, seed_b, values, stream);
  for (int version = 0; version < versions; ++version) {
    const uint64_t seed_a = seed + static_cast<uint64_t>(version);
    versions_.emplace_back(a_.size());
    fill(versions_.back().get(), gather ? rows.count : size.m, p_.K, p_.lda,
         {gather ? rows.first : 0, gather ? 0 : depth.first}, seed_a, values, stream);
    fill(whole_a.get(), result_rows_, size.k, lda, {gather ? 0 : rows.first, 0}, seed_a, values,
         stream);
    references_.emplace_back(elements(result_rows_, reference_ld_));
    if (result_rows_ > 0 && result_cols_ > 0)
      cublas.gemm(Gemm<half, half>{result_rows_, result_cols_, size.k, whole_a.get(), lda,
                                   whole_b.get(), ldb, references_.back().get(), reference_ld_,
                                   stream});
  }
  LADDER_CUDA_CHECK(cudaMemsetAsync(wrong_.get(), 0, sizeof(unsigned), stream));
  rank.wait();  // whole_a and whole_b are freed
}

void Case::fill_buffers() const {
  rank_.wait();
  rank_.meeting.barrier();
  Link& link = rank_.link;
  for (int i = 0; i < 2; ++i)
    if (operation_ == Operation::ALL_GATHER)
      fill(reinterpret_cast<half*>(link.buffers[rank_.ranks.own] +
                                   static_cast<uint64_t>(i) * link.buffer_bytes),
           size_.m, size_.k, p_.lda, {}, seed_, values_, rank_.stream);
  rank_.wait();
  rank_.meeting.barrier();
}

void Case::poison() const {
  rank_.wait();
  rank_.meeting.barrier();
  LADDER_CUDA_CHECK(cudaMemsetAsync(rank_.link.buffers[rank_.ranks.own], 0xFF,
                                    2 * rank_.link.buffer_bytes, rank_.stream));
  LADDER_CUDA_CHECK(cudaMemsetAsync(c_.get(), 0xFF, c_.size() * sizeof(half), rank_.stream));
  rank_.wait();
  rank_.meeting.barrier();
}

void Case::load(int version) const {
  LADDER_CUDA_CHECK(cudaMemcpyAsync(a_.get(), versions_[static_cast<size_t>(version)].get(),
                                    a_.size() * sizeof(half), cudaMemcpyDeviceToDevice,
                                    rank_.stream));
}

void Case::compare(int version, const half* result) const {
  multi_gpu::compare(result, p_.ldc, references_[static_cast<size_t>(version)].get(), reference_ld_,
                     result_rows_, result_cols_, tolerance_, wrong_.get(), rank_.stream);
}

void Case::compare_untouched() const {
  if (operation_ == Operation::ALL_GATHER)
    multi_gpu::compare_untouched(c_.get(), p_.ldc, result_rows_, result_cols_,
                                 result_rows_ + guard_rows_, wrong_.get(), rank_.stream);
}

unsigned Case::wrong() const {
  unsigned count = 0;
  LADDER_CUDA_CHECK(
      cudaMemcpyAsync(&count, wrong_.get(), sizeof(count), cudaMemcpyDeviceToHost, rank_.stream));
  rank_.wait();
  return count;
}

}  // namespace ladder::multi_gpu
