#include "tma.h"

#include <cstring>
#include <limits>
#include <vector>

#include "block.h"
#include "global_memory.h"
#include "include/cuda_fp16.h"
#include "tensor_core.h"
#include "tensor_map.h"
#include "tracer.h"

namespace cpu_device {
namespace {

const TensorMap* map_of(const void* map, const Place& place) {
  const TensorMap* const decoded_map = decoded(map);
  if (decoded_map == nullptr)
    report_finding(place, "what TMA gets is no tensor map, or not at a multiple of 64 bytes");
  return decoded_map;
}

// A finding where the box lies in shared memory, or in the matrix, as TMA does not take it.
void check_rules(const TensorMap& map, int column, uint32_t shared, const Place& place) {
  if (const std::string problem = copy_problem(map, column, shared); !problem.empty())
    report_finding(
        place, problem,
        "column " + std::to_string(column) + ", shared address " + std::to_string(shared));
}

// False, with a finding, where the box does not lie in the block's shared memory.
bool ends_inside(const Block& block, const TensorMap& map, uint32_t shared, const Place& place) {
  const size_t end = size_t{shared} + box_bytes(map);
  if (shared >= MAX_SHARED_BYTES || end <= block.dynamic_bytes) return true;
  report_finding(
      place, "a box past the end of the launch's dynamic shared memory",
      "it ends at byte " + std::to_string(end) + " of " + std::to_string(block.dynamic_bytes));
  return end <= MAX_SHARED_BYTES;
}

std::vector<int> coordinates(const TensorMap& map, const int* at) {
  return {at, at + map.rank};
}

void round_to_tf32(unsigned char* piece) {
  float floats[PIECE_BYTES / sizeof(float)];
  std::memcpy(floats, piece, PIECE_BYTES);
  for (float& x : floats) x = rounded_to_tf32(x);
  std::memcpy(piece, floats, PIECE_BYTES);
}

void load(void* to, const TensorMap& map, const int* at, uint64_t* barrier, uint32_t blocks,
          const Place& place) {
  Block& block = *this_block;
  Team& team = block.team();
  const uint32_t shared = block.shared_address(to);
  if (!ends_inside(block, map, shared, place)) return;
  if (blocks >> team.block_count() != 0)
    report_finding(place, "a multicast to blocks that the cluster does not have");
  if (tracer != nullptr)
    tracer->box(place, map, at, Operation::BOX_LOAD,
                static_cast<unsigned>(__builtin_popcount(blocks)));

  struct Target {
    Block* block;
    Mbarrier* barrier;
    uint32_t phase;
  };
  std::vector<Target> targets;
  for (unsigned rank = 0; rank < team.block_count(); ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    Block& target = team.block(rank);
    auto* const there = reinterpret_cast<uint64_t*>(target.at(block.shared_address(barrier)));
    Mbarrier* const counts = target.mbarriers().copy_begins(there, place);
    if (counts == nullptr) continue;
    targets.push_back({&target, counts, counts->phase});
    if (tracer == nullptr) continue;
    const Touch as{counts->phase + 1, static_cast<uint16_t>(counts->agent), Kind::TMA_LOAD,
                   site_id(place)};
    tracer->box_in_shared_memory(place, map, target.at(shared), as);
  }
  if (targets.empty()) return;
  team.later([=, copy = map, where = coordinates(map, at)] {
    for (const Target& target : targets) {
      for_each_piece(copy, where.data(), shared, [&](const Piece& piece) {
        unsigned char* const bytes = target.block->at(piece.shared);
        std::memset(bytes, copy.fill, PIECE_BYTES);
        if (piece.inside > 0)
          std::memcpy(bytes + piece.before,
                      reinterpret_cast<const void*>(piece.global + piece.before), piece.inside);
        if (copy.to_tf32) round_to_tf32(bytes);
      });
      target.block->mbarriers().copy_lands(*target.barrier, target.phase, box_bytes(copy));
    }
  });
}

}  // namespace

void tma_load(void* to, const void* encoded, const int* at, uint64_t* barrier, uint32_t blocks,
              const Place& place) {
  const TensorMap* const map = map_of(encoded, place);
  if (map == nullptr) return;
  check_rules(*map, at[0], this_block->shared_address(to), place);
  load(to, *map, at, barrier, blocks, place);
}

void bulk_load(void* to, const void* from, uint32_t bytes, uint64_t* barrier, const Place& place) {
  const auto is_whole = [](uint64_t x) { return x % PIECE_BYTES == 0; };
  const auto address = reinterpret_cast<uintptr_t>(from);
  if (!is_whole(bytes) || !is_whole(address) || !is_whole(this_block->shared_address(to)))
    return report_finding(place, "a bulk copy whose addresses and size are no multiples of 16");
  if (bytes > std::numeric_limits<uint16_t>::max())
    return report_finding(place,
                          "a bulk copy of 64 KB or more, which the CPU device does not know");
  TensorMap row{};  // a box that is a whole matrix of one row
  row.base = address;
  row.sizes[0] = bytes;
  row.box[0] = static_cast<uint16_t>(bytes);
  row.strides[0] = row.element_bytes = row.steps[0] = row.rank = 1;
  const int at = 0;
  load(to, row, &at, barrier, 1u << this_block->rank(), place);
}

void tma_store(const void* encoded, const int* at, const void* from, StoreMode mode,
               const Place& place) {
  Block& block = *this_block;
  Thread& thread = block.current();
  const TensorMap* const map = map_of(encoded, place);
  if (map == nullptr) return;
  const uint32_t shared = block.shared_address(from);
  check_rules(*map, at[0], shared, place);
  if (!ends_inside(block, *map, shared, place)) return;
  if (mode != StoreMode::WRITE) blocks_may_be_ordered();
  if (tracer != nullptr) tracer->box(place, *map, at, Operation::BOX_STORE, 1);
  if (thread.bulk_agent == 0) thread.bulk_agent = block.team().new_agent();
  const uint32_t number = ++thread.bulk_ordered;
  if (tracer != nullptr)
    tracer->box_in_shared_memory(
        place, *map, block.at(shared),
        {number, static_cast<uint16_t>(thread.bulk_agent), Kind::TMA_STORE, site_id(place)});
  const auto copy = [=, &block, map = *map, where = coordinates(*map, at)] {
    for_each_piece(map, where.data(), shared, [&](const Piece& piece) {
      const unsigned char* const bytes = block.at(piece.shared) + piece.before;
      auto* const to = reinterpret_cast<unsigned char*>(piece.global + piece.before);
      if (mode == StoreMode::WRITE) {
        std::memcpy(to, bytes, piece.stored);
        return;
      }
      for (unsigned i = 0; i < piece.stored; i += sizeof(half)) {
        half sum, more;
        std::memcpy(&sum, to + i, sizeof sum);
        std::memcpy(&more, bytes + i, sizeof more);
        sum = __float2half(__half2float(sum) + __half2float(more));
        std::memcpy(to + i, &sum, sizeof sum);
      }
    });
  };
  thread.bulk_stores.push_back({copy, place, thread.bulk_groups, number});
}

void bulk_commit_group() {
  ++this_block->current().bulk_groups;
}

void bulk_wait_group(unsigned groups) {
  Thread& thread = this_block->current();
  auto& stores = thread.bulk_stores;
  while (!stores.empty() && stores.front().group + groups < thread.bulk_groups) {
    stores.front().copy();
    thread.knowledge.learn(Moment{thread.bulk_agent, stores.front().number});
    stores.pop_front();
  }
}

void fence_proxy_async() {
  Thread& thread = this_block->current();
  if (thread.block->team().traced()) thread.knowledge.fence(thread.moment());
  ++thread.clock;
  thread.block->mbarriers().fence();
}

}  // namespace cpu_device
