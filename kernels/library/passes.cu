// What is done before and after a product, for any GPU from compute capability 8.0 on.
#include "../parts/epilogue_pass.cuh"
#include "../transposed_first.cuh"
#include "copies.cuh"
#include "launch.h"

namespace ladder::library {

template <class T>
void launch_epilogue(const Gemm<T, T>& p) {
  epilogue_pass::launch_epilogue<T>(p, nullptr);
}
template void launch_epilogue(const Gemm<half, half>&);
template void launch_epilogue(const Gemm<bf16, bf16>&);

template <class T>
void launch_transpose(int rows, int columns, const T* from, int64_t ld_from, T* to,
                      cudaStream_t stream) {
  layouts::ByRows<T>{rows, columns}.from_columns(from, ld_from, to, stream);
}
template void launch_transpose(int, int, const half*, int64_t, half*, cudaStream_t);
template void launch_transpose(int, int, const bf16*, int64_t, bf16*, cudaStream_t);
template void launch_transpose(int, int, const float*, int64_t, float*, cudaStream_t);

template <class T>
void launch_copies(const AllRowsToCopy<T>& copies, cudaStream_t stream) {
  copy_rows(copies, stream);
}
template void launch_copies(const AllRowsToCopy<half>&, cudaStream_t);
template void launch_copies(const AllRowsToCopy<bf16>&, cudaStream_t);
template void launch_copies(const AllRowsToCopy<float>&, cudaStream_t);

}  // namespace ladder::library
