// The CPU device's asynchronous part: what TMA, wgmma, mbarriers, clusters and named barriers do,
// and mistakes with them, each in a small kernel. The same mistakes in whole stages are in
// tests/planted_edits.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cpu_device/symbols.h"
#include "launch.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/movmatrix.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder {
namespace {

constexpr int ROWS = 16, COLS = 64;  // of a box: 16 rows of 128 bytes
constexpr unsigned BOX_BYTES = ROWS * COLS * sizeof(half);

struct Shared {
  half boxes[2][ROWS][COLS];
  int words[64];
  uint64_t barriers[2];
};

half number(int i) {
  return __float2half(static_cast<float>(i));
}

class Async : public testing::Test {
 protected:
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().os_threads = 1;
    cpu_device::take_findings();
    cpu_device::take_memory_lines();
    LADDER_CUDA_CHECK(cudaMalloc(&in_, 2 * BOX_BYTES));
    LADDER_CUDA_CHECK(cudaMalloc(&out_, 2 * BOX_BYTES));
    for (int i = 0; i < 2 * ROWS * COLS; ++i) in_[i] = number(i), out_[i] = number(0);
    map_in_ = ptx::tensor_map(in_, 2 * ROWS, COLS, COLS, ROWS);
    map_out_ = ptx::tensor_map(out_, 2 * ROWS, COLS, COLS, ROWS);
  }
  void TearDown() override {
    cudaFree(in_);
    cudaFree(out_);
  }

  // Expects a finding of this cause at a line with "// BUG", and no other cause.
  static void expect_found(const std::string& cause) {
    bool found = false;
    for (const cpu_device::Finding& finding : cpu_device::take_findings()) {
      const std::string text = cpu_device::source_text(cpu_device::source_line(finding.place));
      const bool is_it = finding.text().find(cause) != std::string::npos &&
                         text.find("// BUG") != std::string::npos;
      found |= is_it;
      EXPECT_TRUE(is_it) << finding.text() << " at: " << text;
    }
    EXPECT_TRUE(found) << "not found: " << cause;
  }
  static void expect_nothing() {
    for (const cpu_device::Finding& finding : cpu_device::take_findings())
      ADD_FAILURE() << finding.text()
                    << " at: " << cpu_device::source_text(cpu_device::source_line(finding.place));
  }

  half *in_ = nullptr, *out_ = nullptr;
  CUtensorMap map_in_, map_out_;
};

__device__ void prepare(Shared& s, uint32_t count) {
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.barriers) ptx::mbarrier_init(&barrier, count);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
}

// A box comes, and goes where another one is.
__global__ void copy_kernel(CUtensorMap from, CUtensorMap to, int row) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
    ptx::tma_load(s.boxes[0], &from, 0, row, &s.barriers[0]);
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::tma_store(&to, 0, ROWS - row, s.boxes[0]);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
  }
}
TEST_F(Async, ABoxIsCopied) {
  launch(copy_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, map_out_, 0);
  expect_nothing();
  for (int i = 0; i < ROWS * COLS; ++i) {
    EXPECT_EQ(out_[i].bits, number(0).bits);
    EXPECT_EQ(out_[ROWS * COLS + i].bits, in_[i].bits) << i;
  }
}
TEST_F(Async, WhatIsOutsideTheMatrixIsZero) {
  launch(copy_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, map_out_, ROWS + 6);
  expect_nothing();
  for (int i = 0; i < ROWS * COLS; ++i) {
    const int at = i - 6 * COLS;  // the box goes to row -6: ten of its rows are in the matrix
    if (at < 0) continue;
    EXPECT_EQ(out_[at].bits, i < 10 * COLS ? in_[(ROWS + 6) * COLS + i].bits : 0) << i;
  }
}

__global__ void no_wait_for_load_kernel(CUtensorMap from, half* to) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
    ptx::tma_load(s.boxes[0], &from, 0, 0, &s.barriers[0]);
    to[0] = s.boxes[0][0][0];  // BUG
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
  }
}
TEST_F(Async, AReadBeforeTheWait) {
  launch(no_wait_for_load_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, out_);
  expect_found("race: reads what TMA may still be bringing");
}

__global__ void not_fenced_kernel(CUtensorMap to) {
  Shared& s = dynamic_shared<Shared>();
  for (int row = 0; row < ROWS; ++row)
    for (int col = threadIdx.x; col < COLS; col += 32) s.boxes[0][row][col] = half(0.0f);
  __syncwarp();
  if (threadIdx.x == 0) {
    ptx::tma_store(&to, 0, 0, s.boxes[0]);  // BUG
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
  }
}
TEST_F(Async, AStoreWithoutAFence) {
  launch(not_fenced_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_out_);
  expect_found("without fence.proxy.async");
}

