#pragma once
// 23b rows_in_clusters: 23's operations on rows that are longer than a block's registers.
// Idea    the registers of a cluster have the row: up to eight blocks have a part each. Only sums
//         go through distributed shared memory.
// vs 23   a team may be a cluster. Each warp's sum goes to all blocks, and the barrier is the
//         cluster's. A thread of such a team keeps eight words instead of four.
// Limit   up to 512 KiB a row are read once; what a longer row has beyond these is read again, each
//         time. While a cluster waits for sums, it neither loads nor stores: 76 to 83% of a copy
//         (131,072 bf16 numbers, H200).
#include "23_rows.cuh"
#include "ptx/cluster.cuh"

namespace ladder::rows_in_clusters {

using rows::of_lanes, rows::Word;

// The threads of a cluster, which have a row. Neighbouring blocks have neighbouring words.
template <int COUNT, int BLOCKS>
class Cluster {
 public:
  static constexpr int BLOCK = COUNT, THREADS = BLOCK * BLOCKS, WARPS = THREADS / 32;
  struct Place {
    float of_warps[2][WARPS];
  };

  __device__ __forceinline__ explicit Cluster(Place& place) : place_(place) {
    ptx::cluster_arrive_relaxed();
  }
  __device__ __forceinline__ int thread() const {
    return blockIdx.x % BLOCKS * BLOCK + threadIdx.x;
  }
  __device__ __forceinline__ int64_t row() const { return blockIdx.x / BLOCKS; }

  // All threads' values combined; every thread gets the same.
  template <class Combine>
  __device__ __forceinline__ float all(float value, const Combine& combine) {
    value = of_lanes<32>(value, combine);
    if (first_) ptx::cluster_wait();  // the other blocks have begun and have shared memory
    first_ = false;
    // Lane i tells block i. One barrier is enough, as in 23.
    const int lane = threadIdx.x % 32;
    float* const values = place_.of_warps[turn_ ^= 1];
    if (lane < BLOCKS) *ptx::shared_of_block(&values[thread() / 32], lane) = value;
    ptx::cluster_sync();
    constexpr int LANES = WARPS < 32 ? WARPS : 32;
    float combined = values[lane % LANES];
#pragma unroll
    for (int i = LANES; i < WARPS; i += LANES) combined = combine(combined, values[i + lane]);
    return of_lanes<LANES>(combined, combine);
  }

 private:
  Place& place_;
  int turn_ = 0;
  bool first_ = true;
};

constexpr int KEPT = 8;

template <class Operation, class T, class RAW, class Team>
__global__ void __launch_bounds__(Team::BLOCK, 1024 / Team::BLOCK) rows_kernel(const Rows<T> p) {
  Team team(dynamic_shared<typename Team::Place>());
  rows::Row<T, RAW, Team, KEPT> row(p, team);
  Operation::apply(p, row);
}

// ---- The launcher ------------------------------------------------------------------------------

template <class T, class RAW, class Team, int BLOCKS>
void launch_rows(const Rows<T>& p) {
  rows::with_operation(p, [&](auto operation) {
    launch_clusters(BLOCKS, rows_kernel<decltype(operation), T, RAW, Team>,
                    dim3(static_cast<unsigned>(p.rows) * BLOCKS), dim3(Team::BLOCK),
                    sizeof(typename Team::Place), p.stream, p);
  });
}
template <class T, class RAW, int THREADS, int BLOCKS>
void launch_in_clusters(const Rows<T>& p) {
  launch_rows<T, RAW, Cluster<THREADS, BLOCKS>, BLOCKS>(p);
}

// The least threads that keep a row; or, of a row that is too long for any, a part. Cross-entropy
// needs nothing twice. It reads long rows faster with one block: a cluster's blocks wait for each
// other at the end of each row, when none of them reads (131,072 bf16 numbers: 92% of a copy's
// bytes per second, and 75%; H200).
template <class T, class RAW>
void launch_with_words(const Rows<T>& p) {
  const int words = p.width / Word<T, RAW>::NUMBERS;
  const bool reads_once = p.operation == RowOperation::CROSS_ENTROPY;
  if (words <= 256 * 4 || (reads_once && words > 4 * 256 * KEPT))
    return rows::launch_with_words<T, RAW>(p);
  if (words <= 256 * KEPT) return launch_rows<T, RAW, rows::Team<256>, 1>(p);
  if (words <= 2 * 256 * KEPT) return launch_in_clusters<T, RAW, 256, 2>(p);
  if (words <= 4 * 256 * KEPT) return launch_in_clusters<T, RAW, 256, 4>(p);
  if (words <= 8 * 256 * KEPT) return launch_in_clusters<T, RAW, 256, 8>(p);
  launch_in_clusters<T, RAW, 512, 8>(p);
}
template <class T>
void rows(const Rows<T>& p) {
  if (done_without_kernel(p)) return;
  rows::has_words_of_16_bytes(p) ? launch_with_words<T, uint4>(p) : launch_with_words<T, T>(p);
}

}  // namespace ladder::rows_in_clusters
