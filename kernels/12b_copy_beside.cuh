#pragma once
// 12b copy beside: 12's two products, with the copies beside the multiplication.
// Idea    what a rank has, it can multiply at once. Its own rows of A are multiplied while the copy
//         engine of every GPU, which no kernel uses, pushes rows to the others; and the product
//         that goes to another rank is computed first, so that it travels during the rest.
// vs 12   a launch for each rank's rows; copies on a stream of their own, flags that streams write
//         and wait for (an event does not work between processes); one addition at the end.
// Limit   the multiplication of a share waits for all of its rows; and what is added up at the end
//         is read again.
#include "11c_chosen_by_shape.cuh"
#include "parts/link.cuh"

namespace ladder::copy_beside {

// Sends this rank's rows to every other, to the one before it first: so each rank gets those of the
// one after it first, and no two send to the same one. `counted` is what had arrived before.
inline void send_rows(const Gemm<half, half>& p, const Link& link, uint32_t counted) {
  const Ranks ranks = link.ranks;
  for (int i = ranks.count - 1; i > 0; --i) {
    const int to = ranks.after(i);
    send(link, to, rows_of(link.buffer(to), p.M, p.lda, ranks.count, ranks.own), p.A, p.lda, p.lda,
         share(p.M, ranks.count, ranks.own).count, counted + 1);
  }
}

// As 12's.
inline const half* all_gather_gemm(const Gemm<half, half>& p, Link& link) {
  const Ranks ranks = link.ranks;
  const uint32_t counted = begin_call(link, p.stream, 1);
  send_rows(p, link, counted);
  tell_begun(link);
  for (int i = 0; i < ranks.count; ++i) {
    const int rank = ranks.after(i);
    Gemm<half, half> part = p;
    part.M = share(p.M, ranks.count, rank).count;
    part.C = rows_of(p.C, p.M, p.ldc, ranks.count, rank);
    if (i > 0) {
      part.A = rows_of(link.buffer(ranks.own), p.M, p.lda, ranks.count, rank);
      receive(link, rank, counted + 1, p.stream);
    }
    chosen_by_shape::gemm(part);
  }
  end_call(link, p.stream);
  return p.C;
}

// Sends the product that is rank `to`'s: from the second half of this rank's buffer to the first
// half of the other's.
inline void send_product(const Gemm<half, half>& p, const Link& link, int to, uint32_t counted) {
  const Ranks ranks = link.ranks;
  send(link, to, rows_of(link.buffer(to), p.M, p.ldc, ranks.count, ranks.own),
       rows_of(link.buffer(ranks.own), p.M, p.ldc, ranks.count, ranks.count + to), p.ldc, p.ldc,
       share(p.M, ranks.count, to).count, counted + 1);
}

// To this rank's share of `shares`, of `count` vectors each, adds the other ranks'.
static __global__ void add_others(uint4* shares, int64_t count, Ranks ranks) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    float sum[8] = {};
    for (int rank = 0; rank < ranks.count; ++rank) {
      const uint4 came = shares[rank * count + i];
      for (int j = 0; j < 8; ++j) sum[j] += __half2float(reinterpret_cast<const half*>(&came)[j]);
    }
    uint4 halves;
    for (int j = 0; j < 8; ++j) reinterpret_cast<half*>(&halves)[j] = __float2half(sum[j]);
    shares[ranks.own * count + i] = halves;
  }
}

// As 12's, but that the sum stays in the link's buffer, until the next call but one begins; returns
// where. The buffer takes two full shares of C from every rank.
inline const half* gemm_reduce_scatter(const Gemm<half, half>& p, Link& link) {
  const Ranks ranks = link.ranks;
  const uint32_t counted = begin_call(link, p.stream, 1);
  tell_begun(link);
  half* const shares = link.buffer(ranks.own);
  for (int i = 1; i <= ranks.count; ++i) {
    const int rank = ranks.after(i);  // the last is this one
    Gemm<half, half> part = p;
    part.M = share(p.M, ranks.count, rank).count;
    part.A = rows_of(p.A, p.M, p.lda, ranks.count, rank);
    part.C = rows_of(shares, p.M, p.ldc, ranks.count, i < ranks.count ? ranks.count + rank : rank);
    chosen_by_shape::gemm(part);
    if (i == ranks.count) break;
    LADDER_CUDA_CHECK(cudaEventRecord(link.forked, p.stream));
    LADDER_CUDA_CHECK(cudaStreamWaitEvent(link.copies, link.forked));
    send_product(p, link, rank, counted);
  }
  for (int i = 1; i < ranks.count; ++i) receive(link, ranks.after(i), counted + 1, p.stream);
  const int64_t count = share(p.M, ranks.count, 0).count * p.ldc * sizeof(half) / sizeof(uint4);
  if (count > 0)
    launch(add_others, dim3(8 * device_attribute(cudaDevAttrMultiProcessorCount)), dim3(256), 0,
           p.stream, reinterpret_cast<uint4*>(shares), count, ranks);
  end_call(link, p.stream);
  return rows_of(shares, p.M, p.ldc, ranks.count, ranks.own);
}

}  // namespace ladder::copy_beside
