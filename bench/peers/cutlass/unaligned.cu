// Where rows do not begin, or end, on 16 bytes as TMA wants it: cp.async of two elements, and a
// kernel for Ampere that loads them one by one.
#include <cutlass/gemm/device/gemm_universal.h>

#include "kernel.cuh"

namespace ladder::peers {
namespace {

template <int M, int N>
struct OneByOne {
  using Half = cutlass::half_t;
  using Row = cutlass::layout::RowMajor;
  using Kernel = cutlass::gemm::device::GemmUniversal<
      Half, Row, Half, Row, Half, Row, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
      cutlass::gemm::GemmShape<M, N, 32>, cutlass::gemm::GemmShape<64, 64, 32>,
      cutlass::gemm::GemmShape<16, 8, 16>,
      cutlass::epilogue::thread::LinearCombination<Half, 1, float, float>,
      cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, /*stages*/ 2,
      /*alignment*/ 1, 1>;

  static typename Kernel::Arguments arguments(const Gemm<half, half>& p) {
    return {cutlass::gemm::GemmUniversalMode::kGemm,
            {p.M, p.N, p.K},
            /*batch*/ 1,
            {1.0F, 0.0F},
            p.A,
            p.B,
            p.C,
            p.C,
            /*batch strides*/ 0,
            0,
            0,
            0,
            p.lda,
            p.ldb,
            p.ldc,
            p.ldc};
  }
  static uint64_t workspace_bytes(const Gemm<half, half>& p, const CutlassChoice&) {
    return Kernel::get_workspace_size(arguments(p));
  }
  static void launch(const Gemm<half, half>& p, const CutlassChoice&) {
    Kernel kernel;
    cutlass_check(kernel.initialize(arguments(p), p.workspace, p.stream), "initialize");
    cutlass_check(kernel.run(p.stream), "run");
  }
  static CutlassKernel kernel() {
    CutlassKernel kernel;
    kernel.name = "one by one " + std::to_string(M) + "x" + std::to_string(N) + "x32";
    kernel.rows = M;
    kernel.columns = N;
    kernel.stream_k = false;
    kernel.for_unaligned_rows = true;
    kernel.workspace_bytes = workspace_bytes;
    kernel.launch = launch;
    return kernel;
  }
};

}  // namespace

void add_unaligned(std::vector<CutlassKernel>& kernels) {
  using schedules::CpAsync;
  kernels.push_back(
      cutlass_kernel<CutlassType<CpAsync, Tile<128, 128, 64>, Cluster<1, 1>, false, 2>>());
  kernels.push_back(OneByOne<128, 128>::kernel());
}

}  // namespace ladder::peers