__global__ void overwritten_kernel(CUtensorMap to, bool wait) {
  Shared& s = dynamic_shared<Shared>();
  for (int row = 0; row < ROWS; ++row)
    for (int col = threadIdx.x; col < COLS; col += 32) s.boxes[0][row][col] = half(0.0f);
  ptx::fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) {
    ptx::tma_store(&to, 0, 0, s.boxes[0]);
    ptx::bulk_commit_group();
    if (wait) ptx::bulk_wait_group_read<0>();
    s.boxes[0][3][5] = __ushort_as_half(1);  // BUG
    ptx::bulk_wait_group_read<0>();
  }
}
TEST_F(Async, AStoreThatHasNotRead) {
  launch(overwritten_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_out_, true);
  expect_nothing();
  launch(overwritten_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_out_, false);
  expect_found("race: writes what a TMA store may still be reading");
  // The store reads late, and so what is there then: with the swizzle, in chunk 0 ^ 3 of row 3.
  EXPECT_EQ(out_[3 * COLS + 3 * 8 + 5].bits, 1);
}

__global__ void not_waited_kernel(CUtensorMap from, CUtensorMap to, bool load) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);  // BUG
    ptx::tma_load(s.boxes[0], &from, 0, 0, &s.barriers[0]);
    if (load) return;
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::tma_store(&to, 0, 0, s.boxes[0]);  // BUG
    ptx::bulk_commit_group();
  }
}
TEST_F(Async, ABlockEndsBeforeItsCopies) {
  launch(not_waited_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, map_out_, true);
  expect_found("the block ends while TMA is still bringing a tile");
  launch(not_waited_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, map_out_, false);
  expect_found("the block ends while TMA may still be reading its shared memory");
}

__global__ void bytes_kernel(CUtensorMap from, unsigned bytes) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], bytes);  // BUG
    ptx::tma_load(s.boxes[0], &from, 0, 0, &s.barriers[0]);
    ptx::tma_load(s.boxes[1], &from, 0, ROWS, &s.barriers[0]);
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);  // BUG
  }
}
TEST_F(Async, WrongNumbersOfBytes) {
  launch(bytes_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, 2 * BOX_BYTES);
  expect_nothing();
  launch(bytes_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, BOX_BYTES);
  expect_found("it has been told to expect too few bytes");
  launch(bytes_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, 2 * BOX_BYTES - 16);
  expect_found("more bytes land than the mbarrier has been told to expect: 16 more");
  launch(bytes_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, 2 * BOX_BYTES + 32);
  expect_found("phase 0, 1 of 1 arrivals (the last in line ");
}

__global__ void misplaced_kernel(CUtensorMap from, int column, int offset) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
    ptx::tma_load(&s.boxes[0][0][offset], &from, column, 0, &s.barriers[0]);  // BUG
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
  }
}
TEST_F(Async, ABoxAtTheWrongPlace) {
  launch(misplaced_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, 0, 8);
  expect_found("128");
  launch(misplaced_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_, 4, 0);
  expect_found("a box whose first column is not at a multiple of 16 bytes");
  launch(misplaced_kernel, dim3(1), dim3(32), size_t{BOX_BYTES} - 128, nullptr, map_in_, 0, 0);
  bool found = false;
  for (const cpu_device::Finding& f : cpu_device::take_findings())
    found |= f.what.find("a box past the end of the launch's dynamic shared memory") == 0;
  EXPECT_TRUE(found);
  CUtensorMap nothing{};
  launch(misplaced_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, nothing, 0, 0);
  found = false;
  for (const cpu_device::Finding& f : cpu_device::take_findings())
    found |= f.what.find("what TMA gets is no tensor map") == 0;
  EXPECT_TRUE(found);
}

__global__ void unfenced_barrier_kernel(CUtensorMap from) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.barriers[0], 1);
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
    ptx::tma_load(s.boxes[0], &from, 0, 0, &s.barriers[0]);  // BUG
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
  }
}
TEST_F(Async, AnInitialisationThatTmaMayNotSee) {
  launch(unfenced_barrier_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_);
  expect_found("no fence.mbarrier_init");
}

// While threads wait for it, and a box is on its way: they still get what they waited for.
__global__ void initialised_again_kernel(CUtensorMap from) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x != 30) {  // who comes behind them
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
  } else {
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
    ptx::tma_load(s.boxes[0], &from, 0, 0, &s.barriers[0]);
    ptx::mbarrier_init(&s.barriers[0], 1);  // BUG
  }
}
TEST_F(Async, AnMbarrierInitialisedWhileItIsInUse) {
  launch(initialised_again_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, map_in_);
  expect_found("initialises an mbarrier that is in use");
}

// Four warps read; one of them is not waited for. The last one reads twice.
__global__ void one_reader_missing_kernel(int* out) {
  Shared& s = dynamic_shared<Shared>();
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) s.words[0] = 1;
  prepare(s, 3);
  if (threadIdx.x % 32 != 0) return;
  if (warp < 4) {
    out[warp] = s.words[0];
    if (warp == 3) out[warp] += s.words[0];
    if (warp != 2) ptx::mbarrier_arrive(&s.barriers[0]);
  } else {
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    s.words[0] = 2;  // BUG
  }
}
TEST_F(Async, AReaderThatNobodyWaitsFor) {
  int* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 4 * sizeof(int)));
  launch(one_reader_missing_kernel, dim3(1), dim3(160), sizeof(Shared), nullptr, out);
  expect_found("race: writes what another thread has read since the last barrier");
  LADDER_CUDA_CHECK(cudaFree(out));
}

