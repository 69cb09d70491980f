// What ends a kernel on a GPU, or never lets it end: planted in small kernels. The CPU device must
// name the line that carries the marker "// BUG", keep what it has found before, and go on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu_device/symbols.h"
#include "launch.cuh"
#include "ptx/cp_async.cuh"

namespace ladder {
namespace {

constexpr int SIZE = 32;

using Findings = std::vector<cpu_device::Finding>;

std::string line_of(const cpu_device::Finding& finding) {
  return cpu_device::source_text(cpu_device::source_line(finding.place));
}

// The one at the line with `marker` whose text contains `what`; a failure where there is none.
cpu_device::Finding expect_found(const Findings& findings, const std::string& what,
                                 const std::string& marker = "// BUG") {
  std::string others;
  for (const cpu_device::Finding& finding : findings) {
    if (finding.text().find(what) != std::string::npos &&
        line_of(finding).find(marker) != std::string::npos)
      return finding;
    others += "\n  " + finding.text() + " at " + line_of(finding);
  }
  ADD_FAILURE() << "not found: " << what << " at a line with " << marker << "; instead:" << others;
  return {};
}

__global__ void right_kernel(float* C) {
  C[blockIdx.x * SIZE + threadIdx.x] = 1.0f;
}

// With accesses looked at, and without: faults are found by themselves.
class Faults : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    cpu_device::settings() = {};
    cpu_device::settings().trace = GetParam();
    cpu_device::settings().block_seconds = 1;
    cpu_device::take_findings();
    LADDER_CUDA_CHECK(cudaMalloc(&data_, BYTES));
    cpu_device::name_array(data_, "A", BYTES);
    for (size_t i = 0; i < BYTES / sizeof(float); ++i) data_[i] = 0;
  }
  // After each fault the device still works, on all OS threads.
  void TearDown() override {
    launch(right_kernel, dim3(SIZE), dim3(SIZE), 0, nullptr, data_);
    for (int i = 0; i < SIZE * SIZE; ++i) EXPECT_EQ(1.0f, data_[i]);
    EXPECT_TRUE(cpu_device::take_findings().empty());
    cudaFree(data_);
    cpu_device::settings() = {};
    cpu_device::take_memory_lines();
  }

  template <class... Params>
  static Findings run(void (*kernel)(Params...), std::common_type_t<Params>... args) {
    launch(kernel, dim3(4), dim3(SIZE), 0, nullptr, args...);
    return cpu_device::take_findings();
  }

  static constexpr size_t BYTES = SIZE * SIZE * sizeof(float);
  float* data_ = nullptr;
};

__global__ void load_kernel(float* C, const float* A, int64_t offset) {
  C[threadIdx.x] = A[offset + threadIdx.x];  // BUG
}
__global__ void store_kernel(float* C, int64_t offset) {
  C[offset + threadIdx.x] = 1.0f;  // BUG
}
TEST_P(Faults, FarOutside) {
  constexpr int64_t FAR = -(int64_t{1} << 36);
  expect_found(run(load_kernel, data_, data_, FAR), "reads from memory that belongs to nobody");
  expect_found(run(store_kernel, data_, FAR), "writes to memory that belongs to nobody");
  expect_found(run(store_kernel, data_, FAR), "274877906944 bytes before A");
  expect_found(run(store_kernel, data_, int64_t{1} << 60), "an address that no memory has");
}
TEST_P(Faults, NullPointer) {
  expect_found(run(load_kernel, data_, nullptr, 5), "reads from a null pointer");
  const auto finding =
      expect_found(run(store_kernel, nullptr, 5), "writes to a null pointer: thread (");
  EXPECT_NE(finding.example.find(", at byte "), std::string::npos) << finding.example;
}
TEST_P(Faults, FreedMemory) {
  float* gone = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&gone, BYTES));
  cudaFree(gone);
  expect_found(run(load_kernel, data_, gone, 0), "reads from memory that belongs to nobody");
}

