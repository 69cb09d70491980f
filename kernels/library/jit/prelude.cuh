#pragma once
// What NVRTC, which has no header of the host, is told in place of those that kernels include; and
// in place of <cuda/ptx>, which takes longer to read than all kernels, what they use of that, by
// the same names and with the same instructions.
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long long;
using uintptr_t = uint64_t;
#define INT32_MAX 2147483647
// The form that is a constant in NVRTC.
#define offsetof(T, FIELD) __INTADDR__(&static_cast<T*>(nullptr)->FIELD)

namespace std {
template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
}  // namespace std

struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};
namespace ladder::ptx {
template <class T>  // the launcher's, which 18's operands name
CUtensorMap tensor_map(const T* matrix, int rows, int cols, int64_t ld, int box_rows);
}  // namespace ladder::ptx

namespace cuda::ptx {

struct sem_release_t {};
struct sem_acquire_t {};
struct scope_cta_t {};
struct scope_cluster_t {};
struct space_shared_t {};
struct space_cluster_t {};
struct space_global_t {};
inline constexpr sem_release_t sem_release;
inline constexpr sem_acquire_t sem_acquire;
inline constexpr scope_cta_t scope_cta;
inline constexpr scope_cluster_t scope_cluster;
inline constexpr space_shared_t space_shared;
inline constexpr space_cluster_t space_cluster;
inline constexpr space_global_t space_global;
template <int N>
struct n32_t {};

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive;" ::: "memory");
}
__device__ __forceinline__ void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait;" ::: "memory");
}
__device__ __forceinline__ void fence_mbarrier_init(sem_release_t, scope_cluster_t) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect_tx(sem_release_t, scope_cta_t,
                                                          space_shared_t, uint64_t* barrier,
                                                          uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint64_t* barrier, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.b32 %0, 1, 0, p;\n"
      "}"
      : "=r"(complete)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return complete != 0;
}
__device__ __forceinline__ bool mbarrier_try_wait_parity(sem_acquire_t, scope_cluster_t,
                                                         uint64_t* barrier, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "selp.b32 %0, 1, 0, p;\n"
      "}"
      : "=r"(complete)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return complete != 0;
}
__device__ __forceinline__ void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to,
                                                     const void* map, const int32_t (&at)[2],
                                                     uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(at[0]), "r"(at[1]), "r"(shared_address(barrier))
      : "memory");
}
__device__ __forceinline__ void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to,
                                                     const void* map, const int32_t (&at)[3],
                                                     uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)),
      "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(shared_address(barrier))
      : "memory");
}
__device__ __forceinline__ void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to,
                                                     const void* map, const int32_t (&at)[2],
                                                     uint64_t* barrier, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(map), "r"(at[0]), "r"(at[1]), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void cp_async_bulk_tensor(space_global_t, space_shared_t,
                                                     const void* map, const int32_t (&at)[2],
                                                     const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(at[0]), "r"(at[1]), "r"(shared_address(from))
      : "memory");
}
__device__ __forceinline__ void cp_async_bulk(space_cluster_t, space_global_t, void* to,
                                              const void* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
__device__ __forceinline__ void fence_proxy_async(space_shared_t) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;");
}
template <int N>
__device__ __forceinline__ void cp_async_bulk_wait_group_read(n32_t<N>) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

}  // namespace cuda::ptx

// The host gets numbers that it needs by the mangled name of numbers<...>.
namespace ladder::jit {
template <int...>
__global__ void numbers() {}
}  // namespace ladder::jit