// Bytes without a map: from `from` on to byte `to` of a box.
__global__ void bulk_kernel(const unsigned char* from, int to, unsigned bytes, unsigned char* out) {
  auto& s = dynamic_shared<Shared>();
  auto* const there = reinterpret_cast<unsigned char*>(s.boxes[0]) + to;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.barriers[0], 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], bytes);
    ptx::bulk_load(there, from, bytes, &s.barriers[0]);  // BUG
  }
  __syncthreads();
  ptx::mbarrier_wait_parity(&s.barriers[0], 0);
  out[threadIdx.x] = there[threadIdx.x];
}
TEST_F(Async, BulkCopies) {
  unsigned char *from = nullptr, *out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&from, 64));
  LADDER_CUDA_CHECK(cudaMalloc(&out, 32));
  for (int i = 0; i < 64; ++i) from[i] = static_cast<unsigned char>(3 * i);
  const auto run = [&](int begin, int to) {
    launch(bulk_kernel, dim3(1), dim3(32), sizeof(Shared), nullptr, from + begin, to, 32u, out);
  };
  run(16, 16);  // where no box may begin
  expect_nothing();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], 3 * (16 + i));
  run(48, 0);
  expect_found("reads past the end of global memory");
  LADDER_CUDA_CHECK(cudaFree(from));
  LADDER_CUDA_CHECK(cudaFree(out));
}

// --- Clusters -----------------------------------------------------------------------------------

// Each block writes into the other's shared memory.
__global__ void exchange_kernel(int* out, bool wait, bool stay) {
  Shared& s = dynamic_shared<Shared>();
  const unsigned rank = blockIdx.x % 2;
  int* const there = ptx::shared_of_block(s.words, rank ^ 1);
  there[threadIdx.x] = static_cast<int>(100 * rank + threadIdx.x);  // BUG
  if (wait) ptx::cluster_sync();
  if (stay) out[blockIdx.x * 32 + threadIdx.x] = s.words[threadIdx.x];  // BUG
}
TEST_F(Async, BlocksOfAClusterWriteToEachOther) {
  std::vector<int> expected;
  int* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 128 * sizeof(int)));
  launch_clusters(2, exchange_kernel, dim3(4), dim3(32), sizeof(Shared), nullptr, out, true, true);
  expect_nothing();
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], 100 * (1 - i / 32 % 2) + i % 32);
  launch_clusters(2, exchange_kernel, dim3(4), dim3(32), sizeof(Shared), nullptr, out, false, true);
  bool race = false, left = false;
  for (const cpu_device::Finding& f : cpu_device::take_findings()) {
    race |= f.what == "race: reads what another thread has written since the last barrier" ||
            f.what == "reads shared memory that this block has not written";
    left |= f.what.find("touches another block of the cluster, which") == 0;
  }
  EXPECT_TRUE(race);
  EXPECT_TRUE(left);
  launch_clusters(2, exchange_kernel, dim3(4), dim3(32), sizeof(Shared), nullptr, out, false,
                  false);
  expect_found("touches another block of the cluster, which");
  LADDER_CUDA_CHECK(cudaFree(out));
}

// Whether each block has its own memory or the other one's, and how it stores there.
__global__ void remote_kernel(float4* out, unsigned other, bool async) {
  auto* const values = reinterpret_cast<float4*>(dynamic_shared<Shared>().boxes[0]);
  uint64_t* const barrier = &dynamic_shared<Shared>().barriers[0];
  const unsigned rank = blockIdx.x % 2 ^ other;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    if (async) ptx::mbarrier_arrive_expect_tx(barrier, 32 * sizeof(float4));
  }
  ptx::cluster_sync();
  const auto value = make_float4(1, 2, 3, 4);
  if (async)
    ptx::store_async(&values[threadIdx.x], value, barrier, rank);
  else
    *ptx::shared_of_block(&values[threadIdx.x], rank) = value;
  if (async) ptx::mbarrier_wait_parity_cluster(barrier, 0);
  ptx::cluster_sync();
  const float4 got = *ptx::shared_of_block(&values[threadIdx.x], rank);
  out[blockIdx.x * 32 + threadIdx.x] = got;
  ptx::cluster_sync();
}
TEST_F(Async, TheSharedMemoryOfAnotherBlockIsCountedByItself) {
  float4* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 64 * sizeof(float4)));
  const auto counted = [&](unsigned other, bool async) {
    launch_clusters(2, remote_kernel, dim3(2), dim3(32), sizeof(Shared), nullptr, out, other,
                    async);
    expect_nothing();
    std::map<std::string, uint64_t> cost;
    for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines())
      if (line.space == cpu_device::Space::SHARED && line.bytes == 16)
        cost[cpu_device::name_of(line.operation)] += line.cost;
    return cost;
  };
  using Cost = std::map<std::string, uint64_t>;  // wavefronts: 4 a warp of 16 bytes a lane
  EXPECT_EQ((Cost{{"load", 8}, {"store", 8}}), counted(0, false));
  EXPECT_EQ((Cost{{"remote load", 8}, {"remote store", 8}}), counted(1, false));
  EXPECT_EQ((Cost{{"load", 8}, {"remote store", 8}}), counted(0, true));
  EXPECT_EQ((Cost{{"remote load", 8}, {"remote store", 8}}), counted(1, true));
  LADDER_CUDA_CHECK(cudaFree(out));
}

