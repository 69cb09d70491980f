#pragma once
// What a rank has to reach the others: a stream for copies, words in everybody's memory by which
// they tell each other how far they are, and buffers for what they send.
//
// Calls follow each other without the host. What keeps a rank from overwriting what another still
// reads are two buffers, used in turn, and one rule: a call is complete on a rank only after every
// rank has begun it. A rank that writes into a buffer in call c + 2 has completed c + 1, so every
// rank has begun c + 1, so every rank's stream is past c, the last call that used the buffer.
#include <cstdint>
#include <utility>

#include "../ptx/stream_value.cuh"
#include "ranks.cuh"

namespace ladder {

constexpr int MAX_CHUNKS = 16;

// In every rank's memory; all zero before the first call. All of them only ever count up.
struct Flags {
  uint32_t begun[MAX_RANKS];    // by each rank: the last call it has begun
  uint32_t arrived[MAX_RANKS];  // from each rank: how much has come, counted on from call to call
  uint32_t
      finished[MAX_RANKS * MAX_CHUNKS];  // by this rank's kernel: pieces of each chunk it sends
};

struct Link {
  Ranks ranks{1, 0};
  Flags* flags[MAX_RANKS] = {};          // every rank's
  uint32_t* tile_flags[MAX_RANKS] = {};  // every rank's, tile_flags_count of them: see 12d
  int64_t tile_flags_count = 0;
  unsigned char* buffers[MAX_RANKS] = {};  // every rank's, 2 * buffer_bytes
  uint64_t buffer_bytes = 0;
  cudaStream_t copies = nullptr;
  cudaEvent_t forked = nullptr, joined = nullptr;  // without timing
  // As many blocks of a kernel that waits for other ranks may be launched: those that run at the
  // same time as the other ranks' on the same GPU.
  int blocks = 0;

  // The host's count of what has been enqueued; the same on all ranks, for all make the same calls.
  uint32_t calls = 0, counted = 0;
  uint32_t finished[MAX_RANKS * MAX_CHUNKS] = {};

  Flags* own_flags() const { return flags[ranks.own]; }
  // What this call uses of a rank's buffers.
  half* buffer(int rank) const {
    return reinterpret_cast<half*>(buffers[rank] + calls % 2 * buffer_bytes);
  }
};

// The beginning of a call in which `count` more units arrive from a rank: copies may begin when
// `stream` has come here. Returns what had been counted before.
inline uint32_t begin_call(Link& link, cudaStream_t stream, uint32_t count) {
  ++link.calls;
  LADDER_CUDA_CHECK(cudaEventRecord(link.forked, stream));
  LADDER_CUDA_CHECK(cudaStreamWaitEvent(link.copies, link.forked));
  return std::exchange(link.counted, link.counted + count);
}

// All others see that this rank's stream has begun the call. Where the call has copies to send at
// once, after them: they are more urgent.
inline void tell_begun(const Link& link) {
  for (int i = 1; i < link.ranks.count; ++i)
    ptx::stream_write_value(link.copies, &link.flags[link.ranks.after(i)]->begun[link.ranks.own],
                            link.calls);
}

// The copy engine brings `rows` rows of `width` halves, `ld` from one to the next, to rank `to`,
// who then sees that `arrived` units have come from this rank.
inline void send(const Link& link, int to, half* there, const half* here, int64_t ld, int64_t width,
                 int64_t rows, uint32_t arrived) {
  if (rows > 0 && width == ld)
    LADDER_CUDA_CHECK(
        cudaMemcpyAsync(there, here, rows * ld * sizeof(half), cudaMemcpyDefault, link.copies));
  else if (rows > 0)
    LADDER_CUDA_CHECK(cudaMemcpy2DAsync(there, ld * sizeof(half), here, ld * sizeof(half),
                                        width * sizeof(half), rows, cudaMemcpyDefault,
                                        link.copies));
  ptx::stream_write_value(link.copies, &link.flags[to]->arrived[link.ranks.own], arrived);
}

// `stream` goes on when `arrived` units have come from rank `from`.
inline void receive(const Link& link, int from, uint32_t arrived, cudaStream_t stream) {
  ptx::stream_wait_value(stream, &link.own_flags()->arrived[from], arrived);
}

// The end of a call: `stream` goes on when the copies are done and every rank has begun the call.
inline void end_call(const Link& link, cudaStream_t stream) {
  for (int i = 1; i < link.ranks.count; ++i)
    ptx::stream_wait_value(link.copies, &link.own_flags()->begun[link.ranks.after(i)], link.calls);
  LADDER_CUDA_CHECK(cudaEventRecord(link.joined, link.copies));
  LADDER_CUDA_CHECK(cudaStreamWaitEvent(stream, link.joined));
}

}  // namespace ladder
