#pragma once
// One kernel of CUTLASS's collective builder for Hopper, as a CutlassKernel.
#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>

#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>
#include <string>

#include "../cutlass.h"

namespace ladder::peers {

inline void cutlass_check(cutlass::Status status, const char* what) {
  if (status != cutlass::Status::kSuccess)
    throw CudaError(std::string("CUTLASS: ") + what + ": " +
                    cutlass::cutlassGetStatusString(status));
}

namespace schedules {
using namespace cutlass::gemm;
using namespace cutlass::epilogue;

// Two warpgroups share a tile, or each has one of its own, or a warpgroup copies with cp.async what
// TMA cannot.
struct Cooperative {
  static constexpr const char* NAME = "cooperative";
  using Main = KernelTmaWarpSpecializedCooperative;
  using Epilogue = TmaWarpSpecializedCooperative;
  using Tiles = PersistentScheduler;
};
struct PingPong {
  static constexpr const char* NAME = "pingpong";
  using Main = KernelTmaWarpSpecializedPingpong;
  using Epilogue = TmaWarpSpecialized;
  using Tiles = PersistentScheduler;
};
struct StreamK : Cooperative {
  static constexpr const char* NAME = "stream-K";
  using Tiles = StreamKScheduler;
};
struct CpAsync {
  static constexpr const char* NAME = "cp.async";
  using Main = KernelCpAsyncWarpSpecializedCooperative;
  using Epilogue = NoSmemWarpSpecialized;
  using Tiles = PersistentScheduler;
};
}  // namespace schedules

// Operands in C's order, or swapped: C^T = B^T A^T. Then M and N change places and every layout is
// transposed, so that few rows become few columns, for which there are narrow tiles. `ALIGNMENT` is
// that of the operands' rows, in elements.
template <class Schedule_, class Tile_, class Cluster_, bool SWAPPED_, int ALIGNMENT = 8>
struct CutlassType {
  using Schedule = Schedule_;
  using Tile = Tile_;
  using Cluster = Cluster_;
  static constexpr bool SWAPPED = SWAPPED_;
  static constexpr bool STREAM_K =
      cute::is_same_v<typename Schedule::Tiles, cutlass::gemm::StreamKScheduler>;
  static constexpr bool TMA = !cute::is_same_v<Schedule, schedules::CpAsync>;

