#include "trace.h"

#include <string>
#include <utility>

#include "block.h"
#include "descriptor.h"
#include "global_memory.h"
#include "symbols.h"
#include "tracer.h"

namespace cpu_device {
__thread Tracer* tracer = nullptr;

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::LOAD:
      return "load";
    case Operation::STORE:
      return "store";
    case Operation::REMOTE_LOAD:
      return "remote load";
    case Operation::REMOTE_STORE:
      return "remote store";
    case Operation::COPY:
      return "copy";
    case Operation::BOX_LOAD:
      return "tma load";
    case Operation::BOX_STORE:
      return "tma store";
    case Operation::OPERAND:
      return "wgmma";
  }
  return "";
}

void Tracer::worker_begins(Team& team, size_t dynamic_bytes) {
  counts_ = settings().count;
  digests_ = settings().digest;
  if (digests_) is_in_shared_function(0);  // reads a file, for which a fiber's stack is too small
  team_ = &team;
  dynamic_bytes_ = dynamic_bytes;
  arrays_.cover(team);
  static_shared_.cover(arrays_.static_begin(), arrays_.static_bytes());
  dynamic_shared_.resize(team.block_count());
  for (unsigned rank = 0; rank < team.block_count(); ++rank)
    dynamic_shared_[rank].cover(reinterpret_cast<uintptr_t>(team.block(rank).dynamic_shared()),
                                MAX_SHARED_BYTES);
}

void Tracer::settle(const Block& block) {
  if (counts_) requests_.settle(block.rank() * block.thread_count(), block.thread_count());
}

void Tracer::team_ends(Team& team) {
  uint32_t most = 0;
  for (unsigned rank = 0; rank < team.block_count(); ++rank) {
    const Block& block = team.block(rank);
    settle(block);
    dynamic_shared_[rank].forget(block.barriers());
    most = std::max(most, block.barriers());
  }
  static_shared_.forget(most);
  digest_.team_ends();
}

SharedMemory* Tracer::shared_at(uintptr_t address) {
  if (arrays_.is_static_shared(address)) return &static_shared_;
  for (SharedMemory& shared : dynamic_shared_)
    if (shared.contains(address)) return &shared;
  return nullptr;
}

uintptr_t Tracer::in_first_block(uintptr_t address) const {
  for (unsigned rank = 1; rank < dynamic_shared_.size(); ++rank)
    if (dynamic_shared_[rank].contains(address))
      return address - reinterpret_cast<uintptr_t>(team_->block(rank).dynamic_shared()) +
             reinterpret_cast<uintptr_t>(team_->block(0).dynamic_shared());
  return address;
}

Viewer Tracer::viewer(const Touch& as) const {
  Block& block = *this_block;
  const Thread& thread = block.current();
  return {as, thread.agent, &thread.knowledge, block.barriers(),
          team_->block_count() == 1 && !block.mbarriers().any() && !block.has_named_barriers()};
}

Viewer Tracer::viewer() const {
  const Thread& thread = this_block->current();
  return viewer({thread.clock, static_cast<uint16_t>(thread.agent), Kind::THREAD, nullptr});
}

void Tracer::report(const Place& place, const Conflict& conflict) {
  if (conflict.what != nullptr)
    report_finding(place, conflict.what, "",
                   conflict.other != nullptr ? place_of(conflict.other) : Place{});
}

// A launch has asked for so much dynamic shared memory and gets no more, whatever a GPU has.
void Tracer::check_limit(const Place& place, uintptr_t address, unsigned bytes) const {
  for (unsigned rank = 0; rank < dynamic_shared_.size(); ++rank) {
    if (!dynamic_shared_[rank].contains(address)) continue;
    const uint32_t first = team_->block(rank).shared_address(reinterpret_cast<void*>(address));
    if (first + bytes > dynamic_bytes_)
      report_finding(place,
                     "accesses shared memory beyond the " + std::to_string(dynamic_bytes_) +
                         " bytes of dynamic shared memory of this launch",
                     std::to_string(bytes) + " bytes at byte " + std::to_string(first));
  }
}

// It may be another block's of the cluster.
void Tracer::check_owner(const Place& place, const SharedMemory& shared) {
  if (team_->block_count() == 1) return;
  if (&shared == &static_shared_)
    return report_finding(place,
                          "a __shared__ array in a cluster: the CPU device knows dynamic shared "
                          "memory only there");
  Block& owner = team_->block(static_cast<unsigned>(&shared - dynamic_shared_.data()));
  if (&owner != this_block) owner.touched_by_another(this_block->current().moment(), place);
}

void Tracer::check_bounds(const Place& place, const Allocation& allocation, uintptr_t address,
                          unsigned bytes, bool is_store) {
  if (is_inside(allocation, address, bytes, is_store)) return;
  const auto [cause, position] = stray_access(allocation, address, bytes, is_store);
  report_finding(place, cause, position);
}