__global__ void found_before_kernel(float* C) {
  __shared__ float sA[SIZE];
  sA[threadIdx.x] = 1.0f;
  C[threadIdx.x] = sA[SIZE - 1 - threadIdx.x];  // BUG
  __syncthreads();
  *reinterpret_cast<volatile float*>(threadIdx.x * 4096L) = 0;
}
TEST_P(Faults, WhatWasFoundBeforeIsKept) {
  if (!GetParam()) return;
  expect_found(run(found_before_kernel, data_), "race: reads what another thread has written");
}

// A call is named by its first line.
__global__ void long_call_kernel(const float* A) {
  __shared__ __align__(16) float sA[SIZE];
  ptx::cp_async_cg_16(  // BUG
      &sA[0],           //
      &A[1],            //
      16);
  ptx::cp_async_wait_group<0>();
}
TEST_P(Faults, ACallOverSeveralLines) {
  expect_found(run(long_call_kernel, data_), "cp.async of 16 bytes with an address");
}

// In a function of the C library that the device calls for the kernel.
__global__ void copy_kernel(const float* A, int64_t offset) {
  __shared__ __align__(16) float sA[SIZE * 4];
  ptx::cp_async_cg_16(&sA[threadIdx.x * 4], &A[offset + threadIdx.x * 4], 16);
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<0>();  // BUG
}
TEST_P(Faults, InALibrary) {
  expect_found(run(copy_kernel, data_, -(int64_t{1} << 36)),
               "reads from memory that belongs to nobody");
}

__global__ void divide_kernel(float* C, int divisor) {
  C[threadIdx.x] = static_cast<float>(static_cast<int>(threadIdx.x) / divisor);  // BUG
}
TEST_P(Faults, DivisionByZero) {
  expect_found(run(divide_kernel, data_, 0), "divides an integer by zero");
}

__global__ void trap_kernel(const float* A) {
  if (A[threadIdx.x] == 0) __builtin_trap();  // BUG
}
TEST_P(Faults, Trap) {
  expect_found(run(trap_kernel, data_), "reaches what the compiler takes for impossible");
}

__global__ void abort_kernel(const float* A) {
  if (A[threadIdx.x] == 0) std::abort();  // BUG
}
TEST_P(Faults, Abort) {
  expect_found(run(abort_kernel, data_), "aborts, as a failed assert does");
}

// The thread's stack is used up, and those of its neighbours.
__attribute__((noinline)) float recursive(volatile float* C, float x) {  // BUG
  volatile float local[64];
  local[0] = x;
  if (C[0] == 1234.0f) return x;                    // BUG
  return recursive(C, local[0] + C[0]) + local[0];  // BUG
}
__global__ void recursive_kernel(float* C) {
  C[threadIdx.x] = recursive(C, 1.0f);
}
TEST_P(Faults, EndlessRecursion) {
  expect_found(run(recursive_kernel, data_), "has used up the stack of its thread");
}

// The stack ends where the C library holds a lock, which reporting it takes, too.
__attribute__((noinline)) float recursive_in_malloc(volatile float* C) {  // BUG
  void* const some = std::malloc(100000);                                 // BUG
  const float next = C[0] == 1234.0f ? 0 : recursive_in_malloc(C);        // BUG
  std::free(some);
  return next + C[0];
}
__global__ void recursive_in_malloc_kernel(float* C) {
  C[threadIdx.x] = recursive_in_malloc(C);
}
TEST_P(Faults, EndlessRecursionInTheCLibrary) {
  expect_found(run(recursive_in_malloc_kernel, data_), "has used up the stack of its thread");
}

