#pragma once
// A batch in one launch: products of the same sizes, C = A * B each, row-major or with all B's by
// columns; fp16 or bf16, fp32 accumulate. Each matrix lies wherever it does: TMA's maps of all of
// them are parameters of the kernel. Its tiles are those of 13, numbered product after product, as
// 21 numbers its groups'.
#include "../13_fit_the_waves.cuh"
#include "../gemm.h"
#include "plan.h"

namespace ladder::batch {

using namespace fit_the_waves;  // 13 is where most of it is

using library::IN_A_LAUNCH;  // the parameters of a kernel have 32,764 bytes, a product's maps 384

template <class T>
struct Maps {
  CUtensorMap A[IN_A_LAUNCH], B[IN_A_LAUNCH], C[IN_A_LAUNCH];
  T* to[IN_A_LAUNCH];  // C
};

template <class T, int BM, int BN, Major MAJOR_B>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_kernel(int count, int M, int N, int K, int64_t ldc, const __grid_constant__ Maps<T> maps) {
  using Shared = fit_the_waves::Shared<T, BM, BN, Major::K, MAJOR_B>;
  static_assert(BM % Shared::PIECE == 0);  // the last piece of a tile is as high as the others
  Shared& s = dynamic_shared<Shared>();
  const int tiles = ceil_div(K, BK), tiles_of_C = ceil_div(M, BM) * ceil_div(N, BN);
  const auto sources = [&](int product) {
    return Sources{maps.A[product], maps.B[product], Shared::bytes(BM)};
  };
  const auto tile_at = [&](int index) {
    return tile_of_block<BM, BN, Pairs::NONE>(index % tiles_of_C, M, N, BM);
  };
  const bool is_producer = warp_of_block() == CONSUMERS * WARPGROUP / 32;
  const int early = min(tiles, Shared::PIPE);

  const int first = static_cast<int>(blockIdx.x);
  if (is_producer) start(s, sources(first / tiles_of_C), tile_at(first), early);
  prepare_others<1>(s, CONSUMERS);

  unsigned step = 0;
  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (!is_producer) return;
    bool backwards = false;
    int t0 = early;
    step = early;
    for (int index = first; index < count * tiles_of_C; index += gridDim.x) {
      produce<Pairs::NONE>(s, sources(index / tiles_of_C), tile_at(index), t0, tiles, backwards,
                           step);
      backwards = !backwards;
      t0 = 0;
    }
  } else {
    ptx::setmaxnreg_inc<CONSUMER_REGISTERS>();
    constexpr int BOXES = BN / BOX / CONSUMERS;
    const int first_box = warpgroup_of_block() * BOXES;
    const ProductAlone finish;
    const ProductAlone::Columns columns[BOXES] = {};
    unsigned piece = 0;
    for (int index = first; index < count * tiles_of_C; index += gridDim.x) {
      const int product = index / tiles_of_C;
      const Tile tile = tile_at(index);
      const PiecesOfC<T> to{maps.C[product], maps.C[product], maps.to[product], ldc, M, N, BM};
      float acc[BOXES][BM / 2];
      const unsigned last = multiply<1>(s, tiles, first_box, acc, step);
      ptx::wgmma_wait_group<0>();
      release<1>(s, last);
      store_transposed(s.staged, acc, columns, finish, to, tile.m0, tile.n0 + first_box * BOX,
                       piece);
    }
    if (threadIdx.x % WARPGROUP == 0) ptx::bulk_wait_group_read<0>();  // the last are still read
  }
}

// One launch of up to IN_A_LAUNCH products of p's sizes.
template <class T>
struct Products : Gemm<T, T> {
  const Matrices<T, T>* matrices;
  int count;
};

// What the launcher chooses among: tiles; `step` and `tile` are as in 21.
template <class T>
struct Configuration : Tiling {
  double step, tile;
  void (*launch)(const Products<T>&, int tiles_of_all, int blocks);
};

// Throws CudaError where there is no TMA.
template <class T, int BM, int BN, Major MAJOR_B>
void launch_configuration(const Products<T>& p, int /* tiles_of_all */, int blocks) {
  using Shared = fit_the_waves::Shared<T, BM, BN, Major::K, MAJOR_B>;
  Maps<T> maps;
  for (int i = 0; i < p.count; ++i) {
    const Matrices<T, T>& of = p.matrices[i];
    maps.A[i] = Operand<T, BM, Major::K>::map(of.A, p.M, p.K, p.lda);
    maps.B[i] = Operand<T, BN, MAJOR_B>::map(of.B, p.N, p.K, p.ldb);
    maps.C[i] = ptx::tensor_map(of.C, p.M, p.N, p.ldc, Shared::PIECE);
    maps.to[i] = of.C;
  }
  launch(gemm_kernel<T, BM, BN, MAJOR_B>, dim3(blocks), dim3(THREADS), sizeof(Shared), p.stream,
         p.count, p.M, p.N, p.K, p.ldc, maps);
}
template <class T, Major MAJOR_B, int BM, int BN>
constexpr Configuration<T> configuration(double step, double tile) {
  return {{BM, BN}, step, tile, launch_configuration<T, BM, BN, MAJOR_B>};
}
// Four of 21's, with their times.
template <class T, Major MAJOR_B>
inline constexpr Configuration<T> CONFIGURATIONS[] = {
    configuration<T, MAJOR_B, 64, 128>(232.1, 399), configuration<T, MAJOR_B, 128, 128>(340.3, 568),
    configuration<T, MAJOR_B, 128, 256>(660.5, 1255),
    configuration<T, MAJOR_B, 160, 256>(813.6, 2467)};

template <class T>
int tiles(const Products<T>& p, const Configuration<T>& c) {
  return p.count * ceil_div(p.M, c.BM) * ceil_div(p.N, c.BN);
}
template <class T>
int waves(const Products<T>& p, const Configuration<T>& c) {
  return ceil_div(tiles(p, c), clusters_at_once(1));
}
// What all waves take, in ns on an H200, where memory is not what takes the time.
template <class T>
double cost(const Products<T>& p, const Configuration<T>& c) {
  return waves(p, c) * (ceil_div(p.K, BK) * c.step + c.tile);
}

// All `count` products: of p are the sizes, the layouts and the leading dimensions. M, N and K are
// not 0, and every row begins on 16 bytes.
template <class T>
void gemm(const Gemm<T, T>& p, const Matrices<T, T>* matrices, int count) {
  for (int i = 0; i < count; i += IN_A_LAUNCH) {
    const Products<T> some{p, matrices + i, std::min(IN_A_LAUNCH, count - i)};
    launch_in_waves(p.transposed_b ? first_done(CONFIGURATIONS<T, Major::K>, some)
                                   : first_done(CONFIGURATIONS<T, Major::MN>, some),
                    some);
  }
}

}  // namespace ladder::batch
