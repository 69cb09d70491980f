#include "cublaslt.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <optional>
#include <type_traits>
#include <vector>

#include "cublas_formats.h"

namespace ladder::harness {
namespace {

// Nothing where this version of cublasLt does not know the attribute.
template <class Value>
std::optional<Value> attribute(const cublasLtMatmulAlgo_t& algorithm,
                               cublasLtMatmulAlgoConfigAttributes_t which) {
  Value value{};
  size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof value, &written);
  return status == CUBLAS_STATUS_SUCCESS ? std::optional(value) : std::nullopt;
}

// The ways to add up the parts of a K that is split. "In place" and "output type" round each part
// to the format of C.
template <class In, class Out>
constexpr uint32_t REDUCTIONS = std::is_same_v<Out, typename Formats<In, Out>::Accumulate>
                                    ? CUBLASLT_REDUCTION_SCHEME_MASK
                                    : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

struct Preference {
  cublasLtMatmulPreference_t handle = nullptr;
  Preference() { cublas_check(cublasLtMatmulPreferenceCreate(&handle)); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(handle); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <class Value>
  void set(cublasLtMatmulPreferenceAttributes_t which, Value value) {
    cublas_check(cublasLtMatmulPreferenceSetAttribute(handle, which, &value, sizeof value));
  }
};

// Nothing where it has none. BIAS is its own number a row of its column-major C: a column of ours.
template <class Out>
std::optional<cublasLtEpilogue_t> epilogue_of(const Epilogue<Out>& e) {
  if (e.row_scale || e.column_scale || e.residual || e.zero_point != 0) return std::nullopt;
  switch (e.activation) {
    case Activation::NONE:
      return e.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::RELU:
      return e.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::GELU:
      return e.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return std::nullopt;
  }
}

}  // namespace

template <class In, class Out>
struct CublasLt<In, Out>::Data {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, addend = nullptr, c = nullptr;
  std::string missing;  // what cublasLt has not
  std::vector<cublasLtMatmulAlgo_t> algorithms;

  void set_bias(const Out* bias) const {
    if (bias != nullptr)
      cublas_check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                  &bias, sizeof bias));
  }
  Data() = default;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() {
    for (cublasLtMatrixLayout_t layout : {a, b, addend, c})
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
    if (handle != nullptr) cublasLtDestroy(handle);
  }
};

// Column-major, as in Cublas::gemm: the operands and M and N change places. B, where it is stored
// transposed, is K x N in column-major, and what cublasLt is to transpose; so is A, as M x K.
template <class In, class Out>
CublasLt<In, Out>::CublasLt(const Gemm<In, Out>& p, Sums sums) : data_(std::make_unique<Data>()) {
  const auto layout = [](cublasLtMatrixLayout_t& to, cudaDataType type, int rows, int columns,
                         int64_t ld) {
    cublas_check(cublasLtMatrixLayoutCreate(&to, type, static_cast<uint64_t>(rows),
                                            static_cast<uint64_t>(columns), ld));
  };
  Data& d = *data_;
  if (p.groups.count != 0) {
    d.missing = "it has no groups here";
    return;
  }
  cublas_check(cublasLtCreate(&d.handle));
  cublas_check(cublasLtMatmulDescCreate(&d.operation, Cuda<In>::COMPUTE, Cuda<ScaleOf<Out>>::TYPE));
  const auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    cublas_check(cublasLtMatmulDescSetAttribute(d.operation, which, &value, sizeof value));
  };
  if (p.transposed_b) set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (p.transposed_a) set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
  if (sizeof(In) == 1 && !std::is_integral_v<In>)
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(sums == Sums::FAST));
  if (sums == Sums::SCALED) {
    if (p.scales.lda != p.M) {
      d.missing = "cublasLt has no leading dimension for scales";
      return;
    }
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
        static_cast<int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
        static_cast<int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F));
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.scales.b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.scales.a);
  }
  layout(d.a, Cuda<In>::TYPE, p.transposed_b ? p.K : p.N, p.transposed_b ? p.N : p.K, p.ldb);
  layout(d.b, Cuda<In>::TYPE, p.transposed_a ? p.M : p.K, p.transposed_a ? p.K : p.M, p.lda);
  layout(d.c, Cuda<Out>::TYPE, p.N, p.M, p.ldc);
  layout(d.addend, Cuda<Out>::TYPE, p.N, p.M, p.epilogue.beta != 0 ? p.epilogue.ld_addend : p.ldc);
  const std::optional<cublasLtEpilogue_t> epilogue = epilogue_of(p.epilogue);
  if (!epilogue) {
    d.missing = "cublasLt has no such epilogue";
    return;
  }
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, *epilogue);
  d.set_bias(p.epilogue.bias);
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, WORKSPACE_BYTES);
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, REDUCTIONS<In, Out>);

  std::vector<cublasLtMatmulHeuristicResult_t> results(ASKED);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(d.handle, d.operation, d.a, d.b, d.addend, d.c,
                                     preference.handle, ASKED, results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    count = 0;  // it has none for this problem
  else
    cublas_check(status);
  results.resize(static_cast<size_t>(count));
  for (const cublasLtMatmulHeuristicResult_t& result : results) {
    if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > WORKSPACE_BYTES) continue;
    const auto reduction = attribute<uint32_t>(result.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    if (reduction && (*reduction & ~REDUCTIONS<In, Out>) == 0) d.algorithms.push_back(result.algo);
  }
}

template <class In, class Out>
CublasLt<In, Out>::~CublasLt() = default;

template <class In, class Out>
int CublasLt<In, Out>::algorithms() const {
  return static_cast<int>(data_->algorithms.size());
}

template <class In, class Out>
std::string CublasLt<In, Out>::missing() const {
  return data_->missing;
}

template <class In, class Out>
std::string CublasLt<In, Out>::describe(int algorithm) const {
  const cublasLtMatmulAlgo_t& a = data_->algorithms[static_cast<size_t>(algorithm)];
  return fmt::format("id {}, tile {}, stages {}, split-K {}, swizzle {}, custom {}, cluster {}",
                     attribute<int32_t>(a, CUBLASLT_ALGO_CONFIG_ID).value_or(0),
                     attribute<uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID).value_or(0),
                     attribute<uint32_t>(a, CUBLASLT_ALGO_CONFIG_STAGES_ID).value_or(0),
                     attribute<int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM).value_or(0),
                     attribute<uint32_t>(a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING).value_or(0),
                     attribute<uint32_t>(a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION).value_or(0),
                     attribute<uint16_t>(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID).value_or(0));
}

template <class In, class Out>
void CublasLt<In, Out>::gemm(int algorithm, const Gemm<In, Out>& p) const {
  const Data& d = *data_;
  const Epilogue<Out>& e = p.epilogue;
  d.set_bias(e.bias);
  const auto alpha = static_cast<ScaleOf<Out>>(e.alpha), beta = static_cast<ScaleOf<Out>>(e.beta);
  cublas_check(cublasLtMatmul(d.handle, d.operation, &alpha, p.B, d.a, p.A, d.b, &beta,
                              e.beta != 0 ? e.addend : p.C, d.addend, p.C, d.c,
                              &d.algorithms[static_cast<size_t>(algorithm)], p.workspace,
                              p.workspace_bytes, p.stream));
}

#define INSTANTIATE(In, Out, Accumulate) template class CublasLt<In, Out>;
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