// Arrives twice; also when the first barrier is long complete, the second arrival comes too early.
__global__ void arrives_twice_kernel(bool wait, bool late) {
  ptx::cluster_arrive();
  if (late) __syncthreads();
  if (wait) ptx::cluster_wait();
  ptx::cluster_sync();  // BUG
}
TEST_F(Async, TwoArrivalsAtAClusterWithoutAWait) {
  for (const bool late : {false, true}) {
    launch_clusters(2, arrives_twice_kernel, dim3(2), dim3(32), 0, nullptr, true, late);
    expect_nothing();
    launch_clusters(2, arrives_twice_kernel, dim3(2), dim3(32), 0, nullptr, false, late);
    expect_found("arrives at the cluster's barrier twice without a wait between");
  }
}

// Block 0 brings a box for both.
__global__ void multicast_kernel(CUtensorMap from, half* out, uint32_t blocks) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.barriers[0], 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
  }
  ptx::cluster_sync();
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0)
      ptx::tma_load_multicast(s.boxes[0], &from, 0, 0, &s.barriers[0],
                              static_cast<uint16_t>(blocks));
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);  // BUG
    out[blockIdx.x] = s.boxes[0][0][1];
  }
  ptx::cluster_sync();  // BUG
}
TEST_F(Async, Multicast) {
  launch_clusters(2, multicast_kernel, dim3(2), dim3(32), sizeof(Shared), nullptr, map_in_, out_,
                  3u);
  expect_nothing();
  EXPECT_EQ(out_[0].bits, in_[1].bits);
  EXPECT_EQ(out_[1].bits, in_[1].bits);
  launch_clusters(2, multicast_kernel, dim3(2), dim3(32), sizeof(Shared), nullptr, map_in_, out_,
                  1u);
  expect_found("deadlock: threads wait here");
}

__global__ void remote_arrival_kernel(bool stay) {
  Shared& s = dynamic_shared<Shared>();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&s.barriers[0], 2);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  if (threadIdx.x < 2) ptx::mbarrier_arrive_cluster(&s.barriers[0], threadIdx.x);  // BUG
  if (blockIdx.x == 0) ptx::mbarrier_wait_parity(&s.barriers[0], 0);
  if (stay) ptx::cluster_sync();
}
TEST_F(Async, ABlockThatLeavesBeforeAnArrival) {
  launch_clusters(2, remote_arrival_kernel, dim3(2), dim3(32), sizeof(Shared), nullptr, true);
  expect_nothing();
  launch_clusters(2, remote_arrival_kernel, dim3(2), dim3(32), sizeof(Shared), nullptr, false);
  expect_found("touches another block of the cluster, which");
}

