#include "12_tensor_parallel.cuh"
#include "12b_copy_beside.cuh"
#include "12c_waiting.cuh"
#include "12d_reduce_scatter.cuh"
#include "variants.h"

namespace ladder::multi_gpu {
namespace {

using harness::Cublas;
using Problem = Gemm<half, half>;
using reduce_scatter::Way;

half* own_buffer(Rank& rank) {
  return rank.link.buffer(rank.ranks.own);
}

// All of A here, as if it had been gathered.
Problem gathered(Rank& rank, const Problem& p) {
  Problem local = p;
  local.A = own_buffer(rank);
  return local;
}
// The whole product here, not yet added to the others'.
Problem not_scattered(Rank& rank, const Problem& p) {
  Problem local = p;
  local.C = own_buffer(rank);
  return local;
}
int64_t full_share(Rank& rank, const Problem& p) {
  return share(p.M, rank.ranks.count, 0).count;
}

const half* cublas_all_gather(Rank& rank, Cublas& cublas, const Problem& p) {
  LADDER_NCCL_CHECK(ncclAllGather(p.A, own_buffer(rank), full_share(rank, p) * p.lda, ncclHalf,
                                  rank.nccl, rank.stream));
  cublas.gemm(gathered(rank, p));
  return p.C;
}
const half* cublas_reduce_scatter(Rank& rank, Cublas& cublas, const Problem& p) {
  cublas.gemm(not_scattered(rank, p));
  LADDER_NCCL_CHECK(ncclReduceScatter(own_buffer(rank), p.C, full_share(rank, p) * p.ldc, ncclHalf,
                                      ncclSum, rank.nccl, rank.stream));
  return p.C;
}

// All of A in every rank's buffer, but for its own rows: the communication alone.
void all_gather(const Problem& p, Link& link) {
  const uint32_t counted = begin_call(link, p.stream, 1);
  copy_beside::send_rows(p, link, counted);
  tell_begun(link);
  for (int i = 1; i < link.ranks.count; ++i)
    receive(link, link.ranks.after(i), counted + 1, p.stream);
  end_call(link, p.stream);
}

// What the ranks have for each other goes there, and is not added: the communication alone.
void scatter(const Problem& p, Link& link) {
  const uint32_t counted = begin_call(link, p.stream, 1);
  for (int i = 1; i < link.ranks.count; ++i)
    copy_beside::send_product(p, link, link.ranks.after(i), counted);
  tell_begun(link);
  for (int i = 1; i < link.ranks.count; ++i)
    receive(link, link.ranks.after(i), counted + 1, p.stream);
  end_call(link, p.stream);
}

// The copies alone, of which nobody is told: no call could do without telling, but so much the link
// can do. `bytes` go to every other rank.
const half* bare_copies(Rank& rank, int64_t bytes) {
  const Link& link = rank.link;
  LADDER_CUDA_CHECK(cudaEventRecord(link.forked, rank.stream));
  LADDER_CUDA_CHECK(cudaStreamWaitEvent(link.copies, link.forked));
  for (int i = 1; i < rank.ranks.count; ++i)
    LADDER_CUDA_CHECK(cudaMemcpyAsync(
        link.buffer(rank.ranks.after(i)) + rank.ranks.own * bytes / int64_t{sizeof(half)},
        own_buffer(rank) + rank.ranks.own * bytes / int64_t{sizeof(half)}, bytes, cudaMemcpyDefault,
        link.copies));
  LADDER_CUDA_CHECK(cudaEventRecord(link.joined, link.copies));
  LADDER_CUDA_CHECK(cudaStreamWaitEvent(rank.stream, link.joined));
  return nullptr;
}

std::vector<Variant> make_variants() {
  std::vector<Variant> v;
  Operation operation = Operation::ALL_GATHER;
  const auto add = [&](const std::string& name, Part part, bool needs_nccl, auto run) {
    v.push_back({name, operation, part, needs_nccl, run});
  };
  const half* const nothing = nullptr;

  add("cuBLAS alone", Part::MULTIPLICATION, false,
      [=](Rank& rank, Cublas& cublas, const Problem& p) {
        cublas.gemm(gathered(rank, p));
        return nothing;
      });
  add("11c alone", Part::MULTIPLICATION, false, [=](Rank& rank, Cublas&, const Problem& p) {
    chosen_by_shape::gemm(gathered(rank, p));
    return nothing;
  });
  add("NCCL alone", Part::COMMUNICATION, true, [=](Rank& rank, Cublas&, const Problem& p) {
    LADDER_NCCL_CHECK(ncclAllGather(p.A, own_buffer(rank), full_share(rank, p) * p.lda, ncclHalf,
                                    rank.nccl, rank.stream));
    return nothing;
  });
  add("copies alone", Part::COMMUNICATION, false, [=](Rank& rank, Cublas&, const Problem& p) {
    all_gather(p, rank.link);
    return nothing;
  });
  add("bare copies", Part::COMMUNICATION, false, [](Rank& rank, Cublas&, const Problem& p) {
    return bare_copies(rank, full_share(rank, p) * p.lda * sizeof(half));
  });
  add("NCCL, cuBLAS", Part::WHOLE, true, cublas_all_gather);
  add("12 sequence", Part::WHOLE, true, [](Rank& rank, Cublas&, const Problem& p) {
    return tensor_parallel::all_gather_gemm(p, rank.link, rank.nccl);
  });
  add("12b copy beside", Part::WHOLE, false, [](Rank& rank, Cublas&, const Problem& p) {
    return copy_beside::all_gather_gemm(p, rank.link);
  });
  add("12c waiting", Part::WHOLE, false,
      [](Rank& rank, Cublas&, const Problem& p) { return waiting::all_gather_gemm(p, rank.link); });
  for (const int pieces : {1, 2, 3, 4})
    add("12c waiting, pieces " + std::to_string(pieces), Part::WHOLE, false,
        [=](Rank& rank, Cublas&, const Problem& p) {
          return waiting::all_gather_gemm(p, rank.link, pieces);
        });

  operation = Operation::REDUCE_SCATTER;
  add("cuBLAS alone", Part::MULTIPLICATION, false,
      [=](Rank& rank, Cublas& cublas, const Problem& p) {
        cublas.gemm(not_scattered(rank, p));
        return nothing;
      });
  add("11c alone", Part::MULTIPLICATION, false, [=](Rank& rank, Cublas&, const Problem& p) {
    chosen_by_shape::gemm(not_scattered(rank, p));
    return nothing;
  });
  add("NCCL alone", Part::COMMUNICATION, true, [=](Rank& rank, Cublas&, const Problem& p) {
    LADDER_NCCL_CHECK(ncclReduceScatter(own_buffer(rank), p.C, full_share(rank, p) * p.ldc,
                                        ncclHalf, ncclSum, rank.nccl, rank.stream));
    return nothing;
  });
  add("copies alone", Part::COMMUNICATION, false, [=](Rank& rank, Cublas&, const Problem& p) {
    scatter(p, rank.link);
    return nothing;
  });
  add("bare copies", Part::COMMUNICATION, false, [](Rank& rank, Cublas&, const Problem& p) {
    return bare_copies(rank, full_share(rank, p) * p.ldc * sizeof(half));
  });
  add("NCCL, cuBLAS", Part::WHOLE, true, cublas_reduce_scatter);
  add("12 sequence", Part::WHOLE, true, [](Rank& rank, Cublas&, const Problem& p) {
    return tensor_parallel::gemm_reduce_scatter(p, rank.link, rank.nccl);
  });
  add("12b copy beside", Part::WHOLE, false, [](Rank& rank, Cublas&, const Problem& p) {
    return copy_beside::gemm_reduce_scatter(p, rank.link);
  });
  add("12d direct", Part::WHOLE, false, [](Rank& rank, Cublas&, const Problem& p) {
    return reduce_scatter::gemm_reduce_scatter<Way::DIRECT>(p, rank.link);
  });
  for (const int chunks : {1, 2, 3, 4, 6})
    add("12d copy engine, chunks " + std::to_string(chunks), Part::WHOLE, false,
        [=](Rank& rank, Cublas&, const Problem& p) {
          return reduce_scatter::gemm_reduce_scatter<Way::COPY_ENGINE>(p, rank.link, chunks);
        });
  return v;
}

}  // namespace

const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> variants = make_variants();
  return variants;
}

