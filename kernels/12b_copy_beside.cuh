#pragma once
// 12b copy beside: 12's two products, with the copies beside the multiplication.
// Idea    what a rank has, it can multiply at once. Its own rows of A are multiplied while the copy
//         engine of every GPU, which no kernel uses, pushes rows to the others; and the product
//         that goes to another rank is computed first, so that it travels during the rest.
// vs 12   a launch for each rank's rows; copies on a stream of their own, flags that streams write
//         and wait for (an event does not work between processes); one addition at the end.
// Limit   each launch has its own last wave, and the first waits for a whole share of A.
#include "11c_chosen_by_shape.cuh"
#include "parts/link.cuh"

namespace ladder::copy_beside {

// The part of a matrix that is rank `rank`'s, where shares lie one after the other.
template <class T>
T* rows_of(T* matrix, int M, int64_t ld, int ranks, int rank) {
  return matrix + share(M, ranks, 0).count * static_cast<int64_t>(rank) * ld;
}

// Pushes this rank's rows into every other's buffer, to the one before this rank first: so each
// rank gets those of the one after it first, and no two push to the same one. `counted` is what all
// ranks have counted before this call.
inline void push_rows(const Gemm<half, half>& p, const Link& link, uint32_t counted) {
  const Ranks ranks = link.ranks;
  const int64_t rows = share(p.M, ranks.count, ranks.own).count;
  for (int i = ranks.count - 1; i > 0; --i) {
    const int to = ranks.after(i);
    half* const there =
        rows_of(reinterpret_cast<half*>(link.buffer(to)), p.M, p.lda, ranks.count, ranks.own);
    if (rows > 0)
      LADDER_CUDA_CHECK(
          cudaMemcpyAsync(there, p.A, rows * p.lda * sizeof(half), cudaMemcpyDefault, link.copies));
    ptx::stream_write_value(link.copies, &link.flags[to]->arrived[ranks.own], counted + 1);
  }
}

// All of A in every rank's buffer, but for its own rows: the communication alone.
inline void all_gather(const Gemm<half, half>& p, Link& link) {
  const uint32_t counted = begin_call(link, p.stream, 1);
  push_rows(p, link, counted);
  tell_begun(link);
  for (int i = 1; i < link.ranks.count; ++i)
    ptx::stream_wait_value(p.stream, &link.own_flags()->arrived[link.ranks.after(i)], counted + 1);
  end_call(link, p.stream);
}

// As 12's.
inline const half* all_gather_gemm(const Gemm<half, half>& p, Link& link) {
  const Ranks ranks = link.ranks;
  const uint32_t counted = begin_call(link, p.stream, 1);
  push_rows(p, link, counted);
  tell_begun(link);
  for (int i = 0; i < ranks.count; ++i) {
    const int rank = ranks.after(i);
    Gemm<half, half> part = p;
    part.M = share(p.M, ranks.count, rank).count;
    part.C = rows_of(p.C, p.M, p.ldc, ranks.count, rank);
    if (i > 0) {
      part.A =
          rows_of(reinterpret_cast<half*>(link.buffer(ranks.own)), p.M, p.lda, ranks.count, rank);
      ptx::stream_wait_value(p.stream, &link.own_flags()->arrived[rank], counted + 1);
    }
    chosen_by_shape::gemm(part);
  }
  end_call(link, p.stream);
  return p.C;
}

// sum[i] += what came from the other ranks, a full share of `count` vectors from each.
static __global__ void add_others(uint4* shares, int64_t count, Ranks ranks) {
  uint4* const sum = shares + ranks.own * count;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    float total[8] = {};
    for (int rank = 0; rank < ranks.count; ++rank) {
      const uint4 came = shares[rank * count + i];
      const half* const h = reinterpret_cast<const half*>(&came);
      for (int j = 0; j < 8; ++j) total[j] += __half2float(h[j]);
    }
    uint4 out;
    for (int j = 0; j < 8; ++j) reinterpret_cast<half*>(&out)[j] = __float2half(total[j]);
    sum[i] = out;
  }
}

// Pushes a full share, which is in the second half of this rank's buffer, to the rank it is for.
inline void push_product(const Gemm<half, half>& p, const Link& link, int to, uint32_t counted) {
  const Ranks ranks = link.ranks;
  half* const outgoing = rows_of(reinterpret_cast<half*>(link.buffer(ranks.own)), p.M, p.ldc,
                                 ranks.count, ranks.count + to);
  half* const there =
      rows_of(reinterpret_cast<half*>(link.buffer(to)), p.M, p.ldc, ranks.count, ranks.own);
  const int64_t rows = share(p.M, ranks.count, to).count;
  if (rows > 0)
    LADDER_CUDA_CHECK(cudaMemcpyAsync(there, outgoing, rows * p.ldc * sizeof(half),
                                      cudaMemcpyDefault, link.copies));
  ptx::stream_write_value(link.copies, &link.flags[to]->arrived[ranks.own], counted + 1);
}

// What the ranks have for each other goes there, and is not added: the communication alone.
inline void scatter(const Gemm<half, half>& p, Link& link) {
  const uint32_t counted = begin_call(link, p.stream, 1);
  for (int i = 1; i < link.ranks.count; ++i) push_product(p, link, link.ranks.after(i), counted);
  tell_begun(link);
  for (int i = 1; i < link.ranks.count; ++i)
    ptx::stream_wait_value(p.stream, &link.own_flags()->arrived[link.ranks.after(i)], counted + 1);
  end_call(link, p.stream);
}

// As 12's, but that the sum stays in the link's buffer, until the next call but one begins; returns
// where. The buffer takes two full shares of C from every rank.
inline const half* gemm_reduce_scatter(const Gemm<half, half>& p, Link& link) {
  const Ranks ranks = link.ranks;
  const uint32_t counted = begin_call(link, p.stream, 1);
  tell_begun(link);
  half* const shares = reinterpret_cast<half*>(link.buffer(ranks.own));
  half* const sum = rows_of(shares, p.M, p.ldc, ranks.count, ranks.own);
  for (int i = 1; i <= ranks.count; ++i) {
    const int rank = ranks.after(i);  // the last is this one
    Gemm<half, half> part = p;
    part.M = share(p.M, ranks.count, rank).count;
    part.A = rows_of(p.A, p.M, p.lda, ranks.count, rank);
    part.C = rank == ranks.own ? sum : rows_of(shares, p.M, p.ldc, ranks.count, ranks.count + rank);
    chosen_by_shape::gemm(part);
    if (rank == ranks.own) break;
    LADDER_CUDA_CHECK(cudaEventRecord(link.forked, p.stream));
    LADDER_CUDA_CHECK(cudaStreamWaitEvent(link.copies, link.forked));
    push_product(p, link, rank, counted);
  }
  for (int i = 1; i < ranks.count; ++i)
    ptx::stream_wait_value(p.stream, &link.own_flags()->arrived[ranks.after(i)], counted + 1);
  const int64_t count = share(p.M, ranks.count, 0).count * p.ldc * sizeof(half) / sizeof(uint4);
  if (count > 0)
    launch(add_others, dim3(8 * device_attribute(cudaDevAttrMultiProcessorCount)), dim3(256), 0,
           p.stream, reinterpret_cast<uint4*>(shares), count, ranks);
  end_call(link, p.stream);
  return sum;
}

}  // namespace ladder::copy_beside
