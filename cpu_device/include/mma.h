#pragma once
// The CPU device's stand-in for CUDA's header: nvcuda::wmma for 16x16x16, half in, fp32
// accumulators.
#include "cpu_device/ptx.h"
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
  alignas(4) T x[8];
};

// Our choice is that of mma.sync: two neighbours in each 8x8 quadrant.
struct Position {
  unsigned row, column;
};
inline Position position(unsigned lane, unsigned i) {
  return {lane / 4 + (i / 2 % 2) * 8, lane % 4 * 2 + i % 2 + (i / 4) * 8};
}
inline Position position_in(matrix_a, unsigned lane, unsigned i) {
  return position(lane, i);
}
inline Position position_in(matrix_b, unsigned lane, unsigned i) {
  return {lane % 4 * 2 + i % 2 + (i / 2 % 2) * 8, lane / 4 + (i / 4) * 8};
}

template <class Fragment, class T>
void fill_fragment(Fragment& f, T value) {
  for (auto& element : f.x) element = value;
}

// A whole warp. From shared memory this becomes ldmatrix.x4: lane l supplies the address of 16
// bytes, half l / 16 of row l % 16. From global memory it becomes four loads of 4 bytes a lane. (By
// the SASS of 06_wmma for sm_90a.)
template <class Use, class Layout>
LADDER_UNTRACED void load_matrix_sync(fragment<Use, 16, 16, 16, half, Layout>& f, const half* p,
                                      unsigned ld, cpu_device::Place place = cpu_device::here()) {
  const unsigned lane = cpu_device::this_block->lane();
  for (unsigned i = 0; i < 8; ++i) {
    const Position at = position_in(Use{}, lane, i);
    f.x[i].bits = p[size_t{at.row} * ld + at.column].bits;  // half's own = is traced
  }
  if (cpu_device::find_allocation(reinterpret_cast<uintptr_t>(p)) != nullptr) {
    for (unsigned i = 0; i < 8; i += 2) {
      const Position at = position(lane, i);
      cpu_device::trace_access(place, &p[size_t{at.row} * ld + at.column], 4,
                               cpu_device::Operation::LOAD);
    }
  } else {
    cpu_device::trace_access(place, &p[size_t{lane % 16} * ld + lane / 16 * 8], 16,
                             cpu_device::Operation::LOAD);
  }
  cpu_device::this_block->warp_collective(
      nullptr, [](void**, uint32_t) {}, place);
}

// Two neighbouring numbers with one store of 8 bytes.
LADDER_UNTRACED inline void store_matrix_sync(float* p,
                                              const fragment<accumulator, 16, 16, 16, float>& f,
                                              unsigned ld, layout_t,
                                              cpu_device::Place place = cpu_device::here()) {
  for (unsigned i = 0; i < 8; i += 2) {
    const Position at = position(cpu_device::this_block->lane(), i);
    float* const pair = &p[size_t{at.row} * ld + at.column];
    pair[0] = f.x[i];
    pair[1] = f.x[i + 1];
    cpu_device::trace_access(place, pair, 8, cpu_device::Operation::STORE);
  }
  cpu_device::this_block->warp_collective(
      nullptr, [](void**, uint32_t) {}, place);
}

// d = a * b + c, accumulated in fp32: two operations of 8 columns, as on the GPU.
template <class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
              const fragment<matrix_a, 16, 16, 16, half, LayoutA>& a,
              const fragment<matrix_b, 16, 16, 16, half, LayoutB>& b,
              const fragment<accumulator, 16, 16, 16, float>& c,
              cpu_device::Place place = cpu_device::here()) {
  const auto& A = reinterpret_cast<const uint32_t(&)[4]>(a.x);
  const auto& B = reinterpret_cast<const uint32_t(&)[4]>(b.x);
  d = c;
  for (int j = 0; j < 2; ++j)
    ladder::ptx::mma_m16n8k16_f32_f16(reinterpret_cast<float(&)[4]>(d.x[j * 4]), A, B[j * 2],
                                      B[j * 2 + 1], place);
}

}  // namespace wmma
}  // namespace nvcuda
