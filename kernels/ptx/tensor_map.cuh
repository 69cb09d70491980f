#pragma once
// What TMA has to know of a matrix in global memory. CUDA driver API, "Tensor Map Object
// Management".
#include <cuda.h>
#include <cudaTypedefs.h>

#include "../launch.cuh"
#include "../types.cuh"

#ifndef __CUDACC_RTC__
namespace ladder::ptx {

// What TMA calls a format. Of 8 bits it knows bytes alone, which is enough for copies.
template <class T>
constexpr CUtensorMapDataType TENSOR_MAP_TYPE = CU_TENSOR_MAP_DATA_TYPE_UINT8;
template <>
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE<half> = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
template <>
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE<float> = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
template <>  // rounds each float on its way to shared memory
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE<tf32> = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
template <>
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE<bf16> = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
template <>
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE<int32_t> = CU_TENSOR_MAP_DATA_TYPE_INT32;

// A row-major matrix for copies of boxes of `box_rows` x `box_cols`; `ld` in elements. Or several,
// `matrices` of them, each rows * ld elements behind the one before: a box is in one of them, and
// their number is its third coordinate. Throws CudaError when the driver has no TMA or refuses.
template <class T>
CUtensorMap encoded_tensor_map(const T* matrix, int rows, int cols, int64_t ld, int box_rows,
                               int box_cols, CUtensorMapSwizzle swizzle, int matrices = 0) {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    // Not linked: libcuda is only there where there is a GPU.
    LADDER_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                       cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess)
      throw CudaError("this driver has no cuTensorMapEncodeTiled; TMA needs CUDA 12");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  const cuuint64_t row_bytes = static_cast<cuuint64_t>(ld) * sizeof(T);
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows),
                              static_cast<cuuint64_t>(matrices)};
  const cuuint64_t strides[] = {row_bytes, static_cast<cuuint64_t>(rows) * row_bytes};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_cols), static_cast<cuuint32_t>(box_rows),
                            1};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status =
      encode(&map, TENSOR_MAP_TYPE<T>, matrices > 0 ? 3 : 2, const_cast<T*>(matrix), sizes, strides,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw CudaError("cuTensorMapEncodeTiled refuses " + std::to_string(rows) + " x " +
                    std::to_string(cols) + " with a leading dimension of " + std::to_string(ld) +
                    ": error " + std::to_string(status));
  return map;
}

// With boxes of 128 bytes, 64 halves, along a row. In shared memory a box is box_rows rows of 128
// bytes in which TMA swizzles the 16-byte chunks as 07b does (chunk XOR row % 8); it has to start
// at a multiple of 1024 bytes. What a box has outside the matrix is read as zero and, where rows
// are multiples of 16 bytes long, not written; else a store goes past the end of a row.
template <class T>
CUtensorMap tensor_map(const T* matrix, int rows, int cols, int64_t ld, int box_rows) {
  return encoded_tensor_map(matrix, rows, cols, ld, box_rows, 128 / static_cast<int>(sizeof(T)),
                            CU_TENSOR_MAP_SWIZZLE_128B);
}

// The same of `matrices` behind each other.
template <class T>
CUtensorMap tensor_map_of_several(const T* matrix, int matrices, int rows, int cols, int64_t ld,
                                  int box_rows) {
  return encoded_tensor_map(matrix, rows, cols, ld, box_rows, 128 / static_cast<int>(sizeof(T)),
                            CU_TENSOR_MAP_SWIZZLE_128B, matrices);
}

// With boxes that lie in shared memory as they are, from a multiple of 128 bytes on.
template <class T>
CUtensorMap tensor_map_not_swizzled(const T* matrix, int rows, int cols, int64_t ld, int box_rows,
                                    int box_cols) {
  return encoded_tensor_map(matrix, rows, cols, ld, box_rows, box_cols, CU_TENSOR_MAP_SWIZZLE_NONE);
}

}  // namespace ladder::ptx
#endif  // __CUDACC_RTC__
