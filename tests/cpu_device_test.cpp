// The CPU device itself: planted bugs, each in a small kernel, must be found and located.
//
// A finding is located when it names the line that carries the bug's marker, "// BUG".
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cpu_device/digest.h"
#include "cpu_device/symbols.h"
#include "launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"

namespace ladder {
namespace {

constexpr int SIZE = 32;

// Device memory with exactly `count` numbers, set to `value`.
class Numbers {
 public:
  explicit Numbers(int count, float value = 1.0f) {
    LADDER_CUDA_CHECK(cudaMalloc(&data_, static_cast<size_t>(count) * sizeof(float)));
    for (int i = 0; i < count; ++i) data_[i] = value;
  }
  ~Numbers() { cudaFree(data_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

// With the requests counted, and without: what is found does not depend on it.
class CpuDevice : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().count = GetParam();
    cpu_device::take_findings();
    cpu_device::take_memory_lines();
  }

  // Runs a kernel on one block of SIZE x SIZE threads.
  template <class... Params>
  void run(void (*kernel)(Params...), std::common_type_t<Params>... args) {
    launch(kernel, dim3(1), dim3(SIZE, SIZE), 4096, nullptr, args...);
  }

  // Expects at least one finding that contains `what`, and that one at a line with `marker`.
  static void expect_found(const std::string& what, const std::string& marker = "// BUG") {
    std::string others;
    for (const cpu_device::Finding& finding : cpu_device::take_findings()) {
      const cpu_device::SourceLine where = cpu_device::source_line(finding.place);
      const std::string text = cpu_device::source_text(where);
      if (finding.text().find(what) != std::string::npos && text.find(marker) != std::string::npos)
        return;
      others += "\n  " + finding.text() + " at " + where.file + ":" + std::to_string(where.line) +
                ": " + text;
    }
    ADD_FAILURE() << "not found: " << what << " at a line with " << marker
                  << "; instead:" << others;
  }
};

#define ROW threadIdx.y
#define COL threadIdx.x

__global__ void right_kernel(const float* A, float* C) {
  __shared__ float sA[SIZE][SIZE];
  sA[ROW][COL] = A[ROW * SIZE + COL];
  __syncthreads();
  C[ROW * SIZE + COL] = sA[COL][ROW];
}
TEST_P(CpuDevice, FindsNothingInARightKernel) {
  const Numbers A(SIZE * SIZE, 3.0f), C(SIZE * SIZE);
  run(right_kernel, A.get(), C.get());
  EXPECT_TRUE(cpu_device::take_findings().empty());
  for (int i = 0; i < SIZE * SIZE; ++i) EXPECT_EQ(3.0f, C.get()[i]);
}

__global__ void index_of_data_kernel(const float* A, float* C) {
  C[ROW * SIZE + (COL + static_cast<int>(A[ROW * SIZE])) % SIZE] = 1;
}
__global__ void branch_on_data_kernel(const float* A, float* C) {
  float x = 0;
  if (A[ROW * SIZE + COL] > 2.0f)
    for (int i = 0; i < SIZE; ++i) x = x * x + 1;
  C[ROW * SIZE + COL] = x;
}
TEST_P(CpuDevice, DigestChangesWithWhatIsDoneAndNotWithTheData) {
  cpu_device::settings().digest = true;
  cpu_device::take_digest();
  const auto digest = [&](auto kernel, float value) {
    const Numbers A(SIZE * SIZE, value), C(SIZE * SIZE);
    run(kernel, A.get(), C.get());
    return cpu_device::take_digest();
  };
  const cpu_device::AccessDigest right = digest(right_kernel, 1.0f);
  EXPECT_EQ(right.digest, digest(right_kernel, 3.0f).digest);
  EXPECT_EQ(4 * SIZE * SIZE, right.events);
  EXPECT_EQ(2, right.lines.size());
  cpu_device::settings().os_threads = 1;
  EXPECT_EQ(right.digest, digest(right_kernel, 3.0f).digest);
  const cpu_device::AccessDigest one = digest(index_of_data_kernel, 1.0f),
                                 other = digest(index_of_data_kernel, 3.0f);
  EXPECT_NE(one.digest, other.digest);
  EXPECT_NE(one.accesses, other.accesses);
  ASSERT_EQ(1, one.lines.size());
  EXPECT_NE(one.lines[0].digest, other.lines[0].digest);
  // The accesses are the same, the way is not.
  const cpu_device::AccessDigest not_taken = digest(branch_on_data_kernel, 1.0f),
                                 taken = digest(branch_on_data_kernel, 3.0f);
  EXPECT_NE(not_taken.digest, taken.digest);
  EXPECT_EQ(not_taken.accesses, taken.accesses);
  EXPECT_EQ(not_taken.lines[0].digest, taken.lines[0].digest);
  cpu_device::settings().digest = false;
  EXPECT_EQ(0, digest(right_kernel, 1.0f).events);
}

__global__ void blocks_write_the_same_kernel(float* C) {
  C[threadIdx.x] = 1;  // BUG
}
__global__ void block_reads_what_another_writes_kernel(float* C) {
  float x = 1;
  if (blockIdx.x == 1) x = C[threadIdx.x];  // BUG
  C[blockIdx.x * SIZE + threadIdx.x] = x;
}
__global__ void block_takes_a_ticket_kernel(float* C, unsigned* ticket) {
  __shared__ unsigned mine;
  C[blockIdx.x * SIZE + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
  __syncthreads();
  if (mine == 1) C[threadIdx.x] = C[threadIdx.x] + C[SIZE + threadIdx.x];
}
__global__ void blocks_write_neighbours_kernel(unsigned char* C, const float* A) {
  C[blockIdx.x] = static_cast<unsigned char>(A[0]);
}
TEST_P(CpuDevice, BlocksThatMeetInGlobalMemory) {
  cpu_device::settings().digest = true;
  cpu_device::settings().os_threads = 1;  // block 0 runs first
  const Numbers C(2 * SIZE), ticket(1, 0.0f);
  const auto two_blocks = [](auto kernel, auto... args) {
    launch(kernel, dim3(2), dim3(SIZE), 0, nullptr, args...);
  };
  two_blocks(blocks_write_the_same_kernel, C.get());
  expect_found("race: writes global memory that another block of this launch has written");
  two_blocks(block_reads_what_another_writes_kernel, C.get());
  expect_found("race: reads global memory that another block of this launch has written");
  two_blocks(block_takes_a_ticket_kernel, C.get(), reinterpret_cast<unsigned*>(ticket.get()));
  two_blocks(blocks_write_neighbours_kernel, reinterpret_cast<unsigned char*>(C.get()),
             static_cast<const float*>(ticket.get()));
  EXPECT_TRUE(cpu_device::take_findings().empty());
  cpu_device::settings().digest = false;
  two_blocks(blocks_write_the_same_kernel, C.get());
  EXPECT_TRUE(cpu_device::take_findings().empty());
}

__global__ void no_barrier_before_kernel(const float* A, float* C) {
  __shared__ float sA[SIZE][SIZE];
  sA[ROW][COL] = A[ROW * SIZE + COL];
  C[ROW * SIZE + COL] = sA[SIZE - 1 - ROW][COL];  // BUG
}
TEST_P(CpuDevice, MissingBarrierBeforeTheComputeLoop) {
  for (const bool reverse : {false, true}) {
    cpu_device::settings().reverse = reverse;
    const Numbers A(SIZE * SIZE), C(SIZE * SIZE);
    run(no_barrier_before_kernel, A.get(), C.get());
    expect_found("race: reads what another thread has written since the last barrier");
  }
}

__global__ void no_barrier_after_kernel(const float* A, float* C) {
  __shared__ float sA[SIZE][SIZE];
  float acc = 0;
  for (int i = 0; i < 2; ++i) {
    sA[ROW][COL] = A[ROW * SIZE + COL];  // BUG
    __syncthreads();
    for (int k = 0; k < SIZE; ++k) acc += sA[k][COL];
  }
  C[ROW * SIZE + COL] = acc;
}
TEST_P(CpuDevice, MissingBarrierAfterTheComputeLoop) {
  const Numbers A(SIZE * SIZE), C(SIZE * SIZE);
  run(no_barrier_after_kernel, A.get(), C.get());
  expect_found("race: writes what another thread has read since the last barrier");
}

__global__ void two_writers_kernel(float* C) {
  __shared__ float sA[SIZE];
  sA[COL] = 1.0f;  // BUG
  __syncthreads();
  C[ROW * SIZE + COL] = sA[COL];
}
TEST_P(CpuDevice, TwoWritersOfOneWord) {
  const Numbers C(SIZE * SIZE);
  run(two_writers_kernel, C.get());
  expect_found("race: writes what another thread has written since the last barrier");
}

__global__ void no_wait_kernel(const float* A, float* C) {
  __shared__ __align__(16) float sA[SIZE][SIZE];
  ptx::cp_async_ca_4(&sA[ROW][COL], &A[ROW * SIZE + COL], 4);
  ptx::cp_async_commit_group();
  __syncthreads();
  C[ROW * SIZE + COL] = sA[COL][ROW];  // BUG
}
TEST_P(CpuDevice, MissingCpAsyncWait) {
  const Numbers A(SIZE * SIZE), C(SIZE * SIZE);
  run(no_wait_kernel, A.get(), C.get());
  expect_found("reads shared memory that a cp.async has not delivered yet");
}

// Two rounds in which every thread passes a number to another through an mbarrier. What is read in
// one round is overwritten in the next but one, when all have arrived again.
__global__ void mbarrier_kernel(float* C, int rounds) {
  __shared__ float sA[2][SIZE * SIZE];
  __shared__ uint64_t barrier;
  const int self = ROW * SIZE + COL;
  if (self == 0) ptx::mbarrier_init(&barrier, SIZE * SIZE);
  __syncthreads();
  float value = static_cast<float>(self);
  for (int round = 0; round < rounds; ++round) {
    sA[round % 2][self] = value;
    ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_test_wait_parity(&barrier, round % 2)) {
    }
    value = sA[round % 2][(self + 1) % (SIZE * SIZE)];
  }
  C[self] = value;
}
TEST_P(CpuDevice, MbarrierOrdersWhatComesBeforeTheArrival) {
  const Numbers C(SIZE * SIZE);
  run(mbarrier_kernel, C.get(), 5);
  EXPECT_EQ(cpu_device::take_findings().size(), 0u);
  for (int i = 0; i < SIZE * SIZE; ++i)
    EXPECT_EQ(C.get()[i], static_cast<float>((i + 5) % (SIZE * SIZE)));
}

__global__ void late_store_kernel(float* C) {
  __shared__ float sA[SIZE * SIZE];
  __shared__ uint64_t barrier;
  const int self = ROW * SIZE + COL;
  if (self == 0) ptx::mbarrier_init(&barrier, SIZE * SIZE);
  __syncthreads();
  ptx::mbarrier_arrive(&barrier);
  sA[self] = 1.0f;
  while (!ptx::mbarrier_test_wait_parity(&barrier, 0)) {
  }
  C[self] = sA[(self + 1) % (SIZE * SIZE)];  // BUG
}
TEST_P(CpuDevice, StoreBetweenArrivalAndWait) {
  const Numbers C(SIZE * SIZE);
  run(late_store_kernel, C.get());
  expect_found("race: reads what another thread has written since the last barrier");
}

__global__ void no_mbarrier_wait_kernel(float* C) {
  __shared__ float sA[SIZE * SIZE];
  __shared__ uint64_t barrier;
  const int self = ROW * SIZE + COL;
  if (self == 0) ptx::mbarrier_init(&barrier, SIZE * SIZE);
  sA[self] = 0.0f;
  __syncthreads();
  sA[self] = 1.0f;
  ptx::mbarrier_arrive(&barrier);
  // Parity 1 is that of the phase before the first: over already.
  while (!ptx::mbarrier_test_wait_parity(&barrier, 1)) {
  }
  C[self] = sA[(self + SIZE * SIZE - 1) % (SIZE * SIZE)];  // BUG
}
TEST_P(CpuDevice, WaitForTheWrongParity) {
  const Numbers C(SIZE * SIZE);
  run(no_mbarrier_wait_kernel, C.get());
  expect_found("race: reads what another thread has written since the last barrier");
}

__global__ void mbarrier_misuse_kernel(int arrivals, int count) {
  __shared__ uint64_t barrier;
  if (ROW == 0 && COL == 0 && count > 0) ptx::mbarrier_init(&barrier, count);
  __syncthreads();
  if (COL < static_cast<unsigned>(arrivals)) ptx::mbarrier_arrive(&barrier);
  while (!ptx::mbarrier_test_wait_parity(&barrier, 0)) {
  }
}
TEST_P(CpuDevice, MbarrierMisuse) {
  run(mbarrier_misuse_kernel, 1, 0);
  expect_found("an mbarrier that nobody has initialised yet", "arrive");
  run(mbarrier_misuse_kernel, 2, 3 * SIZE);
  expect_found(
      "deadlock: threads wait here, for a phase of an mbarrier that never completes: phase 0, 64 "
      "of "
      "96 arrivals (the last in line ",
      "parity");
}

__global__ void late_init_kernel() {
  __shared__ uint64_t barrier;
  if (ROW == 0 && COL == 0) ptx::mbarrier_init(&barrier, SIZE * SIZE);
  ptx::mbarrier_arrive(&barrier);  // BUG
}
TEST_P(CpuDevice, MbarrierThatOthersCannotKnow) {
  run(late_init_kernel);
  expect_found("race: uses an mbarrier that another thread has initialised");
}

__global__ void misaligned_copy_kernel(const float* A) {
  __shared__ __align__(16) float sA[SIZE];
  if (ROW == 0 && COL == 0) ptx::cp_async_cg_16(&sA[1], &A[1], 16);  // BUG
  ptx::cp_async_wait_group<0>();
}
TEST_P(CpuDevice, MisalignedCpAsync) {
  const Numbers A(SIZE);
  run(misaligned_copy_kernel, A.get());
  expect_found("cp.async of 16 bytes with an address that is no multiple of that");
}

__global__ void off_by_one_kernel(const float* A, float* C) {
  __shared__ float sA[SIZE][SIZE];
  sA[ROW][COL] = A[ROW * SIZE + COL];
  __syncthreads();
  float acc = 0;
  for (int k = 0; k <= SIZE; ++k) acc += sA[ROW][k];  // BUG
  C[ROW * SIZE + COL] = acc;
}
TEST_P(CpuDevice, OffByOneAtTheEdgeOfATile) {
  const Numbers A(SIZE * SIZE), C(SIZE * SIZE);
  run(off_by_one_kernel, A.get(), C.get());
  expect_found("index 32 is outside its array");
}

__global__ void unguarded_store_kernel(float* C, int N) {
  const int col = COL;
  C[ROW * N + col] = 1.0f;  // BUG
}
TEST_P(CpuDevice, UnguardedStorePastN) {
  constexpr int N = SIZE - 5;
  const Numbers C(SIZE * N);
  run(unguarded_store_kernel, C.get(), N);
  expect_found("writes past the end of global memory: 4 bytes at byte 3456 of 3456");
}

__global__ void transposed_index_kernel(const float* A, float* C, int M, int K) {
  const int row = ROW, k = COL;
  if (row < M && k < K) C[row] += A[k * K + row];  // BUG
}
TEST_P(CpuDevice, TransposedIndex) {
  constexpr int M = 7, K = 31;
  const Numbers A(M * K), C(M);
  run(transposed_index_kernel, A.get(), C.get(), M, K);
  expect_found("reads past the end of global memory: 4 bytes at byte");
}

__global__ void uninitialised_kernel(const float* A, float* C) {
  __shared__ float sA[SIZE][SIZE];
  if (COL != 5) sA[ROW][COL] = A[ROW * SIZE + COL];
  __syncthreads();
  C[ROW * SIZE + COL] = sA[COL][ROW];  // BUG
}
TEST_P(CpuDevice, UninitialisedSharedRead) {
  const Numbers A(SIZE * SIZE), C(SIZE * SIZE);
  run(uninitialised_kernel, A.get(), C.get());
  expect_found("reads shared memory that this block has not written");
}

__global__ void divergent_barrier_kernel() {
  if (COL < 16)
    __syncthreads();  // BUG
  else
    __syncthreads();  // BUG
}
TEST_P(CpuDevice, BarrierUnderADivergentBranch) {
  run(divergent_barrier_kernel);
  expect_found("threads of one block wait at this barrier and at the one in line");
}

__global__ void early_return_kernel() {
  if (COL > 16) return;
  __syncthreads();  // BUG
}
TEST_P(CpuDevice, BarrierThatSomeThreadsNeverReach) {
  run(early_return_kernel);
  expect_found("threads of the block have returned without reaching this barrier");
}

__global__ void deadlock_kernel() {
  if (COL == 0)
    __syncthreads();  // BUG 1
  else
    __syncwarp();  // BUG 2
}
TEST_P(CpuDevice, DeadlockSaysWhoWaitsWhere) {
  run(deadlock_kernel);
  auto findings = cpu_device::take_findings();
  ASSERT_EQ(2u, findings.size());
  for (const cpu_device::Finding& finding : findings) {
    EXPECT_NE(finding.what.find("deadlock: threads wait here"), std::string::npos);
    EXPECT_NE(cpu_device::source_text({finding.place.file, finding.place.line}).find("// BUG"),
              std::string::npos);
  }
}

__global__ void warp_order_kernel(float* C) {
  __shared__ float sA[SIZE][SIZE];
  sA[ROW][COL] = static_cast<float>(COL);
  __syncwarp();
  C[ROW * SIZE + COL] = sA[ROW][SIZE - 1 - COL];
}
TEST_P(CpuDevice, SyncwarpOrdersTheLanesOfOneWarp) {
  const Numbers C(SIZE * SIZE);
  run(warp_order_kernel, C.get());
  EXPECT_TRUE(cpu_device::take_findings().empty());
  EXPECT_EQ(31.0f, C.get()[0]);
}

__global__ void shuffle_kernel(float* C) {
  const int lane = static_cast<int>(COL);
  C[ROW * SIZE + COL] = __shfl_sync(~0u, static_cast<float>(COL), (lane + 1) % 32);
}
TEST_P(CpuDevice, Shuffle) {
  const Numbers C(SIZE * SIZE);
  run(shuffle_kernel, C.get());
  for (int lane = 0; lane < SIZE; ++lane)
    EXPECT_EQ(static_cast<float>((lane + 1) % 32), C.get()[lane]);
}

TEST_P(CpuDevice, ConfigurationsThatNoGpuTakesAreRefused) {
  EXPECT_THROW(launch(divergent_barrier_kernel, dim3(1), dim3(1025), 0, nullptr),
               std::invalid_argument);
  EXPECT_THROW(launch(divergent_barrier_kernel, dim3(1, 65536), dim3(1), 0, nullptr),
               std::invalid_argument);
  EXPECT_THROW(launch(divergent_barrier_kernel, dim3(1), dim3(1), 232449, nullptr),
               std::invalid_argument);
}

__global__ void misaligned_ldmatrix_kernel(float* C) {
  __shared__ __align__(16) uint16_t sA[SIZE * 8 + 8];
  const int lane = threadIdx.x;
  for (int i = lane; i < SIZE * 8 + 8; i += SIZE) sA[i] = 0;
  __syncwarp();
  uint32_t r[4];
  ptx::ldmatrix_x4(r, &sA[lane * 8 + 1]);  // BUG
  C[lane] = static_cast<float>(r[0]);
}
TEST_P(CpuDevice, LdmatrixOffThe16ByteGrid) {
  const Numbers C(SIZE);
  launch(misaligned_ldmatrix_kernel, dim3(1), dim3(SIZE), 0, nullptr, C.get());
  expect_found("ldmatrix with an address that is no multiple of 16");
}

__global__ void half_a_warp_kernel(float* C) {
  if (threadIdx.x >= 16) return;
  const uint32_t a[4] = {};
  float d[4] = {};
  ptx::mma_m16n8k16_f32_f16(d, a, 0, 0);  // BUG
  C[threadIdx.x] = d[0];
}
TEST_P(CpuDevice, MmaByAPartOfAWarp) {
  for (const bool reverse : {false, true}) {  // the lanes that take no part return last, or first
    cpu_device::settings().reverse = reverse;
    const Numbers C(SIZE);
    launch(half_a_warp_kernel, dim3(1), dim3(SIZE), 0, nullptr, C.get());
    expect_found(reverse ? "mma.sync by a part of a warp" : "deadlock: threads wait here");
  }
}

// All read what one has written two barriers ago, many times, and then another thread overwrites it
// and all read again.
__global__ void late_race_kernel(float* C) {
  __shared__ float sA[1];
  if (ROW == 0 && COL == 0) sA[0] = 1.0f;
  __syncthreads();
  float acc = 0;
  for (int i = 0; i < 5; ++i) acc += sA[0];
  __syncthreads();
  for (int i = 0; i < 5; ++i) acc += sA[0];
  __syncthreads();
  if (ROW == 7 && COL == 7) sA[0] = 2.0f;  // BUG, whichever of the two the compiler puts first
  acc += sA[0];                            // BUG
  C[ROW * SIZE + COL] = acc;
}
TEST_P(CpuDevice, RaceOnWhatManyHaveReadBefore) {
  for (const bool reverse : {false, true}) {
    cpu_device::settings().reverse = reverse;
    const Numbers C(SIZE * SIZE);
    run(late_race_kernel, C.get());
    expect_found("race: ");
  }
}

// What one block has written, the next one has not.
__global__ void next_block_kernel(float* C) {
  __shared__ float sA[SIZE];
  if (blockIdx.x == 0) sA[COL] = 1.0f;
  __syncthreads();
  C[COL] = sA[COL];  // BUG
}
TEST_P(CpuDevice, BlocksShareNoSharedMemory) {
  cpu_device::settings().os_threads = 1;
  const Numbers C(SIZE);
  launch(next_block_kernel, dim3(2), dim3(SIZE), 0, nullptr, C.get());
  expect_found("reads shared memory that this block has not written");
}

// Two OS threads have a block each, and the second block is done before the first begins.
__global__ void one_waits_kernel(float* C, volatile int* turns) {
  if (blockIdx.x == 0) {
    if (COL == 0)
      while (*turns < 10000000) *turns = *turns + 1;
    __syncthreads();
    C[SIZE] = 1.0f;  // OF THE FIRST BLOCK
  }
  C[SIZE + 1 + blockIdx.x] = 1.0f;  // OF BOTH
}
TEST_P(CpuDevice, FindingsAreInTheOrderOfBlocks) {
  cpu_device::settings().os_threads = 2;
  const Numbers C(SIZE);
  int turns = 0;
  launch(one_waits_kernel, dim3(2), dim3(SIZE), 0, nullptr, C.get(), &turns);
  const std::vector<cpu_device::Finding> findings = cpu_device::take_findings();
  ASSERT_EQ(2u, findings.size());
  const auto line = [&](int i) { return cpu_device::source_text(source_line(findings[i].place)); };
  EXPECT_NE(std::string::npos, line(0).find("// OF THE FIRST BLOCK")) << line(0);
  EXPECT_NE(std::string::npos, line(1).find("// OF BOTH")) << line(1);
  EXPECT_EQ("4 bytes at byte 132 of 128", findings[1].example);
  EXPECT_EQ(2u * SIZE, findings[1].count);
}

__global__ void int_offset_kernel(const float* A, float* C, int64_t lda) {
  C[COL] = A[static_cast<int>((COL + 1) * lda)];  // BUG
}
TEST_P(CpuDevice, OffsetThatDoesNotFitInto32Bits) {
  constexpr int64_t LDA = int64_t{1} << 26;
  float* A = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&A, (SIZE * LDA + 1) * sizeof(float)));
  const Numbers C(SIZE);
  launch(int_offset_kernel, dim3(1), dim3(SIZE), 0, nullptr, A, C.get(), LDA);
  expect_found("reads before global memory: 4 bytes, 8589934592 bytes before its beginning");
  LADDER_CUDA_CHECK(cudaFree(A));
}

// Lane l copies to element `stride` * l.
__global__ void copy_kernel(const float* A, int stride, int vector) {
  __shared__ __align__(16) float sA[SIZE * SIZE];
  const int lane = static_cast<int>(COL);
  if (vector != 0)
    ptx::cp_async_cg_16(&sA[lane * stride], &A[lane * 4], 16);
  else
    ptx::cp_async_ca_4(&sA[lane * stride], &A[lane], 4);
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<0>();
}
TEST_P(CpuDevice, CopiesAreCountedWithTheirConflicts) {
  const Numbers A(SIZE * 4);
  struct Case {
    int stride, vector;
    uint64_t cost, ideal;
  };
  // Rows of 32 floats: all lanes store to one bank. Of 16 bytes, eight lanes at a time do.
  for (const Case& c : {Case{1, 0, 1, 1}, Case{2, 0, 2, 1}, Case{32, 0, 32, 1}, Case{4, 1, 4, 4},
                        Case{8, 1, 8, 4}, Case{32, 1, 32, 4}}) {
    launch(copy_kernel, dim3(1), dim3(SIZE), 0, nullptr, A.get(), c.stride, c.vector);
    uint64_t found = 0;
    for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines()) {
      if (line.operation != cpu_device::Operation::COPY) continue;
      ++found;
      EXPECT_EQ("sA", line.array);
      EXPECT_EQ(c.vector != 0 ? 16u : 4u, line.bytes);
      EXPECT_EQ(1u, line.requests);
      EXPECT_EQ(c.cost, line.cost) << c.stride << " " << c.vector;
      EXPECT_EQ(c.ideal, line.ideal);
    }
    EXPECT_EQ(GetParam() ? 1u : 0u, found);
  }
}

