#include "ptx.h"

#include "tensor_core.h"
#include "tracer.h"

namespace ladder::ptx {

void cp_async(void* to, const void* from, unsigned bytes, unsigned source_bytes,
              const cpu_device::Place& place) {
  const auto misaligned = [&](const void* p) {
    return reinterpret_cast<uintptr_t>(p) % bytes != 0;
  };
  if (misaligned(to) || misaligned(from))
    cpu_device::report_finding(place, "cp.async of " + std::to_string(bytes) +
                                          " bytes with an address that is no multiple of that");
  cpu_device::trace_async_copy(place, to, from, bytes, source_bytes);
  cpu_device::Thread& thread = cpu_device::this_block->current();
  thread.copies.push_back({to, from, bytes, source_bytes, thread.groups});
}

void cp_async_wait_group(unsigned groups) {
  cpu_device::Thread& thread = cpu_device::this_block->current();
  size_t kept = 0;
  for (const cpu_device::AsyncCopy& copy : thread.copies) {
    if (copy.group + groups >= thread.groups) {
      thread.copies[kept++] = copy;
      continue;
    }
    std::memcpy(copy.to, copy.from, copy.source_bytes);
    std::memset(static_cast<char*>(copy.to) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
    cpu_device::trace_async_landed(copy.to, copy.bytes);
  }
  thread.copies.resize(kept);
  cpu_device::count_ahead(kept);
}

// Element (row, column) of an 8x8 matrix is in the lower (0) or upper half of a register of lane
// row * 4 + column / 2.
void ldmatrix(uint32_t (&r)[4], const void* row, bool transposed, const cpu_device::Place& place) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
    cpu_device::report_finding(place, "ldmatrix with an address that is no multiple of 16");
  cpu_device::trace_access(place, row, 16, cpu_device::Operation::LOAD);
  struct Operands {
    uint32_t* r;
    uint16_t row[8];
  } operands{r, {}};
  std::memcpy(operands.row, row, sizeof operands.row);
  cpu_device::this_block->warp_collective(
      &operands,
      [&](void** lanes, uint32_t mask) {
        if (mask != ~0u) return cpu_device::report_finding(place, "ldmatrix by a part of a warp");
        const auto of = [&](unsigned lane) { return static_cast<Operands*>(lanes[lane]); };
        for (unsigned lane = 0; lane < cpu_device::WARP; ++lane)
          for (unsigned i = 0; i < 4; ++i) {
            const auto element = [&](unsigned upper) -> uint32_t {
              const unsigned row = lane / 4, column = lane % 4 * 2 + upper;
              return transposed ? of(i * 8 + column)->row[row] : of(i * 8 + row)->row[column];
            };
            of(lane)->r[i] = element(0) | element(1) << 16;
          }
      },
      place);
}

// The reverse: row i % 8 of matrix i / 8 goes where lane i says, in the name of that lane. The
// lanes from 8 * matrices on bring no row.
void stmatrix(void* row, const uint32_t* r, unsigned matrices, bool transposed,
              const cpu_device::Place& place) {
  const unsigned rows = matrices * 8;
  if (cpu_device::this_block->lane() < rows) {
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
      cpu_device::report_finding(place, "stmatrix with an address that is no multiple of 16");
    cpu_device::trace_access(place, row, 16, cpu_device::Operation::STORE);
  }
  struct Operands {
    void* row;
    const uint32_t* r;
  } operands{row, r};
  cpu_device::this_block->warp_collective(
      &operands,
      [&](void** lanes, uint32_t mask) {
        if (mask != ~0u) return cpu_device::report_finding(place, "stmatrix by a part of a warp");
        const auto of = [&](unsigned lane) { return static_cast<Operands*>(lanes[lane]); };
        for (unsigned lane = 0; lane < rows; ++lane) {
          uint16_t elements[8];
          for (unsigned column = 0; column < 8; ++column) {
            const unsigned of_row = transposed ? column : lane % 8;  // in the registers
            const unsigned of_column = transposed ? lane % 8 : column;
            const uint32_t pair = of(of_row * 4 + of_column / 2)->r[lane / 8];
            elements[column] = static_cast<uint16_t>(pair >> (of_column % 2 * 16));
          }
          std::memcpy(of(lane)->row, elements, sizeof elements);
        }
      },
      place);
}

// Register 2j + i of `a` is from the 8x8 matrix at row 8i and column 8j, as ldmatrix would load it;
// b0 and b1 those at rows 0 and 8, transposed; d[2i] and d[2i + 1] two neighbours at row 8i.
template <class Multiply>
static void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                         const Multiply& multiply, const cpu_device::Place& place) {
  struct Operands {
    float* d;
    const uint32_t* a;
    uint32_t b[2];
  } operands{d, a, {b0, b1}};
  cpu_device::this_block->warp_collective(
      &operands,
      [&](void** lanes, uint32_t mask) {
        if (mask != ~0u) return cpu_device::report_finding(place, "mma.sync by a part of a warp");
        uint16_t A[16 * 16], B[8 * 16];  // B transposed
        float D[16 * 8];
        const auto each = [&](auto visit) {
          for (unsigned lane = 0; lane < cpu_device::WARP; ++lane)
            for (unsigned upper = 0; upper < 2; ++upper)
              visit(*static_cast<Operands*>(lanes[lane]), upper, lane / 4, lane % 4 * 2 + upper);
        };
        each([&](const Operands& o, unsigned upper, unsigned row, unsigned column) {
          const auto number = [&](uint32_t pair) {
            return static_cast<uint16_t>(pair >> (upper * 16));
          };
          for (unsigned i = 0; i < 2; ++i) {
            for (unsigned j = 0; j < 2; ++j)
              A[(row + i * 8) * 16 + column + j * 8] = number(o.a[2 * j + i]);
            B[row * 16 + column + i * 8] = number(o.b[i]);
            D[(row + i * 8) * 8 + column] = o.d[2 * i + upper];
          }
        });
        multiply(A, B, D, 16, 8, 16);
        each([&](Operands& o, unsigned upper, unsigned row, unsigned column) {
          for (unsigned i = 0; i < 2; ++i) o.d[2 * i + upper] = D[(row + i * 8) * 8 + column];
        });
      },
      place);
}
void mma_m16n8k16_f32_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                          cpu_device::Place place) {
  mma_m16n8k16(d, a, b0, b1, cpu_device::tensor_core_multiply, place);
}
void mma_m16n8k16_f32_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                           cpu_device::Place place) {
  mma_m16n8k16(d, a, b0, b1, cpu_device::tensor_core_multiply_bf16, place);
}