// Each block stores to the other, and reads what the other has stored.
enum class Slip { NONE, EARLY, NO_WAIT, OWN_SCOPE, TOO_FEW_BYTES, OVERWRITES, NO_BARRIER, LEAVES };
template <Slip SLIP>
__global__ void async_store_kernel(float4* out) {
  Shared& s = dynamic_shared<Shared>();
  float4* const values = reinterpret_cast<float4*>(s.boxes[0]);
  const unsigned rank = blockIdx.x % 2;
  if (threadIdx.x == 0) {
    if (SLIP != Slip::NO_BARRIER) ptx::mbarrier_init(&s.barriers[0], 1);
    ptx::fence_mbarrier_init();
    const uint32_t expected = SLIP == Slip::TOO_FEW_BYTES ? 496 : 512;
    if (SLIP != Slip::NO_BARRIER) ptx::mbarrier_arrive_expect_tx(&s.barriers[0], expected);  // BUG
  }
  __syncwarp();
  if (SLIP == Slip::OVERWRITES) {
    values[threadIdx.x] = make_float4(0, 0, 0, 0);
    out[threadIdx.x] = values[threadIdx.x];
  }
  ptx::cluster_arrive_relaxed();
  if (SLIP != Slip::EARLY) ptx::cluster_wait();
  const auto number = static_cast<float>(100 * rank + threadIdx.x);
  ptx::store_async(&values[threadIdx.x], make_float4(number, 1, 2, 3), &s.barriers[0],  // BUG
                   rank ^ 1);
  if (SLIP == Slip::LEAVES) return;
  if (SLIP == Slip::NO_WAIT) ptx::cluster_sync();  // which does not wait for what is on its way
  if (SLIP == Slip::OWN_SCOPE)
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);  // BUG
  else if (SLIP != Slip::NO_WAIT && SLIP != Slip::NO_BARRIER)
    ptx::mbarrier_wait_parity_cluster(&s.barriers[0], 0);
  if (SLIP != Slip::NO_BARRIER)
    out[blockIdx.x * 32 + threadIdx.x] = values[threadIdx.x ^ 1];  // BUG
  if (SLIP == Slip::NO_WAIT) {
    ptx::mbarrier_wait_parity_cluster(&s.barriers[0], 0);
    ptx::cluster_sync();
  }
  if (SLIP == Slip::EARLY) ptx::cluster_wait();
}
class AsyncStores : public Async {
 protected:
  template <Slip SLIP>
  void run() {
    float4* out = nullptr;
    LADDER_CUDA_CHECK(cudaMalloc(&out, 64 * sizeof(float4)));
    launch_clusters(2, async_store_kernel<SLIP>, dim3(2), dim3(32), sizeof(Shared), nullptr, out);
    for (int i = 0; i < 64 && SLIP == Slip::NONE; ++i) {
      EXPECT_EQ(out[i].x, 100 * (1 - i / 32) + (i % 32 ^ 1));
      EXPECT_EQ(out[i].w, 3);
    }
    LADDER_CUDA_CHECK(cudaFree(out));
  }
};
TEST_F(AsyncStores, ArriveInTheOtherBlock) {
  run<Slip::NONE>();
  expect_nothing();
}
TEST_F(AsyncStores, BeforeTheBarrierIsKnown) {
  run<Slip::EARLY>();
  const auto findings = cpu_device::take_findings();
  ASSERT_FALSE(findings.empty());
  for (const cpu_device::Finding& f : findings)
    EXPECT_TRUE(f.what.find("uses an mbarrier that another thread has initialised") !=
                    std::string::npos ||
                f.what.find("an mbarrier that nobody has initialised yet") == 0 ||
                f.what.find("deadlock") == 0)
        << f.text();
}
TEST_F(AsyncStores, AreReadTooEarly) {
  run<Slip::NO_WAIT>();
  expect_found("race: reads what an st.async may still be bringing");
}
TEST_F(AsyncStores, AreWaitedForByTheOwnBlockAlone) {
  run<Slip::OWN_SCOPE>();
  expect_found("with an acquire that is for its own block alone");
}
TEST_F(AsyncStores, OfMoreBytesThanExpected) {
  run<Slip::TOO_FEW_BYTES>();
  expect_found("it has been told to expect too few bytes");
}
TEST_F(AsyncStores, OverWhatTheOtherStillReads) {
  run<Slip::OVERWRITES>();
  expect_found("race: writes what another thread has");
}
TEST_F(AsyncStores, ToABarrierThatNobodyHasInitialised) {
  run<Slip::NO_BARRIER>();
  expect_found("an mbarrier that nobody has initialised yet");
}
TEST_F(AsyncStores, ToABlockThatLeaves) {
  run<Slip::LEAVES>();
  bool left = false;
  for (const cpu_device::Finding& f : cpu_device::take_findings())
    left |= f.what.find("touches another block of the cluster, which") == 0;
  EXPECT_TRUE(left);
}

__global__ void movmatrix_kernel(uint32_t* out) {
  const unsigned row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
  out[threadIdx.x] = ptx::movmatrix_trans((row * 8 + column) | (row * 8 + column + 1) << 16);
}
TEST_F(Async, AMatrixIsTurned) {
  uint32_t* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 32 * sizeof(uint32_t)));
  launch(movmatrix_kernel, dim3(1), dim3(32), 0, nullptr, out);
  expect_nothing();
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned row = lane / 4, column = lane % 4 * 2;
    EXPECT_EQ(out[lane], (column * 8 + row) | ((column + 1) * 8 + row) << 16);
  }
  LADDER_CUDA_CHECK(cudaFree(out));
}

TEST_F(Async, ClustersThatNoGpuTakesAreRefused) {
  EXPECT_THROW(
      launch_clusters(2, remote_arrival_kernel, dim3(3), dim3(32), sizeof(Shared), nullptr, true),
      std::invalid_argument);
  EXPECT_THROW(
      launch_clusters(16, remote_arrival_kernel, dim3(16), dim3(32), sizeof(Shared), nullptr, true),
      std::invalid_argument);
}

// --- Named barriers, registers, wgmma ------------------------------------------------------------

// Warp 0 writes, warp 1 reads; warps 2 and 3 have nothing to do with it.
__global__ void two_warps_kernel(int* out, int id_of_reader) {
  Shared& s = dynamic_shared<Shared>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    s.words[lane] = lane;
    ptx::named_barrier_arrive(1, 64);
  } else if (warp == 1) {
    ptx::named_barrier_sync(id_of_reader, id_of_reader == 1 ? 64 : 32);
    out[lane] = s.words[31 - lane];  // BUG
  }
}
TEST_F(Async, NamedBarriers) {
  int* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 32 * sizeof(int)));
  launch(two_warps_kernel, dim3(1), dim3(128), sizeof(Shared), nullptr, out, 1);
  expect_nothing();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], 31 - i);
  launch(two_warps_kernel, dim3(1), dim3(128), sizeof(Shared), nullptr, out, 2);
  expect_found("race: reads what another thread has written since the last barrier");
  LADDER_CUDA_CHECK(cudaFree(out));
}

