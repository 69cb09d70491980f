#pragma once
// 23b rows_in_clusters: 23's operations on rows that are longer than a block's registers.
// Idea    the registers of a cluster have the row: up to eight blocks have a part each. Only sums
//         go through distributed shared memory.
// vs 23   a team may be a cluster. Each warp's sum goes to all blocks, and the barrier is the
//         cluster's. A thread keeps eight words instead of four. A cluster stays for several rows:
//         while it works on a row, cp.async brings the next one to shared memory.
// Limit   device memory, up to 512 KiB a row. What a longer row has beyond these is read again,
//         each time. gain and bias of such a row come from L2 for each row.
#include <algorithm>

#include "23_rows.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async.cuh"

namespace ladder::rows_in_clusters {

using rows::of_lanes, rows::Word;

constexpr int KEPT = 8;

// The threads of a cluster, which have every so many-th row. Neighbouring blocks have neighbouring
// words.
template <int COUNT, int BLOCKS>
class Cluster {
 public:
  static constexpr int BLOCK = COUNT, THREADS = BLOCK * BLOCKS, WARPS = THREADS / 32;
  // Blocks of a multiprocessor: 64 registers a thread.
  static constexpr int RESIDENT = 1024 / BLOCK;
  struct Place {
    uint4 next[KEPT][BLOCK];  // of the next row
    float of_warps[2][WARPS];
  };

  __device__ __forceinline__ explicit Cluster(Place& place) : place_(place) {
    if (BLOCKS > 1) ptx::cluster_arrive_relaxed();
  }
  __device__ __forceinline__ int thread() const {
    return blockIdx.x % BLOCKS * BLOCK + threadIdx.x;
  }
  __device__ __forceinline__ int64_t row() const { return row_; }
  __device__ __forceinline__ int64_t next_row() const { return row_ + gridDim.x / BLOCKS; }
  __device__ __forceinline__ void go_on() { row_ = next_row(); }

  // Starts to copy the first words that each thread has of a row, where they are of 16 bytes. No
  // other thread touches this one's, so that no barrier is needed.
  template <class W, class T>
  __device__ __forceinline__ void fetch(const Rows<T>& p, int64_t row) {
    if (sizeof(W) < sizeof(uint4) || row >= p.rows) return;
    const uint4* const from = reinterpret_cast<const uint4*>(p.X + row * p.width);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
      const int i = k * THREADS + thread();
      if (i < p.width / W::NUMBERS)
        ptx::cp_async_cg_16(&place_.next[k][threadIdx.x], from + i, sizeof(uint4));
    }
    ptx::cp_async_commit_group();
  }
  // Word k of these, when they have landed.
  template <class W, class T>
  __device__ __forceinline__ W first(const T* row, int i, int k) const {
    if constexpr (sizeof(W) == sizeof(uint4))
      return {place_.next[k][threadIdx.x]};
    else
      return rows::word_at<W>(row, i);
  }

  // All threads' values combined; every thread gets the same.
  template <class Combine>
  __device__ __forceinline__ float all(float value, const Combine& combine) {
    value = of_lanes<32>(value, combine);
    if (BLOCKS > 1 && first_) ptx::cluster_wait();  // the other blocks have shared memory
    first_ = false;
    // Lane i tells block i. One barrier is enough, as in 23.
    const int lane = threadIdx.x % 32;
    float* const values = place_.of_warps[turn_ ^= 1];
    if (lane < BLOCKS) *ptx::shared_of_block(&values[thread() / 32], lane) = value;
    BLOCKS > 1 ? ptx::cluster_sync() : __syncthreads();
    constexpr int LANES = WARPS < 32 ? WARPS : 32;
    float combined = values[lane % LANES];
#pragma unroll
    for (int i = LANES; i < WARPS; i += LANES) combined = combine(combined, values[i + lane]);
    return of_lanes<LANES>(combined, combine);
  }

 private:
  Place& place_;
  int64_t row_ = blockIdx.x / BLOCKS;
  int turn_ = 0;
  bool first_ = true;
};

template <class Operation, class T, class RAW, class Team>
__global__ void __launch_bounds__(Team::BLOCK, Team::RESIDENT) rows_kernel(const Rows<T> p) {
  using Row = rows::Row<T, RAW, Team, KEPT>;
  Team team(dynamic_shared<typename Team::Place>());
  team.template fetch<typename Row::W>(p, team.row());
  for (; team.row() < p.rows; team.go_on()) {
    ptx::cp_async_wait_group<0>();
    Row row(p, team);
    team.template fetch<typename Row::W>(p, team.next_row());
    Operation::apply(p, row);
  }
}

// ---- The launcher ------------------------------------------------------------------------------

// As many clusters as there is room for at the same time; or one for each row.
enum class Clusters { THAT_STAY, ONE_A_ROW };

template <class T, class RAW, int THREADS, int BLOCKS>
void launch_rows(const Rows<T>& p, Clusters which) {
  using Team = Cluster<THREADS, BLOCKS>;
  const int room = device_attribute(cudaDevAttrMultiProcessorCount) * Team::RESIDENT / BLOCKS;
  const int clusters = which == Clusters::ONE_A_ROW ? p.rows : std::min(p.rows, std::max(room, 1));
  rows::with_operation(p, [&](auto operation) {
    launch_clusters(BLOCKS, rows_kernel<decltype(operation), T, RAW, Team>, dim3(clusters * BLOCKS),
                    dim3(THREADS), sizeof(typename Team::Place), p.stream, p);
  });
}

// The smallest cluster that keeps a row, or, of a row that is too long for any, the largest.
template <class T, class RAW>
void launch_with_words(const Rows<T>& p, Clusters which) {
  const int words = p.width / Word<T, RAW>::NUMBERS;
  if (words <= 256 * 4) return rows::launch_with_words<T, RAW>(p);
  if (words <= 256 * KEPT) return launch_rows<T, RAW, 256, 1>(p, which);
  if (words <= 2 * 256 * KEPT) return launch_rows<T, RAW, 256, 2>(p, which);
  if (words <= 4 * 256 * KEPT) return launch_rows<T, RAW, 256, 4>(p, which);
  if (words <= 8 * 256 * KEPT) return launch_rows<T, RAW, 256, 8>(p, which);
  launch_rows<T, RAW, 512, 8>(p, which);
}
template <Clusters WHICH, class T>
void rows_in(const Rows<T>& p) {
  if (done_without_kernel(p)) return;
  rows::has_words_of_16_bytes(p) ? launch_with_words<T, uint4>(p, WHICH)
                                 : launch_with_words<T, T>(p, WHICH);
}
template <class T>
void one_a_row(const Rows<T>& p) {
  rows_in<Clusters::ONE_A_ROW>(p);
}
template <class T>
void rows(const Rows<T>& p) {
  rows_in<Clusters::THAT_STAY>(p);
}

}  // namespace ladder::rows_in_clusters