void Tracer::touch(const Place& place, const Allocation& allocation, uintptr_t address,
                   unsigned bytes, bool is_store) const {
  if (digests_)
    touch_global(place, allocation, address, bytes, is_store,
                 this_block->number() - this_block->rank());
}

void Tracer::digest(const Place& place, uintptr_t address, unsigned bytes, Operation operation) {
  if (!digests_) return;
  uint64_t array = 0, offset = 0;
  if (const SharedMemory* shared = shared_at(address)) {
    const bool is_static = shared == &static_shared_;
    array = is_static ? 1 : 2 + static_cast<uint64_t>(shared - dynamic_shared_.data());
    const Block& owner = team_->block(is_static ? 0 : static_cast<unsigned>(array - 2));
    offset =
        address - (is_static ? arrays_.static_begin() : reinterpret_cast<uintptr_t>(owner.at(0)));
  } else if (const Allocation* allocation = arrays_.allocation_at(address)) {
    array = std::hash<std::string>{}(allocation->name);
    offset = address - allocation->begin;
  } else {
    return;  // the thread's own
  }
  const uint64_t kind = bytes * 16 + static_cast<unsigned>(operation);
  digest_.add(place, Digest::mixed(array + Digest::mixed(offset)) + kind);
}

void Tracer::access(const Place& place, uintptr_t address, unsigned bytes, Operation operation) {
  digest(place, address, bytes, operation);
  if (SharedMemory* shared = shared_at(address)) {
    if (operation != Operation::LOAD ||
        !shared->is_settled(address, bytes, this_block->barriers())) {
      check_limit(place, address, bytes);
      check_owner(place, *shared);
      Viewer v = viewer();
      v.as.site = site_id(place);
      report(place, operation == Operation::LOAD ? shared->load(address, bytes, v)
                                                 : shared->store(address, bytes, v));
    }
    // ncu does not count these as loads and stores of shared memory either (docs/cpu_counts.md).
    const bool remote = shared != &static_shared_ && shared != &dynamic_shared_[this_block->rank()];
    if (remote)
      operation = operation == Operation::LOAD ? Operation::REMOTE_LOAD : Operation::REMOTE_STORE;
    if (counts_)
      requests_.count(place, in_first_block(address), bytes, operation, Space::SHARED, arrays_);
  } else if (const Allocation* allocation = arrays_.allocation_at(address)) {
    check_bounds(place, *allocation, address, bytes, operation == Operation::STORE);
    touch(place, *allocation, address, bytes, operation == Operation::STORE);
    if (counts_) requests_.count(place, address, bytes, operation, Space::GLOBAL, arrays_);
  }
  // Anything else is the thread's own: its stack, its parameters.
}

void Tracer::async_copy(const Place& place, uintptr_t to, uintptr_t from, unsigned bytes,
                        unsigned source_bytes) {
  digest(place, from, source_bytes, Operation::LOAD);
  digest(place, to, bytes, Operation::COPY);
  const Allocation* const allocation = source_bytes > 0 ? arrays_.allocation_at(from) : nullptr;
  if (allocation != nullptr) {
    check_bounds(place, *allocation, from, source_bytes, false);
    touch(place, *allocation, from, source_bytes, false);
    if (counts_) requests_.count_copied(place, to, from, bytes, arrays_);
  }
  SharedMemory* const shared = shared_at(to);
  if (shared == nullptr) return;
  check_limit(place, to, bytes);
  Viewer v = viewer();
  v.as.site = site_id(place);
  report(place, shared->begin_copy(to, bytes, v));
  if (counts_)
    requests_.count(place, in_first_block(to), bytes, Operation::COPY, Space::SHARED, arrays_);
}

void Tracer::async_landed(uintptr_t address, unsigned bytes) {
  if (SharedMemory* shared = shared_at(address)) shared->end_copy(address, bytes, viewer());
}

void Tracer::box(const Place& place, const TensorMap& map, const int* at, Operation operation,
                 unsigned blocks) {
  const bool is_store = operation == Operation::BOX_STORE;
  unsigned bytes_moved = 0;
  event(place, blocks);
  for_each_piece(map, at, 0, [&](const Piece& piece) {
    const unsigned bytes = is_store ? piece.stored : piece.inside;
    if (bytes == 0) return;
    const uintptr_t begin = piece.global + piece.before;
    bytes_moved += bytes;
    digest(place, begin, bytes, operation);
    if (const Allocation* allocation = arrays_.allocation_at(begin)) {
      check_bounds(place, *allocation, begin, bytes, is_store);
      touch(place, *allocation, begin, bytes, is_store);
    } else
      report_finding(place, "a tensor map of memory that nobody has allocated");
  });
  if (arrays_.allocation_at(map.base) == nullptr || !counts_) return;
  const unsigned ideal = (bytes_moved + SECTOR_BYTES - 1) / SECTOR_BYTES;
  requests_.count_beside(place, map.base, box_bytes(map), operation, Space::GLOBAL,
                         {sectors(map, at), ideal},
                         is_store ? 0 : sectors_delivered(map, at) * blocks, arrays_);
}