__global__ void missing_warp_kernel() {
  if (threadIdx.x < 32) ptx::named_barrier_sync(3, 64);  // BUG
}
TEST_F(Async, ANamedBarrierThatOthersNeverReach) {
  launch(missing_warp_kernel, dim3(1), dim3(64), sizeof(Shared), nullptr);
  expect_found("deadlock: threads wait here, at a named barrier");
}

// --- Other orders of the threads
// ------------------------------------------------------------------ Each of these runs to its end
// here. With `ordered` they do in every order.

// Thread 0 completes a phase and, when thread 2 has come, the next. Thread 1 has waited for the
// first by then, or has not.
__global__ void phase_may_be_missed_kernel(bool ordered) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive(&s.barriers[0]);
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::mbarrier_wait_parity(&s.barriers[1], 0);
    ptx::mbarrier_arrive(&s.barriers[0]);
  }
  if (threadIdx.x == 1) {
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);  // BUG
    if (ordered) ptx::mbarrier_arrive(&s.barriers[1]);
  }
  if (threadIdx.x == 2 && !ordered) ptx::mbarrier_arrive(&s.barriers[1]);
}
// Thread 1 waits for the second of two phases.
__global__ void phase_may_be_early_kernel(bool ordered) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0)
    for (unsigned parity : {0, 1}) {
      ptx::mbarrier_arrive(&s.barriers[0]);
      if (ordered && parity == 0) ptx::mbarrier_wait_parity(&s.barriers[1], 0);
      ptx::mbarrier_wait_parity(&s.barriers[0], parity);
    }
  if (threadIdx.x == 1) {
    if (ordered) ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    if (ordered) ptx::mbarrier_arrive(&s.barriers[1]);
    ptx::mbarrier_wait_parity(&s.barriers[0], 1);  // BUG
  }
}
// Thread 1 arrives in the second phase.
__global__ void arrival_may_be_early_kernel(bool ordered) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) ptx::mbarrier_arrive(&s.barriers[0]);
  if (threadIdx.x == 1) {
    if (ordered) ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::mbarrier_arrive(&s.barriers[0]);  // BUG
  }
}
__global__ void copy_may_be_early_kernel(CUtensorMap from, bool ordered) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive(&s.barriers[0]);
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::mbarrier_arrive_expect_tx(&s.barriers[0], BOX_BYTES);
    ptx::mbarrier_wait_parity(&s.barriers[0], 1);
  }
  if (threadIdx.x == 1) {
    if (ordered) ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::tma_load(s.boxes[0], &from, 0, 0, &s.barriers[0]);  // BUG
  }
}
// Warp 0 arrives twice, the second time when warp 1 has come back from the first turn, or, as far
// as it knows, has not.
__global__ void named_barrier_may_be_early_kernel(bool ordered) {
  if (threadIdx.x < 32) {
    ptx::named_barrier_arrive(1, 64);
    ptx::named_barrier_sync(2, 64);
    ptx::named_barrier_arrive(1, 64);  // BUG
    return;
  }
  if (!ordered) ptx::named_barrier_arrive(2, 64);
  ptx::named_barrier_sync(1, 64);
  if (ordered) ptx::named_barrier_arrive(2, 64);
  ptx::named_barrier_sync(1, 64);
}
// One lane arrives for its warp, when all lanes have come to elect.sync and so have waited.
__global__ void elected_kernel(bool together) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  const int warp = threadIdx.x / 32;
  for (unsigned round = 0; round < 3; ++round) {
    ptx::mbarrier_wait_parity(&s.barriers[warp], (round + warp + 1) % 2);  // BUG
    if (together ? ptx::elect_one() : threadIdx.x % 32 == 0)
      ptx::mbarrier_arrive(&s.barriers[1 - warp]);
  }
}
// A lane arrives in each block. Thread 32 knows of the one, and arrives in the other block behind
// it.
__global__ void lanes_kernel(bool together) {
  Shared& s = dynamic_shared<Shared>();
  prepare(s, 1);
  ptx::cluster_sync();
  if (blockIdx.x == 0 && threadIdx.x < 2 && (together || threadIdx.x == 0))
    ptx::mbarrier_arrive_cluster(&s.barriers[0], threadIdx.x);
  if (blockIdx.x == 0 && threadIdx.x == 1 && !together)
    ptx::mbarrier_arrive_cluster(&s.barriers[0], 1);
  if (blockIdx.x == 0 && threadIdx.x == 32) {
    ptx::mbarrier_wait_parity(&s.barriers[0], 0);
    ptx::mbarrier_arrive_cluster(&s.barriers[0], 1);  // BUG
  }
  ptx::cluster_sync();
}
TEST_F(Async, LanesArriveTogetherInTwoBlocks) {
  cpu_device::settings().digest = true;
  launch_clusters(2, lanes_kernel, dim3(2), dim3(64), sizeof(Shared), nullptr, true);
  expect_nothing();
  launch_clusters(2, lanes_kernel, dim3(2), dim3(64), sizeof(Shared), nullptr, false);
  expect_found("another order: counts at the phase before");
  cpu_device::settings().digest = false;
}
TEST_F(Async, OtherOrders) {
  cpu_device::settings().digest = true;
  const auto run = [](auto kernel, auto... args) {
    launch(kernel, dim3(1), dim3(64), sizeof(Shared), nullptr, args...);
  };
  run(phase_may_be_missed_kernel, false);
  expect_found("another order: waits for ever");
  run(phase_may_be_early_kernel, false);
  expect_found("another order: is over two phases early");
  run(arrival_may_be_early_kernel, false);
  expect_found("another order: counts at the phase before");
  run(copy_may_be_early_kernel, map_in_, false);
  expect_found("another order: counts at the phase before");
  run(named_barrier_may_be_early_kernel, false);
  expect_found("another order: counts at the barrier's turn before");
  run(elected_kernel, false);
  expect_found("another order: waits for ever");
  run(phase_may_be_missed_kernel, true);
  run(phase_may_be_early_kernel, true);
  run(arrival_may_be_early_kernel, true);
  run(copy_may_be_early_kernel, map_in_, true);
  run(named_barrier_may_be_early_kernel, true);
  run(elected_kernel, true);
  expect_nothing();
  cpu_device::settings().digest = false;
  run(phase_may_be_missed_kernel, false);
  expect_nothing();
}

