// build/peers, build/groups and build/feed_forward on the CPU device: their own mains and kernels,
// stages that run there, and in the place of the libraries loops and planted mistakes. Their times
// mean nothing.
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "cpu_device/block.h"
#include "harness/cublas.h"
#include "harness/cublaslt.h"
#include "harness/device.h"
#include "harness/epilogue.h"
#include "harness/number.h"
#include "peers/cublas_groups.h"
#include "peers/cutlass.h"

// Nobody looks at accesses here. And where a kernel's translation unit has brought a template of
// the standard library, the tracer would be told of its own accesses.
static const bool NOT_TRACED = cpu_device::settings().trace = false;

namespace ladder {

template <class In, class Out>
void multiply(const Gemm<In, Out>& p) {
  using harness::Number;
  for (int i = 0; i < p.M; ++i)
    for (int j = 0; j < p.N; ++j) {
      float sum = 0;
      for (int k = 0; k < p.K; ++k)
        sum += Number<In>::to_float(p.A[i * p.lda + k]) * Number<In>::to_float(p.B[k * p.ldb + j]);
      const Epilogue<Out>& e = p.epilogue;  // as far as somebody here has one
      const float bias = e.bias == nullptr ? 0 : Number<Out>::to_float(e.bias[j]);
      p.C[i * p.ldc + j] = Number<Out>::from_float(
          static_cast<float>(harness::activate(e.activation, e.alpha * sum + bias)));
    }
}

namespace harness {

Device select_device(int, int, bool) {
  Device device;
  device.name = "no GPU";
  device.l2_bytes = 4096;
  return device;
}

Cublas::Cublas() = default;
Cublas::~Cublas() = default;
std::string Cublas::version() const {
  return "none";
}
// To C alone: nobody here asks for another matrix.
template <class In, class Out, class To>
void Cublas::product(const Gemm<In, Out>& p, To* /*to*/, int64_t /*ld*/) {
  multiply(p);
}

// Two algorithms, of which the second is refused at its launch.
template <class In, class Out>
struct CublasLt<In, Out>::Data {};
template <class In, class Out>
CublasLt<In, Out>::CublasLt(const Gemm<In, Out>&, Sums) {}
template <class In, class Out>
CublasLt<In, Out>::~CublasLt() = default;
template <class In, class Out>
int CublasLt<In, Out>::algorithms() const {
  return 2;
}
template <class In, class Out>
std::string CublasLt<In, Out>::describe(int) const {
  return "loops";
}
template <class In, class Out>
void CublasLt<In, Out>::gemm(int algorithm, const Gemm<In, Out>& p) const {
  if (algorithm == 1) throw CudaError("not this one");
  multiply(p);
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template void Cublas::product<In, Out, Out>(const Gemm<In, Out>&, Out*, int64_t); \
  template class CublasLt<In, Out>;
LADDER_CUBLAS_FORMATS(INSTANTIATE)

}  // namespace harness

namespace peers {

struct CublasGroups::Data {
  Gemm<half, half> problem;
};
CublasGroups::CublasGroups(const Gemm<half, half>& p) : data_(new Data{p}) {}
CublasGroups::~CublasGroups() = default;
void CublasGroups::gemm(cudaStream_t) const {
  for (int g = 0; g < data_->problem.groups.count; ++g)
    multiply(product_of_group(data_->problem, g));
}

std::vector<CutlassKernel> cutlass_kernels() {
  using Problem = Gemm<half, half>;
  const auto kernel = [](const char* name, void (*launch)(const Problem&, const CutlassChoice&),
                         uint64_t (*workspace)(const Problem&, const CutlassChoice&)) {
    CutlassKernel k;
    k.name = name;
    k.rows = k.columns = 128;
    k.stream_k = k.for_unaligned_rows = false;
    k.workspace_bytes = workspace;
    k.launch = launch;
    return k;
  };
  const auto right = [](const Problem& p, const CutlassChoice&) {
    if (p.workspace != nullptr) std::memset(p.workspace, 1, p.workspace_bytes);
    multiply(p);
  };
  const auto one_off = [](const Problem& p, const CutlassChoice&) {
    multiply(p);
    p.C[0] = __float2half(__half2float(p.C[0]) + 100);
  };
  const auto beside = [](const Problem& p, const CutlassChoice&) {
    multiply(p);
    p.C[p.M * p.ldc] = p.C[0];
  };
  // Ends the process, where M is 13.
  const auto ends = [](const Problem& p, const CutlassChoice&) {
    if (p.M == 13) std::raise(SIGKILL);
    multiply(p);
  };
  const auto none = [](const Problem&, const CutlassChoice&) { return uint64_t{0}; };
  const auto some = [](const Problem&, const CutlassChoice&) { return uint64_t{4096}; };
  const auto all = [](const Problem&, const CutlassChoice&) { return ~uint64_t{0}; };
  return {kernel("right", right, none),   kernel("works", right, some),
          kernel("needs", right, all),    kernel("one off", one_off, none),
          kernel("beside", beside, none), kernel("ends", ends, none)};
}

}  // namespace peers
}  // namespace ladder
