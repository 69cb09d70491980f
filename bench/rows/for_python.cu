// 23's operations on rows of bf16 as a function of C, in build/rows_for_python.so: for ./ladder
// triton-rows, which times them in one process with Triton's.
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "23_rows.cuh"

// 0, or 1 after a line on standard error. What the operation does not need may be null.
extern "C" int ladder_rows(const char* operation, int rows, int width, const void* X,
                           const void* gain, const void* bias, void* Y, void* stream) {
  using ladder::bf16;
  using ladder::RowOperation;
  const std::map<std::string, RowOperation> operations{
      {"softmax", RowOperation::SOFTMAX},
      {"layer_norm", RowOperation::LAYER_NORM},
      {"layer_norm_gelu", RowOperation::LAYER_NORM_GELU}};
  try {
    ladder::Rows<bf16> p{operations.at(operation), rows, width, static_cast<const bf16*>(X),
                         static_cast<bf16*>(Y)};
    p.gain = static_cast<const bf16*>(gain), p.bias = static_cast<const bf16*>(bias);
    p.stream = static_cast<cudaStream_t>(stream);
    ladder::rows::rows(p);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ladder_rows: %s\n", error.what());
    return 1;
  }
}