// Some threads of the first block, and as many behind them of the next.
__global__ void waiting_kernel(unsigned begin, unsigned end, unsigned step) {
  const unsigned behind = blockIdx.x * (end - begin);
  begin += behind, end += behind;
  if (threadIdx.x >= begin && threadIdx.x < end && (threadIdx.x - begin) % step == 0)
    ptx::named_barrier_sync(3, 1024);
}
TEST_F(Async, ADeadlockNamesAllWhoWait) {
  const auto who = [](unsigned cluster, unsigned begin, unsigned end, unsigned step) {
    launch_clusters(cluster, waiting_kernel, dim3(cluster), dim3(144), 0, nullptr, begin, end,
                    step);
    const std::vector<cpu_device::Finding> findings = cpu_device::take_findings();
    return findings.size() == 1 ? findings[0].who : "";
  };
  EXPECT_EQ(who(1, 32, 64, 1), "warp 1 of block (0, 0, 0)");
  EXPECT_EQ(who(1, 32, 128, 1), "warps 1 to 3 of block (0, 0, 0)");
  EXPECT_EQ(who(1, 64, 144, 1), "warps 2 to 4 of block (0, 0, 0)");  // the last is half a warp
  EXPECT_EQ(who(1, 0, 40, 1), "threads 0 to 39 of block (0, 0, 0)");
  EXPECT_EQ(who(1, 5, 70, 32), "thread 5, thread 37, thread 69 of block (0, 0, 0)");
  EXPECT_EQ(who(1, 0, 144, 16), "thread 0, thread 16, thread 32, thread 48 and 5 more threads");
  EXPECT_EQ(who(2, 0, 32, 1), "warp 0 of block (0, 0, 0), warp 1 of block (1, 0, 0)");
}

__global__ void elect_kernel(int* out) {
  const bool elected = ptx::elect_one();
  out[threadIdx.x] = elected;
}
TEST_F(Async, OneLaneOfAWarpIsElected) {
  int* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 64 * sizeof(int)));
  launch(elect_kernel, dim3(1), dim3(64), 0, nullptr, out);
  expect_nothing();
  for (int warp = 0; warp < 2; ++warp) {
    int elected = 0;
    for (int lane = 0; lane < 32; ++lane) elected += out[warp * 32 + lane];
    EXPECT_EQ(elected, 1);
  }
  LADDER_CUDA_CHECK(cudaFree(out));
}

template <int MORE>
__global__ void registers_kernel() {
  if (threadIdx.x < 128)
    ptx::setmaxnreg_dec<40>();
  else
    ptx::setmaxnreg_inc<MORE>();  // BUG
}
__global__ void one_warp_kernel() {
  if (threadIdx.x < 32) ptx::setmaxnreg_dec<40>();  // BUG
}
TEST_F(Async, Registers) {
  launch(registers_kernel<232>, dim3(1), dim3(384), 0, nullptr);
  expect_nothing();
  launch(registers_kernel<240>, dim3(1), dim3(384), 0, nullptr);
  expect_found("deadlock: threads wait here, for registers that no warpgroup frees");
  launch(one_warp_kernel, dim3(1), dim3(384), 0, nullptr);
  expect_found("for the rest of their warpgroup to come to a setmaxnreg");
}

