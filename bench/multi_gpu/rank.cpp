#include "rank.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "device_code.h"
#include "harness/device.h"

namespace ladder::multi_gpu {
namespace {

void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess)
    throw CudaError(fmt::format("{}: {}", what, ncclGetErrorString(status)));
}

template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <class T>
T from_bytes(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

SharedMemory::SharedMemory(Meeting& meeting, size_t bytes)
    : meeting_(meeting),
      // Whole allocations of the driver: what another process opens is all of one.
      own_((bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20)) {
  LADDER_CUDA_CHECK(cudaMemset(own_.get(), 0, own_.size()));
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  struct Offer {
    pid_t process;
    void* pointer;
    cudaIpcMemHandle_t handle;
  };
  Offer mine{getpid(), own_.get(), {}};
  bool alone = true;
  for (const std::string& process : meeting.exchange(bytes_of(mine.process)))
    alone = alone && from_bytes<pid_t>(process) == mine.process;
  if (!alone) LADDER_CUDA_CHECK(cudaIpcGetMemHandle(&mine.handle, own_.get()));
  for (const std::string& bytes : meeting.exchange(bytes_of(mine))) {
    const Offer offer = from_bytes<Offer>(bytes);
    void* pointer = offer.pointer;
    if (offer.process != mine.process) {
      LADDER_CUDA_CHECK(
          cudaIpcOpenMemHandle(&pointer, offer.handle, cudaIpcMemLazyEnablePeerAccess));
      opened_.push_back(pointer);
    }
    at_.push_back(pointer);
  }
}

SharedMemory::~SharedMemory() {
  if (std::uncaught_exceptions() > 0) return;
  for (void* pointer : opened_) cudaIpcCloseMemHandle(pointer);
  try {
    meeting_.barrier();  // nobody frees what another has open
  } catch (const std::exception& e) {
    fail(fmt::format("{}: {}", meeting_.name(), e.what()));
  }
}

Rank::Rank(Meeting& m, int local_rank) : meeting(m), ranks{m.ranks(), m.rank()} {
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    throw harness::NoDevice("no usable GPU");
  device = local_rank % devices;
  const harness::Device selected = harness::select_device(device, 90, true);
  gpu = selected.name, sm = selected.multiprocessors;

  cudaDeviceProp properties{};
  LADDER_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  const std::string uuid(properties.uuid.bytes, sizeof(properties.uuid.bytes));
  struct Where {
    pid_t process;
    int device;
  };
  bool nccl_possible = true;
  sharing = 0;
  const std::vector<std::string> uuids = meeting.exchange(uuid);
  for (const std::string& other : uuids) {
    sharing += other == uuid;
    nccl_possible = nccl_possible && std::count(uuids.begin(), uuids.end(), other) == 1;
  }
  for (const std::string& bytes : meeting.exchange(bytes_of(Where{getpid(), device}))) {
    const Where other = from_bytes<Where>(bytes);
    if (other.process != getpid() || other.device == device) continue;
    int can = 0;
    LADDER_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, other.device));
    if (!can)
      throw CudaError(fmt::format("GPU {} cannot reach GPU {}'s memory", device, other.device));
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(other.device, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled)
      cudaGetLastError();
    else
      LADDER_CUDA_CHECK(enabled);
  }
  load_device_code();
  // Not the default stream, which waits for all others.
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&link.copies, cudaStreamNonBlocking));
  LADDER_CUDA_CHECK(cudaEventCreateWithFlags(&link.forked, cudaEventDisableTiming));
  LADDER_CUDA_CHECK(cudaEventCreateWithFlags(&link.joined, cudaEventDisableTiming));
  link.ranks = ranks;
  // Where ranks share a GPU, all their kernels have to run at the same time, and a few
  // multiprocessors are left for what they wait for.
  link.blocks = sharing == 1 ? sm : (sm - 4) / sharing;
  flags_ = std::make_unique<SharedMemory>(meeting, sizeof(Flags));
  gates_ = std::make_unique<SharedMemory>(meeting, MAX_RANKS * sizeof(uint32_t));
  for (int rank = 0; rank < ranks.count; ++rank)
    link.flags[rank] = static_cast<Flags*>(flags_->of(rank));
  LADDER_CUDA_CHECK(cudaHostAlloc(&gate_, sizeof(*gate_), cudaHostAllocMapped));
  *gate_ = 0;

  if (nccl_possible) {
    meeting.begin("setting up NCCL");
    ncclUniqueId id{};
    if (ranks.own == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    id = from_bytes<ncclUniqueId>(meeting.exchange(bytes_of(id))[0]);
    check(ncclCommInitRank(&nccl, ranks.count, id, ranks.own), "ncclCommInitRank");
    meeting.watch([this]() -> std::string {
      ncclResult_t error = ncclSuccess;
      if (ncclCommGetAsyncError(nccl, &error) != ncclSuccess) return "NCCL does not answer";
      if (error == ncclSuccess || error == ncclInProgress) return "";
      return fmt::format("NCCL: {}", ncclGetErrorString(error));
    });
  }
  meeting.barrier();
}

Rank::~Rank() {
  if (std::uncaught_exceptions() > 0) return;
  meeting.watch(nullptr);
  if (nccl != nullptr) ncclCommDestroy(nccl);
  buffers_.reset(), tile_flags_.reset(), gates_.reset(), flags_.reset();
  cudaFreeHost(gate_);
  cudaEventDestroy(link.forked), cudaEventDestroy(link.joined);
  cudaStreamDestroy(link.copies), cudaStreamDestroy(stream);
}

void Rank::make_link(uint64_t bytes, int64_t tile_flags) {
  wait();
  meeting.barrier();  // nobody writes into what is freed
  buffers_.reset(), tile_flags_.reset();
  link.buffer_bytes = (bytes + 1023) / 1024 * 1024;
  link.tile_flags_count = tile_flags;
  buffers_ = std::make_unique<SharedMemory>(meeting, 2 * link.buffer_bytes);
  tile_flags_ = std::make_unique<SharedMemory>(
      meeting, static_cast<size_t>(std::max<int64_t>(tile_flags, 1)) * sizeof(uint32_t));
  for (int rank = 0; rank < ranks.count; ++rank) {
    link.buffers[rank] = static_cast<unsigned char*>(buffers_->of(rank));
    link.tile_flags[rank] = static_cast<uint32_t*>(tile_flags_->of(rank));
  }
}

void Rank::wait() const {
  cudaError_t status;
  while ((status = cudaStreamQuery(stream)) == cudaErrorNotReady) sched_yield();
  if (status != cudaSuccess)
    throw CudaError(fmt::format("{}: {}", meeting.name(), cudaGetErrorString(status)));
}

void Rank::enqueue_gate() {
  GateWords words{};
  for (int rank = 0; rank < ranks.count; ++rank)
    words.of[rank] = static_cast<uint32_t*>(gates_->of(rank));
  uint32_t* open = nullptr;
  LADDER_CUDA_CHECK(cudaHostGetDevicePointer(&open, gate_, 0));
  gate(open, words, ranks, ++gates_passed_, stream);
}
void Rank::open_gate() {
  __atomic_store_n(gate_, gates_passed_, __ATOMIC_RELEASE);
}

}  // namespace ladder::multi_gpu