  using Half = cutlass::half_t;
  using Layout =
      cute::conditional_t<SWAPPED, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Layout, ALIGNMENT, Half,
      Layout, ALIGNMENT, typename Schedule::Epilogue>::CollectiveOp;
  using Main = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Half, Layout, ALIGNMENT, Half, Layout,
      ALIGNMENT, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      typename Schedule::Main>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Main,
                                                      Epilogue, typename Schedule::Tiles>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
};

// A stride of CUTLASS: one of its first two is the leading dimension, the other a static 1, and
// that from product to product of a batch is 0.
template <class Stride>
Stride stride(int64_t leading_dimension) {
  Stride result{};
  if constexpr (cute::is_static_v<cute::remove_cvref_t<decltype(cute::get<0>(result))>>)
    cute::get<1>(result) = leading_dimension;
  else
    cute::get<0>(result) = leading_dimension;
  return result;
}

template <class Type>
typename Type::Gemm::Arguments cutlass_arguments(const Gemm<half, half>& p,
                                                 const CutlassChoice& choice) {
  using Kernel = typename Type::Kernel;
  using Half = typename Type::Half;
  constexpr bool SWAPPED = Type::SWAPPED;
  const auto* A = reinterpret_cast<const Half*>(SWAPPED ? p.B : p.A);
  const auto* B = reinterpret_cast<const Half*>(SWAPPED ? p.A : p.B);

  typename Type::Gemm::Arguments arguments{};
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {SWAPPED ? p.N : p.M, SWAPPED ? p.M : p.N, p.K, 1};
  arguments.mainloop.ptr_A = A;
  arguments.mainloop.dA = stride<typename Kernel::StrideA>(SWAPPED ? p.ldb : p.lda);
  arguments.mainloop.ptr_B = B;
  arguments.mainloop.dB = stride<typename Kernel::StrideB>(SWAPPED ? p.lda : p.ldb);
  arguments.epilogue.thread.alpha = 1;
  arguments.epilogue.thread.beta = 0;
  arguments.epilogue.dC = stride<typename Kernel::StrideC>(p.ldc);
  arguments.epilogue.ptr_D = reinterpret_cast<Half*>(p.C);
  arguments.epilogue.dD = stride<typename Kernel::StrideD>(p.ldc);
  LADDER_CUDA_CHECK(cudaGetDevice(&arguments.hw_info.device_id));
  arguments.hw_info.sm_count = device_attribute(cudaDevAttrMultiProcessorCount);
  arguments.scheduler.max_swizzle_size = choice.swizzle;
  if constexpr (Type::STREAM_K) {
    using Mode = cutlass::gemm::kernel::detail::DecompositionMode;
    constexpr Mode MODES[] = {Mode::Heuristic, Mode::DataParallel, Mode::StreamK, Mode::SplitK};
    arguments.scheduler.decomposition_mode = MODES[choice.split];
    arguments.scheduler.splits = choice.parts;
  }
  return arguments;
}

// What CUTLASS refuses for its widths alone: it wants N and K to be multiples of the alignment
// where only the leading dimensions have to be. TMA takes any width, and reads zeros beyond it.
template <class Type>
void require_implementable(typename Type::Gemm::Arguments arguments) {
  if (Type::Gemm::can_implement(arguments) == cutlass::Status::kSuccess) return;
  if constexpr (Type::TMA) {
    auto& shape = arguments.problem_shape;
    auto& columns = Type::SWAPPED ? cute::get<0>(shape) : cute::get<1>(shape);
    columns = ceil_div(columns, 8) * 8;
    cute::get<2>(shape) = ceil_div(cute::get<2>(shape), 8) * 8;
  }
  cutlass_check(Type::Gemm::can_implement(arguments), "can_implement");
}

template <class Type>
uint64_t cutlass_workspace_bytes(const Gemm<half, half>& p, const CutlassChoice& choice) {
  return Type::Gemm::get_workspace_size(cutlass_arguments<Type>(p, choice));
}

template <class Type>
void cutlass_launch(const Gemm<half, half>& p, const CutlassChoice& choice) {
  const auto arguments = cutlass_arguments<Type>(p, choice);
  require_implementable<Type>(arguments);
  typename Type::Gemm gemm;
  // With a workspace, this clears the locks in it: each launch needs it, and pays for it.
  cutlass_check(gemm.initialize(arguments, p.workspace, p.stream), "initialize");
  cutlass_check(gemm.run(p.stream), "run");
}

template <class Type>
CutlassKernel cutlass_kernel() {
  constexpr int M = cute::size<0>(typename Type::Tile{}), N = cute::size<1>(typename Type::Tile{}),
                K = cute::size<2>(typename Type::Tile{});
  constexpr int CLUSTER_M = cute::size<0>(typename Type::Cluster{}),
                CLUSTER_N = cute::size<1>(typename Type::Cluster{});
  const auto product = [](int a, int b) { return std::to_string(a) + "x" + std::to_string(b); };
  const std::string name = std::string(Type::Schedule::NAME) + (Type::SWAPPED ? " swapped " : " ") +
                           product(M, N) + "x" + std::to_string(K) + " cluster " +
                           product(CLUSTER_M, CLUSTER_N);
  CutlassKernel kernel;
  kernel.name = name;
  kernel.rows = Type::SWAPPED ? N : M;
  kernel.columns = Type::SWAPPED ? M : N;
  kernel.stream_k = Type::STREAM_K;
  kernel.for_unaligned_rows = !Type::TMA;
  kernel.workspace_bytes = cutlass_workspace_bytes<Type>;
  kernel.launch = cutlass_launch<Type>;
  return kernel;
}

template <int M, int N, int K>
using Tile = cute::Shape<cute::Int<M>, cute::Int<N>, cute::Int<K>>;
template <int M, int N>
using Cluster = cute::Shape<cute::Int<M>, cute::Int<N>, cute::Int<1>>;

// The kernels of one file, of one schedule and tile with several clusters.
template <class Schedule, class Tile, class... Clusters>
void add_kernels(std::vector<CutlassKernel>& kernels) {
  (kernels.push_back(cutlass_kernel<CutlassType<Schedule, Tile, Clusters, false>>()), ...);
}
// With the operands swapped.
template <class Schedule, class Tile, class... Clusters>
void add_swapped_kernels(std::vector<CutlassKernel>& kernels) {
  (kernels.push_back(cutlass_kernel<CutlassType<Schedule, Tile, Clusters, true>>()), ...);
}

}  // namespace ladder::peers
