#pragma once
// Everybody who multiplies matrices here, each as a function on the same problem.
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cutlass.h"
#include "harness/cublas.h"
#include "harness/cublaslt.h"
#include "stages.h"

namespace ladder::peers {

template <class In, class Out>
struct Competitor {
  std::string family;  // "cuBLAS", "cublasLt", "CUTLASS", or a stage
  harness::Variant<In, Out> variant;
  bool stays = false;  // to the end, however slow: what its user gets
  std::string note{};  // what is remarkable about its result
  double ms = 0;       // of the last launches
};

template <class In, class Out>
std::vector<Competitor<In, Out>> competitors(const Gemm<In, Out>& problem,
                                             const std::vector<StageKernels<In, Out>>& stages,
                                             const std::shared_ptr<harness::Cublas>& cublas) {
  using Problem = Gemm<In, Out>;
  std::vector<Competitor<In, Out>> result;
  result.push_back({"cuBLAS", {"own choice", [=](const Problem& p) { cublas->gemm(p); }}, true});
  for (const auto& stage : stages) {
    result.push_back({stage.stage, stage.variants.back(), true});
    for (const auto& configuration : stage.configurations)
      result.push_back({stage.stage, configuration});
  }
  const auto lt = std::make_shared<const harness::CublasLt<In, Out>>(problem);
  for (int i = 0; i < lt->algorithms(); ++i)
    result.push_back(
        {"cublasLt",
         {"#" + std::to_string(i) + " (" + lt->describe(i) + ")",
          [=](const Problem& p) { lt->gemm(i, p); },
          [](const Problem&) { return harness::CublasLt<In, Out>::WORKSPACE_BYTES; }}});
  if constexpr (std::is_same_v<In, half>) {
    const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
    for (const CutlassKernel& kernel : cutlass_kernels())
      for (const CutlassChoice& choice :
           cutlass_choices(kernel, problem.M, problem.N, problem.K, multiprocessors))
        result.push_back(
            {"CUTLASS",
             {kernel.name + describe(choice), [=](const Problem& p) { kernel.launch(p, choice); },
              [=](const Problem& p) { return kernel.workspace_bytes(p, choice); }}});
  }
  return result;
}

}  // namespace ladder::peers