// Lane 0 makes two turns of the loop, the others one; behind it they are together again. Inside,
// the second turn is lane 0's alone.
__global__ void left_loop_kernel(const float* A, float* C) {
  float sum = 0;
  for (unsigned i = COL; i < SIZE + 1; i += SIZE) sum += A[i];
  C[COL] = sum;
}
TEST_P(CpuDevice, LanesMeetBehindALoop) {
  const Numbers A(SIZE + 1), C(SIZE);
  launch(left_loop_kernel, dim3(1), dim3(SIZE), 0, nullptr, A.get(), C.get());
  for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines())
    EXPECT_EQ(line.operation == cpu_device::Operation::STORE ? 1u : 2u, line.requests);
}

TEST_P(CpuDevice, LinesAreThereWhereTheyAreCounted) {
  const Numbers A(SIZE * SIZE), C(SIZE * SIZE);
  run(right_kernel, A.get(), C.get());
  EXPECT_EQ(GetParam() ? 4u : 0u, cpu_device::take_memory_lines().size());
}

// Shared memory is known as such in any function, and whatever it consists of.
struct Pieces {
  float4 piece[2];
};
[[gnu::noinline]] __device__ float neighbours() {
  __shared__ Pieces s[SIZE];
  s[COL].piece[1] = make_float4(1, 2, 3, 4);
  return s[SIZE - 1 - COL].piece[1].x;  // BUG
}
__global__ void helper_kernel(float* C) {
  C[COL] = neighbours();
}
TEST_P(CpuDevice, SharedMemoryOfAHelper) {
  const Numbers C(SIZE);
  launch(helper_kernel, dim3(1), dim3(SIZE), 0, nullptr, C.get());
  EXPECT_EQ(GetParam() ? 3u : 0u, cpu_device::take_memory_lines().size());
  expect_found("race: reads what another thread has written since the last barrier");
}