template <class T>
__global__ void global_vector_kernel(float* C, const float* A, int offset) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(A) + offset;
  reinterpret_cast<T*>(C)[threadIdx.x] = reinterpret_cast<const T*>(bytes)[threadIdx.x];  // BUG
}
template <class T>
__global__ void shared_vector_kernel(float* A, int offset) {
  __shared__ __align__(16) unsigned char sA[SIZE * 16 + 16];
  reinterpret_cast<T*>(sA + offset)[threadIdx.x] =  // BUG
      reinterpret_cast<const T*>(A)[threadIdx.x];   // the load is right
  reinterpret_cast<unsigned char*>(A)[threadIdx.x] = sA[offset + threadIdx.x * sizeof(T)];
}
TEST_P(Faults, MisalignedVectors) {
  const auto expect_misaligned = [](const Findings& findings, int bytes, int off) {
    const auto finding = expect_found(findings, "an access of " + std::to_string(bytes) +
                                                    " bytes whose address is no multiple of that");
    EXPECT_EQ(0u, finding.example.find(std::to_string(off) + " bytes past a multiple, by thread ("))
        << finding.example;
    EXPECT_EQ(1u, findings.size());
  };
  for (const int offset : {4, 8, 12}) {
    expect_misaligned(run(global_vector_kernel<float4>, data_, data_, offset), 16, offset);
    expect_misaligned(run(shared_vector_kernel<uint4>, data_, offset), 16, offset);
  }
  expect_misaligned(run(global_vector_kernel<uint64_t>, data_, data_, 4), 8, 4);
  expect_misaligned(run(global_vector_kernel<float>, data_, data_, 2), 4, 2);
  expect_misaligned(run(global_vector_kernel<half2>, data_, data_, 2), 4, 2);
  expect_misaligned(run(shared_vector_kernel<half2>, data_, 2), 4, 2);
  expect_misaligned(run(shared_vector_kernel<half>, data_, 1), 2, 1);
  EXPECT_TRUE(run(shared_vector_kernel<half2>, data_, 4).empty());
  EXPECT_TRUE(run(global_vector_kernel<half>, data_, data_, 2).empty());
}

// Three floats are three accesses: their address need not be a multiple of anything but 4.
struct Three {
  float x, y, z;
};
__global__ void struct_kernel(Three* to, const Three* from) {
  to[threadIdx.x] = from[threadIdx.x];  // BUG
}
TEST_P(Faults, StructsAreAlignedAsTheirMembersAre) {
  auto* from = reinterpret_cast<Three*>(data_ + 1);
  auto* to = reinterpret_cast<Three*>(data_ + 1 + 3 * SIZE);
  EXPECT_TRUE(run(struct_kernel, to, from).empty());
}

// A loop that does nothing else, one that reads and one that meets at a barrier: k does not grow.
__global__ void spin_kernel(volatile int* flag) {
  while (*flag == 0) {  // BUG
  }
}
__global__ void barrier_loop_kernel(float* C, int step) {
  __shared__ float sA[SIZE];
  float acc = 0;
  for (int k = 0; k < SIZE; k += step) {  // BUG
    sA[threadIdx.x] = C[threadIdx.x];     // BUG
    __syncthreads();                      // BUG
    acc += sA[k];                         // BUG
    __syncthreads();                      // BUG
  }
  C[threadIdx.x] = acc;
}
__global__ void one_spins_kernel(volatile int* flag) {
  if (threadIdx.x == 5)
    while (*flag == 0) {  // BUG
    }
  __syncthreads();  // BARRIER
}
// Each turn finds something, that is: takes the lock of the findings.
__global__ void finding_loop_kernel(float* C, int step) {
  for (int i = 0; i < 1; i += step) C[SIZE * SIZE + threadIdx.x] = 1.0f;  // BUG
}
TEST_P(Faults, EndlessLoops) {
  cpu_device::settings().os_threads = 2;
  cpu_device::settings().block_seconds = 0.2;
  constexpr const char* WHAT = "an endless loop";
  expect_found(run(spin_kernel, reinterpret_cast<int*>(data_)), WHAT);
  expect_found(run(barrier_loop_kernel, data_, 0), WHAT);
  const Findings findings = run(one_spins_kernel, reinterpret_cast<int*>(data_));
  const auto who = expect_found(findings, WHAT);
  EXPECT_EQ(0u, who.example.find("thread (5, 0, 0) of block (")) << who.example;
  expect_found(findings, "threads wait here for one that is given up, at a block barrier",
               "// BARRIER");
  expect_found(run(finding_loop_kernel, data_, 0), WHAT);
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::Bool(),
                         [](const auto& param) { return param.param ? "traced" : "not_traced"; });

