#pragma once
// GPUs that are not here, for library/gemm.cpp, which is included behind this: what it asks CUDA is
// answered by functions of its own namespace, which are found before CUDA's, and what it launches
// is written down.
#include <cuda_runtime.h>  // the CPU device's
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "launch.cuh"
#include "library/launch.h"

#define LADDER_HAS_WGMMA    1
#define LADDER_HAS_CLUSTERS 1

namespace ladder {

// GPU 0 is an H200, GPU 1 an A100, and either has a megabyte, which nobody reads.
struct FakeGpus {
  struct Launched {
    std::string by;
    int M, N, K;
    const void *A, *B, *C, *addend, *residual;
    int64_t lda, ldb, ldc;
    bool transposed_a, transposed_b;
    CUstream_st* stream;
    std::string tile;
    bool starts_early = false;
    const void *row_scale = nullptr, *column_scale = nullptr;
    bool fp32_sums = false;
  };

  static constexpr uintptr_t BYTES = 1 << 20;
  // An address of a GPU; its element number `from` is that of the megabyte.
  template <class T>
  static T* memory(int gpu, uintptr_t from) {
    return reinterpret_cast<T*>((uintptr_t{1} << 40) + (gpu + 1) * BYTES + from * sizeof(T));
  }

  int current = 0;
  int looked_up = 0;  // addresses
  std::vector<Launched> launched;
  std::function<void()> fails;  // where it is set, what a launch does

  template <class In, class Out>
  void launch(const std::string& by, const Gemm<In, Out>& p, const std::string& tile = "") {
    if (fails) fails();
    launched.push_back({by, p.M, p.N, p.K, p.A, p.B, p.C, p.epilogue.addend, p.epilogue.residual,
                        p.lda, p.ldb, p.ldc, p.transposed_a, p.transposed_b, p.stream, tile,
                        p.starts_early, p.epilogue.row_scale, p.epilogue.column_scale});
  }
};
inline FakeGpus gpus;

// ---- What the library asks CUDA ----------------------------------------------------------------

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* address) {
  ++gpus.looked_up;
  *found = {cudaMemoryTypeUnregistered, -1};
  for (const int gpu : {0, 1})
    if (static_cast<uintptr_t>(reinterpret_cast<uintptr_t>(address) -
                               reinterpret_cast<uintptr_t>(FakeGpus::memory<char>(gpu, 0))) <
        FakeGpus::BYTES)
      *found = {cudaMemoryTypeDevice, gpu};
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = gpus.current;
  return cudaSuccess;
}
struct cudaDeviceProp {
  const char* name;
  int major, minor, multiProcessorCount;
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = device == 0 ? cudaDeviceProp{"NVIDIA H200", 9, 0, 132}
                            : cudaDeviceProp{"NVIDIA A100", 8, 0, 108};
  return cudaSuccess;
}
// A template, which is preferred to CUDA's, for the stream's type finds that one, too.
template <class T>
cudaError_t cudaMemset2DAsync(T* to, size_t, int, size_t, size_t rows, cudaStream_t stream) {
  gpus.launched.push_back({"zeros", static_cast<int>(rows), 0, 0, nullptr, nullptr, to, nullptr,
                           nullptr, 0, 0, 0, false, false, stream, ""});
  return cudaSuccess;
}

// ---- What it launches --------------------------------------------------------------------------

namespace library {

inline bool has_kernels() {
  return true;
}
inline bool has_kernels_of_clusters() {
  return gpus.current == 0;
}
inline bool has_kernels_of_wgmma() {
  return gpus.current == 0;
}

template <class T>
void launch_product(const tuned::Candidate& c, const Gemm<T, T>& p) {
  gpus.launch("product", p, tuned::name(c));
}
template <class T>
void launch_fused(const tuned::Candidate& c, const Gemm<T, T>& p) {
  gpus.launch("fused", p, tuned::name(c));
}
template <class T>
void launch_a_by_columns(const tuned::Candidate& c, const Gemm<T, T>& p) {
  gpus.launch("a_by_columns", p, tuned::name(c));
}
template <class T>
void launch_b_by_columns(const tuned::Candidate& c, const Gemm<T, T>& p) {
  gpus.launch("b_by_columns", p, tuned::name(c));
}
template <class T>
void launch_b_by_columns_fused(const tuned::Candidate& c, const Gemm<T, T>& p) {
  gpus.launch("b_by_columns_fused", p, tuned::name(c));
}
template <class T>
void launch_linear(const tuned::Candidate& c, const Gemm<T, T>& p) {
  gpus.launch("linear", p, tuned::name(c));
}
template <class In, class Out>
void launch_along_k(const Gemm<In, Out>& p, bool fp32_sums) {
  gpus.launch("along_k", p);
  gpus.launched.back().fp32_sums = fp32_sums;
}
template <class In, class Out>
std::string stage_along_k(const Gemm<In, Out>&, bool fp32_sums) {
  return fp32_sums ? "17b, 128x128" : "17 fp8, 128x128";
}
inline uint64_t tf32_bytes(const Gemm<tf32, float>& p) {
  return p.transposed_b ? 0 : 4096;
}
inline void launch_groups(Gemm<half, half> p, int count) {
  gpus.launch("groups of " + std::to_string(count), p);
}
template <class T>
void launch_batch(const Gemm<T, T>& of_all, const Matrices<T, T>* matrices, int count) {
  for (int i = 0; i < count; ++i) {
    Gemm<T, T> p = of_all;
    p.A = matrices[i].A, p.B = matrices[i].B, p.C = matrices[i].C;
    gpus.launch("batch of " + std::to_string(count), p);
  }
}
template <class T>
void launch_epilogue(const Gemm<T, T>& p) {
  gpus.launch("epilogue", p);
}
template <class T>
void launch_transpose(int rows, int columns, const T* from, int64_t, T* to, CUstream_st* stream) {
  gpus.launched.push_back({"transpose", rows, columns, 0, from, nullptr, to, nullptr, nullptr, 0, 0,
                           0, false, false, stream, ""});
}
template <class T>
void launch_copies(const AllRowsToCopy<T>& copies, CUstream_st* stream) {
  for (int i = 0; i < copies.count; ++i)
    gpus.launched.push_back({"copy", static_cast<int>(copies.all[i].rows),
                             static_cast<int>(copies.all[i].columns), 0, copies.all[i].from,
                             nullptr, copies.all[i].to, nullptr, nullptr, 0, 0, 0, false, false,
                             stream, ""});
}
template <class T>
void launch_swizzle(const Gemm<T, T>& p) {
  gpus.launch("swizzle", p);
}
inline void launch_split_k(const Gemm<float, float>& p) {
  gpus.launch("split_k", p);
}
inline uint64_t split_k_bytes(const Gemm<float, float>&) {
  return 1024;
}
inline void launch_few_rows(const Gemm<float, float>& p) {
  gpus.launch("few_rows", p);
}
inline uint64_t few_rows_bytes(const Gemm<float, float>&) {
  return 0;
}
inline std::string few_rows_in_words(const Gemm<float, float>&) {
  return "05e few_rows";
}

}  // namespace library
}  // namespace ladder