void Tracer::box_in_shared_memory(const Place& place, const TensorMap& map,
                                  const unsigned char* shared, const Touch& as) {
  const auto begin = reinterpret_cast<uintptr_t>(shared);
  SharedMemory* const memory = shared_at(begin);
  if (memory == nullptr) return report_finding(place, "a box that does not lie in shared memory");
  const Viewer v = viewer(as);
  const unsigned bytes = box_bytes(map);
  digest(place, begin, bytes,
         as.kind == Kind::TMA_LOAD ? Operation::BOX_LOAD : Operation::BOX_STORE);
  report(place, as.kind == Kind::TMA_LOAD ? memory->store(begin, bytes, v)
                                          : memory->load(begin, bytes, v));
  if (!counts_) return;
  // Swizzled or not, a box's rows fill whole lines of the banks, 128 bytes a wavefront.
  constexpr unsigned LINE = 128;
  const unsigned lines = (bytes + LINE - 1) / LINE;
  requests_.count_beside(place, in_first_block(begin), bytes,
                         as.kind == Kind::TMA_LOAD ? Operation::BOX_LOAD : Operation::BOX_STORE,
                         Space::SHARED, {lines, lines}, 0, arrays_);
}

bool Tracer::read_beside(const Place& place, const Block& block, uint32_t shared_address,
                         unsigned bytes, const Touch& as) {
  const auto address = reinterpret_cast<uintptr_t>(block.at(shared_address));
  SharedMemory* const memory = shared_at(address);
  if (memory == nullptr || shared_address + bytes > dynamic_bytes_) {
    if (memory == nullptr || memory != &static_shared_) {
      report_finding(
          place, "wgmma reads past the end of the launch's dynamic shared memory",
          "at byte " + std::to_string(shared_address) + " of " + std::to_string(dynamic_bytes_));
      return false;
    }
  }
  digest(place, address, bytes, Operation::OPERAND);
  const Conflict conflict = memory->load(address, bytes, viewer(as));
  report(place, conflict);
  return conflict.what == nullptr;
}

void Tracer::store_beside(const Place& place, const unsigned char* to, unsigned bytes,
                          const Touch& as) {
  const auto address = reinterpret_cast<uintptr_t>(to);
  SharedMemory* const memory = shared_at(address);
  if (memory == nullptr) return report_finding(place, "st.async to what is not shared memory");
  check_limit(place, address, bytes);
  digest(place, address, bytes, Operation::REMOTE_STORE);
  report(place, memory->store(address, bytes, viewer(as)));
  if (counts_)
    requests_.count(place, in_first_block(address), bytes, Operation::REMOTE_STORE, Space::SHARED,
                    arrays_);
}

void Tracer::operand(const Place& place, const Block& block, const std::vector<uint32_t>& chunks) {
  if (!counts_ || chunks.empty()) return;
  constexpr unsigned CHUNK = 16, CORE = 8;
  const auto address = reinterpret_cast<uintptr_t>(block.at(chunks.front()));
  if (shared_at(address) == nullptr) return;
  requests_.count_beside(
      place, in_first_block(address), static_cast<unsigned>(chunks.size()) * CHUNK,
      Operation::OPERAND, Space::SHARED,
      {wavefronts(chunks), static_cast<unsigned>(chunks.size()) / CORE}, 0, arrays_);
}

void trace_worker_begins(Team& team, size_t dynamic_bytes) {
#ifdef LADDER_NO_TRACE  // kernels without the calls that would tell us of their accesses
  (void)team, (void)dynamic_bytes;
  return;
#endif
  if (!settings().trace) return;
  if (team.tracer == nullptr) team.tracer = std::make_shared<Tracer>();
  // Last: of the standard library's templates the device may share the kernels' copies, which call
  // it.
  team.tracer->worker_begins(team, dynamic_bytes);
  tracer = team.tracer.get();
}

void trace_worker_ends() {
  if (Tracer* const ended = std::exchange(tracer, nullptr)) ended->publish();
}

void trace_worker_is_lost() {
  tracer = nullptr;
}

bool tracer_exists() {
  return tracer != nullptr;
}

void trace_barrier(const Block& block) {
  if (tracer != nullptr) tracer->settle(block);
}

void trace_team_ends(Team& team) {
  if (tracer != nullptr) tracer->team_ends(team);
}

void trace_access(const Place& place, const void* address, unsigned bytes, Operation operation) {
  if (tracer != nullptr)
    tracer->access(place, reinterpret_cast<uintptr_t>(address), bytes, operation);
}

void trace_async_copy(const Place& place, const void* to, const void* from, unsigned bytes,
                      unsigned source_bytes) {
  if (tracer != nullptr)
    tracer->async_copy(place, reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from),
                       bytes, source_bytes);
}

void trace_async_landed(const void* address, unsigned bytes) {
  if (tracer != nullptr) tracer->async_landed(reinterpret_cast<uintptr_t>(address), bytes);
}

}  // namespace cpu_device