// Dynamic shared memory is as large as the launch says.
template <class T>
__global__ void dynamic_kernel(int last) {
  auto* s = &dynamic_shared<T>();
  if (threadIdx.x == 0) s[last] = T();  // BUG
}
TEST(Launch, HasTheDynamicSharedMemoryThatItHasAskedFor) {
  cpu_device::settings() = {};
  cpu_device::take_findings();
  launch(dynamic_kernel<float>, dim3(1), dim3(SIZE), 4000, nullptr, 999);
  EXPECT_TRUE(cpu_device::take_findings().empty());
  launch(dynamic_kernel<float>, dim3(1), dim3(SIZE), 4000, nullptr, 1000);
  expect_found(cpu_device::take_findings(),
               "beyond the 4000 bytes of dynamic shared memory of this launch: "
               "4 bytes at byte 4000");
  launch(dynamic_kernel<uint4>, dim3(1), dim3(SIZE), 4008, nullptr, 250);  // across the end
  expect_found(cpu_device::take_findings(), "beyond the 4008 bytes");
  cpu_device::take_memory_lines();
}

// Around a matrix: the band before and after it, and what lies between its rows.
__global__ void stray_kernel(float* C, int offset) {
  if (threadIdx.x == 0) C[offset] = 1.0f;  // BUG
}
__global__ void stray_load_kernel(float* C, int offset) {
  if (threadIdx.x == 0) C[0] = C[offset];  // BUG
}
TEST(Matrix, StoresNextToItAreFound) {
  cpu_device::settings() = {};
  cpu_device::take_findings();
  constexpr int BAND = 64, ROWS = 5, COLUMNS = 7, LD = 8;
  float* memory = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&memory, (2 * BAND + ROWS * LD) * sizeof(float)));
  float* C = memory + BAND;
  for (int i = 0; i < ROWS * LD; ++i) C[i] = 0;
  cpu_device::name_matrix(C, "C", ROWS, LD * sizeof(float), COLUMNS * sizeof(float), sizeof(float));
  const auto store = [&](int offset) {
    launch(stray_kernel, dim3(1), dim3(SIZE), 0, nullptr, C, offset);
    return cpu_device::take_findings();
  };
  EXPECT_TRUE(store(0).empty());
  EXPECT_TRUE(store(4 * LD + 6).empty());
  expect_found(store(-1), "writes before C: 4 bytes, 4 bytes before its beginning");
  expect_found(store(2 * LD + 7),
               "writes past the end of a row of C: 4 bytes at row 2, column 7; C is 5 x 7");
  expect_found(store(5 * LD + 2),
               "writes past the end of C: 4 bytes at row 5, column 2; C is 5 x 7");
  // Vectors may read to the end of the last row's memory.
  launch(stray_load_kernel, dim3(1), dim3(SIZE), 0, nullptr, C, 4 * LD + 7);
  EXPECT_TRUE(cpu_device::take_findings().empty());
  launch(stray_load_kernel, dim3(1), dim3(SIZE), 0, nullptr, C, 5 * LD);
  expect_found(cpu_device::take_findings(), "reads past the end of C");
  cudaFree(memory);
  cpu_device::take_memory_lines();
}

// A kernel without its row check: a million stores outside, and one finding.
__global__ void no_row_check_kernel(float* C, int turns) {
  for (int i = 0; i < turns; ++i) C[(i * SIZE) + threadIdx.x] = 1.0f;  // BUG
}
TEST(Findings, MergeByLineAndCause) {
  cpu_device::settings() = {};
  cpu_device::take_findings();
  float* C = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&C, SIZE * sizeof(float)));
  launch(no_row_check_kernel, dim3(32), dim3(SIZE), 0, nullptr, C, 1001);
  const Findings findings = cpu_device::take_findings();
  ASSERT_EQ(1u, findings.size());
  EXPECT_EQ(32u * SIZE * 1000, findings.front().count);
  expect_found(findings, "writes past the end of global memory: 4 bytes at byte ");
  cudaFree(C);
  cpu_device::take_memory_lines();
}

}  // namespace
}  // namespace ladder