uint32_t movmatrix_trans(uint32_t pair, cpu_device::Place place) {
  struct Operands {
    uint32_t given, got;
  } operands{pair, 0};
  cpu_device::this_block->warp_collective(
      &operands,
      [&](void** lanes, uint32_t mask) {
        if (mask != ~0u) return cpu_device::report_finding(place, "movmatrix by a part of a warp");
        const auto of = [&](unsigned lane) { return static_cast<Operands*>(lanes[lane]); };
        for (unsigned lane = 0; lane < cpu_device::WARP; ++lane) {
          const auto element = [&](unsigned upper) {
            const unsigned row = lane % 4 * 2 + upper, column = lane / 4;
            return of(row * 4 + column / 2)->given >> (column % 2 * 16) & 0xFFFF;
          };
          of(lane)->got = element(0) | element(1) << 16;
        }
      },
      place);
  return operands.got;
}

// The bytes are there as late as the threads can tell. What they overwrite has to be done with now.
void store_async(float4* to, float4 value, uint64_t* barrier, uint32_t rank,
                 cpu_device::Place place) {
  cpu_device::Block& block = *cpu_device::this_block;
  cpu_device::Team& team = block.team();
  if (rank >= team.block_count())
    return cpu_device::report_finding(place, "stores to a block that the cluster does not have");
  if (reinterpret_cast<uintptr_t>(to) % sizeof value != 0)
    cpu_device::report_finding(place,
                               "st.async of 16 bytes to an address that is no multiple of 16");
  cpu_device::Block& other = team.block(rank);
  unsigned char* const there = other.at(block.shared_address(to));
  cpu_device::Mbarrier* const counts = other.mbarriers().store_begins(
      reinterpret_cast<uint64_t*>(other.at(block.shared_address(barrier))), place);
  if (counts == nullptr) return;
  const uint32_t phase = counts->phase;
  if (cpu_device::tracer != nullptr)
    cpu_device::tracer->store_beside(place, there, sizeof value,
                                     {phase + 1, static_cast<uint16_t>(counts->agent),
                                      cpu_device::Kind::ASYNC_STORE, cpu_device::site_id(place)});
  team.later([=, &other] {
    std::memcpy(there, &value, sizeof value);
    other.mbarriers().copy_lands(*counts, phase, sizeof value);
  });
}

}  // namespace ladder::ptx
