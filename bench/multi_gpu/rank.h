#pragma once
// A rank: its GPU, its streams, and the others' memory.
#include <nccl.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "launch.cuh"
#include "meeting.h"
#include "parts/link.cuh"

namespace ladder::multi_gpu {

// Memory of this rank's GPU, freed with it.
template <class T>
class Memory {
 public:
  explicit Memory(size_t count = 0) : count_(count) {
    if (count > 0) LADDER_CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T)));
  }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  // While an exception ends the process, kernels may still wait for others, and cudaFree for them.
  ~Memory() {
    if (std::uncaught_exceptions() == 0) cudaFree(data_);
  }

  T* get() const { return data_; }
  size_t size() const { return count_; }

 private:
  void swap(Memory& other) { std::swap(data_, other.data_), std::swap(count_, other.count_); }

  T* data_ = nullptr;
  size_t count_ = 0;
};

// As much memory on every rank, which all of them can reach. All ranks make and destroy it
// together.
class SharedMemory {
 public:
  SharedMemory(Meeting& meeting, size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void* of(int rank) const { return at_[static_cast<size_t>(rank)]; }

 private:
  Meeting& meeting_;
  Memory<unsigned char> own_;
  std::vector<void*> at_;
  std::vector<void*> opened_;  // of other processes
};

class Rank {
 public:
  // Uses device local_rank % (number of devices). Throws harness::NoDevice.
  Rank(Meeting& meeting, int local_rank);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // NCCL takes one rank a GPU only: with more there is no communicator.
  bool has_nccl() const { return nccl != nullptr; }
  // A link whose buffers have `bytes` for a call and `tile_flags` words. All ranks together.
  void make_link(uint64_t bytes, int64_t tile_flags);
  // Waits for `stream`.
  void wait() const;
  // Lets `stream` wait for all ranks' streams: after it, they start within a microsecond or two of
  // each other, and not before each rank's host has called open_gate().
  void enqueue_gate();
  void open_gate();

  Meeting& meeting;
  const Ranks ranks;
  int device = 0, devices = 0;
  int sharing = 1;  // ranks that have this GPU
  std::string gpu;
  int sm = 0;
  cudaStream_t stream = nullptr;
  ncclComm_t nccl = nullptr;
  Link link;

 private:
  std::unique_ptr<SharedMemory> flags_, buffers_, tile_flags_, gates_;
  uint32_t* gate_ = nullptr;  // the host's, which the GPU reads
  uint32_t gates_passed_ = 0;
};

}  // namespace ladder::multi_gpu