LinkSize link_size(int M, int N, int K, int ranks) {
  const auto padded = [](int width) { return (static_cast<uint64_t>(width) + 7) / 8 * 8; };
  const uint64_t full = static_cast<uint64_t>(share(M, ranks, 0).count);
  const uint64_t gathered = ranks * full * padded(std::max(K, 8));
  const uint64_t products = 2 * ranks * full * padded(std::max(N, 8));
  const int64_t tiles = int64_t{ranks} * ceil_div(static_cast<int>(full), overlapped_stores::BM) *
                        ceil_div(N, overlapped_stores::BN);
  return {std::max(gathered, products) * sizeof(half), tiles};
}

void load_variants() {
  const auto load = [](auto kernel) {
    cudaFuncAttributes attributes;
    LADDER_CUDA_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  };
  load(chosen_by_shape::gemm_kernel<256, 1>), load(chosen_by_shape::gemm_kernel<256, 2>);
  load(chosen_by_shape::gemm_kernel<192, 1>), load(chosen_by_shape::gemm_kernel<192, 2>);
  load(chosen_by_shape::gemm_kernel<128, 1>), load(chosen_by_shape::gemm_kernel<128, 2>);
  load(chosen_by_shape::gemm_kernel<64, 1>), load(chosen_by_shape::gemm_kernel<64, 2>);
  load(copy_beside::add_others);
  load(waiting::gemm_kernel);
  load(reduce_scatter::gemm_kernel<Way::DIRECT>);
  load(reduce_scatter::gemm_kernel<Way::COPY_ENGINE>);
}

}  // namespace ladder::multi_gpu