INSTANTIATE_TEST_SUITE_P(All, CpuDevice, testing::Bool(),
                         [](const auto& param) { return param.param ? "counted" : "not_counted"; });

// What is passed or returned by value, in a call that is not inlined.
struct Row {
  float v[8];
};
struct Pair {  // passed in a register
  float x, y;
};
struct Rows {
  Row row[3];
  float4 last[2];  // which makes a copy of it a loop
};
template <class T>
[[gnu::noinline]] __device__ T passed(T value) {
  return value;
}
template <class T>
__global__ void by_value_kernel(const T* A, T* C, int ahead) {
  __shared__ T s[SIZE];
  T (*const by_pointer)(T) = passed<T>;
  s[COL] = passed(A[COL + ahead]);  // BUG: ahead
  if (ahead == 0) __syncthreads();
  C[COL] = by_pointer(s[SIZE - 1 - COL]);  // BUG: no barrier
}
template <class T>
class ByValue : public testing::Test {};
using ByValueTypes = testing::Types<Row, Pair, Rows>;
TYPED_TEST_SUITE(ByValue, ByValueTypes);
TYPED_TEST(ByValue, IsSeen) {
  cpu_device::settings() = {};
  cpu_device::take_findings();
  cpu_device::take_memory_lines();
  constexpr int NUMBERS = SIZE * sizeof(TypeParam) / sizeof(float);
  const Numbers A(NUMBERS), C(NUMBERS);
  const auto run = [&](int ahead) {
    launch(by_value_kernel<TypeParam>, dim3(1), dim3(SIZE), 0, nullptr,
           reinterpret_cast<TypeParam*>(A.get()), reinterpret_cast<TypeParam*>(C.get()), ahead);
  };
  run(0);
  EXPECT_TRUE(cpu_device::take_findings().empty());
  std::map<std::string, uint64_t> bytes;
  for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines()) {
    EXPECT_NE(std::string::npos, line.text.find("// BUG")) << line.text;
    bytes[cpu_device::name_of(line.operation)] += line.lanes * line.bytes;
  }
  EXPECT_EQ((std::map<std::string, uint64_t>{{"load", 2 * NUMBERS * sizeof(float)},
                                             {"store", 2 * NUMBERS * sizeof(float)}}),
            bytes);
  run(1);
  std::set<std::string> found;
  for (const cpu_device::Finding& finding : cpu_device::take_findings()) {
    const cpu_device::SourceLine where = cpu_device::source_line(finding.place);
    const std::string text = cpu_device::source_text(where);
    found.insert(finding.what + ", " + text.substr(text.find("// ") + 3));
  }
  cpu_device::take_memory_lines();
  EXPECT_EQ(1u, found.count("reads past the end of global memory, BUG: ahead"));
  EXPECT_EQ(
      1u,
      found.count(
          "race: reads what another thread has written since the last barrier, BUG: no barrier"));
  for (const std::string& text : found) EXPECT_NE(std::string::npos, text.find("BUG")) << text;
}

// Every half and many floats: the conversions against the definition.
TEST(Half, RoundsToNearestEvenAndBack) {
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {  // all finite positive halves
    const half h = __ushort_as_half(static_cast<uint16_t>(bits)),
               next = __ushort_as_half(static_cast<uint16_t>(bits + 1));
    const float value = __half2float(h);
    EXPECT_EQ(bits, __float2half(value).bits);
    EXPECT_EQ(bits | 0x8000u, __float2half(-value).bits);
    if (bits == 0x7BFF) continue;
    const float middle = (value + __half2float(next)) / 2;
    EXPECT_EQ(bits + bits % 2, __float2half(middle).bits);
    EXPECT_EQ(bits, __float2half(std::nextafter(middle, 0.0f)).bits);
    EXPECT_EQ(bits + 1, __float2half(std::nextafter(middle, 1e9f)).bits);
  }
  EXPECT_EQ(0x7C00, __float2half(65520.0f).bits);
  EXPECT_EQ(0x7BFF, __float2half(65519.9f).bits);
  EXPECT_TRUE(std::isnan(__half2float(__float2half(std::nanf("")))));
}

}  // namespace

}  // namespace ladder
