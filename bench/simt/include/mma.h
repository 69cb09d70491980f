#pragma once
// The CPU device's stand-in for CUDA's header: nvcuda::wmma for 16x16x16, half in, fp32
// accumulators.
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
enum layout_t { mem_row_major };

// Eight elements a lane. Which they are is not specified by CUDA; kernels must not depend on it.
template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16, "the CPU device knows 16x16x16 only");
  T x[8];
};

// Our choice for all three: two neighbours in each 8x8 quadrant, as mma.sync's accumulators lie.
struct Position {
  unsigned row, column;
};
inline Position position(unsigned lane, unsigned i) {
  return {lane / 4 + (i / 2 % 2) * 8, lane % 4 * 2 + i % 2 + (i / 4) * 8};
}

template <class Fragment, class T>
void fill_fragment(Fragment& f, T value) {
  for (auto& element : f.x) element = value;
}

// A whole warp. From shared memory this becomes ldmatrix.x4: lane l supplies the address of 16
// bytes, half l / 16 of row l % 16. From global memory it becomes four loads of 4 bytes a lane. (By
// the SASS of 06_wmma for sm_90a.)
template <class Use, class Layout>
SIMT_UNTRACED void load_matrix_sync(fragment<Use, 16, 16, 16, half, Layout>& f, const half* p,
                                    unsigned ld, simt::Place place = simt::here()) {
  const unsigned lane = simt::this_block->lane();
  for (unsigned i = 0; i < 8; ++i) {
    const Position at = position(lane, i);
    f.x[i] = p[size_t{at.row} * ld + at.column];
  }
  if (simt::find_allocation(reinterpret_cast<uintptr_t>(p)) != nullptr) {
    for (unsigned i = 0; i < 8; i += 2) {
      const Position at = position(lane, i);
      simt::trace_access(place, &p[size_t{at.row} * ld + at.column], 4, simt::Operation::LOAD);
    }
  } else {
    simt::trace_access(place, &p[size_t{lane % 16} * ld + lane / 16 * 8], 16,
                       simt::Operation::LOAD);
  }
  simt::this_block->warp_collective(
      nullptr, [](void**, uint32_t) {}, place);
}

// Two neighbouring numbers with one store of 8 bytes.
SIMT_UNTRACED inline void store_matrix_sync(float* p,
                                            const fragment<accumulator, 16, 16, 16, float>& f,
                                            unsigned ld, layout_t,
                                            simt::Place place = simt::here()) {
  for (unsigned i = 0; i < 8; i += 2) {
    const Position at = position(simt::this_block->lane(), i);
    float* const pair = &p[size_t{at.row} * ld + at.column];
    pair[0] = f.x[i];
    pair[1] = f.x[i + 1];
    simt::trace_access(place, pair, 8, simt::Operation::STORE);
  }
  simt::this_block->warp_collective(
      nullptr, [](void**, uint32_t) {}, place);
}

// d = a * b + c, accumulated in fp32, k by k.
template <class LayoutA, class LayoutB>
SIMT_UNTRACED void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
                            const fragment<matrix_a, 16, 16, 16, half, LayoutA>& a,
                            const fragment<matrix_b, 16, 16, 16, half, LayoutB>& b,
                            const fragment<accumulator, 16, 16, 16, float>& c,
                            simt::Place place = simt::here()) {
  struct Operands {
    float* d;
    const half *a, *b;
    const float* c;
  } operands{d.x, a.x, b.x, c.x};
  simt::this_block->warp_collective(
      &operands,
      [&](void** lanes, uint32_t mask) {
        if (mask != ~0u) simt::report_finding(place, "mma_sync by a part of a warp");
        float A[16][16] = {}, B[16][16] = {}, C[16][16] = {};
        const auto each = [&](auto visit) {
          for (unsigned lane = 0; lane < simt::WARP; ++lane)
            for (unsigned i = 0; (mask >> lane & 1) != 0 && i < 8; ++i)
              visit(*static_cast<Operands*>(lanes[lane]), i, position(lane, i));
        };
        each([&](const Operands& o, unsigned i, Position at) {
          A[at.row][at.column] = __half2float(o.a[i]);
          B[at.row][at.column] = __half2float(o.b[i]);
          C[at.row][at.column] = o.c[i];
        });
        for (unsigned i = 0; i < 16; ++i)
          for (unsigned k = 0; k < 16; ++k)
            for (unsigned j = 0; j < 16; ++j) C[i][j] += A[i][k] * B[k][j];
        each([&](Operands& o, unsigned i, Position at) { o.d[i] = C[at.row][at.column]; });
      },
      place);
}

}  // namespace wmma
}  // namespace nvcuda