// A tile of A of 64 x 16 and one of B of 16 x 64, of ones, multiplied once.
enum class Mistake { NONE, NO_FENCE, NO_COMMIT, EARLY, NOT_VISIBLE, ONE_WARP };
__global__ void wgmma_kernel(float* out, Mistake mistake) {
  struct Tiles {
    half A[64][64], B[64][64];
  };
  Tiles& s = dynamic_shared<Tiles>();
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    s.A[i / 64][i % 64] = __float2half(1);
    s.B[i / 64][i % 64] = __float2half(1);
  }
  if (mistake != Mistake::NOT_VISIBLE) ptx::fence_proxy_async();
  __syncthreads();
  float acc[32];
  for (float& x : acc) x = 2;
  if (mistake != Mistake::NO_FENCE) ptx::wgmma_fence();
  if (mistake != Mistake::ONE_WARP || threadIdx.x < 32)
    ptx::wgmma_m64k16_f32_f16(acc, ptx::wgmma_descriptor(&s.A[0][0], 0, 1024),  // BUG
                              ptx::wgmma_descriptor(&s.B[0][0], 0, 1024), true);
  if (mistake != Mistake::NO_COMMIT) ptx::wgmma_commit_group();
  if (mistake == Mistake::EARLY) acc[0] += 1;                       // BUG
  ptx::wgmma_wait_group<0>();                                       // BUG
  for (int i = 0; i < 32; ++i) out[threadIdx.x * 32 + i] = acc[i];  // BUG
}
TEST_F(Async, Wgmma) {
  float* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 128 * 32 * sizeof(float)));
  const auto run = [&](Mistake mistake) {
    launch(wgmma_kernel, dim3(1), dim3(128), 2 * 64 * 64 * sizeof(half), nullptr, out, mistake);
  };
  run(Mistake::NONE);
  expect_nothing();
  for (int i = 0; i < 128 * 32; ++i) ASSERT_EQ(out[i], 18) << i;
  run(Mistake::NO_FENCE);
  expect_found("since the last wgmma.fence");
  run(Mistake::EARLY);
  expect_found("uses accumulators of a wgmma that it has not waited for");
  run(Mistake::NOT_VISIBLE);
  expect_found("without fence.proxy.async");
  run(Mistake::ONE_WARP);
  expect_found("deadlock: threads wait here, for the rest of their warpgroup to come to a wgmma");
  run(Mistake::NO_COMMIT);
  bool ends = false;
  for (const cpu_device::Finding& f : cpu_device::take_findings())
    ends |= f.what == "the thread ends without having waited for this wgmma";
  EXPECT_TRUE(ends);
  LADDER_CUDA_CHECK(cudaFree(out));
}

// A from registers: rows of 16, each of its warp's, by eight columns of B.
template <ptx::Major OF_B>
__global__ void wgmma_of_registers_kernel(float* out, bool early) {
  auto& B = dynamic_shared<half[64][64]>();  // of k x n, or of n x k: 1 where they are the same
  for (int i = threadIdx.x; i < 64 * 64; i += 128)
    B[i / 64][i % 64 ^ i / 64 % 8 * 8] = __float2half(i / 64 == i % 64 ? 1.0f : 0.0f);
  ptx::fence_proxy_async();
  __syncthreads();
  float acc[32];
  uint32_t a[4];
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const int column = lane % 4 * 2 + i / 2 * 8, row = threadIdx.x / 32 * 16 + i % 2 * 8 + lane / 4;
    const half2 pair = __floats2half2_rn(static_cast<float>(row * 16 + column),
                                         static_cast<float>(row * 16 + column + 1));
    a[i] = reinterpret_cast<const uint32_t&>(pair);
  }
  ptx::wgmma_fence();
  ptx::wgmma_m64k16_f32<half, OF_B>(acc, a, ptx::wgmma_descriptor(&B[0][0], 0, 1024), false);
  ptx::wgmma_commit_group();
  if (early) a[3] = 0;  // BUG
  ptx::wgmma_wait_group<0>();
  for (int i = 0; i < 32; ++i) out[threadIdx.x * 32 + i] = acc[i];
}
TEST_F(Async, WgmmaOfRegisters) {
  float* out = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&out, 128 * 32 * sizeof(float)));
  const auto run = [&](auto kernel, bool early) {
    launch(kernel, dim3(1), dim3(128), 64 * 64 * sizeof(half), nullptr, out, early);
  };
  for (const auto kernel :
       {wgmma_of_registers_kernel<ptx::Major::MN>, wgmma_of_registers_kernel<ptx::Major::K>}) {
    run(kernel, false);
    expect_nothing();
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < 32; ++i) {
        const int row = t / 32 * 16 + i / 2 % 2 * 8 + t % 32 / 4,
                  column = i / 4 * 8 + t % 4 * 2 + i % 2;
        ASSERT_EQ(out[t * 32 + i], column < 16 ? row * 16 + column : 0) << t << " " << i;
      }
  }
  run(wgmma_of_registers_kernel<ptx::Major::K>, true);
  expect_found("uses registers that a wgmma reads A from and that it has not waited for");
  LADDER_CUDA_CHECK(cudaFree(out));
}

}  // namespace
}  // namespace ladder
