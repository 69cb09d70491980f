#pragma once
// The fastest of cublasLt's algorithms: cuBLAS's own choice is not always it.
#include <optional>

#include "buffers.h"
#include "cublaslt.h"
#include "report.h"

namespace ladder::harness {

template <class In, class Out>
struct Best {
  BestOfCublasLt facts;
  std::optional<Variant<In, Out>> variant;  // nothing where no algorithm is right
};

// What BufferSets has to have a workspace for.
template <class In, class Out>
Variant<In, Out> any_of_cublaslt() {
  return {"cublasLt", nullptr, [](const auto&) { return CublasLt<In, Out>::WORKSPACE_BYTES; }};
}

// Times every algorithm with a few launches, the fastest of them with more, checks the results of
// these, unless `reference` is null, and times the fastest right ones beside each other.
template <class In, class Out>
Best<In, Out> find_best(BufferSets<In, Out>& sets, const Output<Out>* reference, const Bound& bound,
                        cudaStream_t stream, Sums sums = Sums::FP32);

}  // namespace ladder::harness
