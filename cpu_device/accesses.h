#pragma once
// CUDA's functions that touch memory: loads and stores with a cache hint, atomics, fences.
// Included by cuda_runtime.h.
#include <cstdint>
#include <type_traits>

#include "arithmetic.h"
#include "block.h"
#include "global_memory.h"
#include "memory.h"
#include "trace.h"

// A cache hint changes nothing that is counted.
#define LADDER_LOAD(name)                                       \
  template <class T>                                            \
  inline __attribute__((always_inline)) T name(const T* from) { \
    return *from;                                               \
  }
LADDER_LOAD(__ldg)
LADDER_LOAD(__ldca)
LADDER_LOAD(__ldcg)
LADDER_LOAD(__ldcs)
LADDER_LOAD(__ldlu)
LADDER_LOAD(__ldcv)
#undef LADDER_LOAD
#define LADDER_STORE(name)                                          \
  template <class T>                                                \
  inline __attribute__((always_inline)) void name(T* to, T value) { \
    *to = value;                                                    \
  }
LADDER_STORE(__stwb)
LADDER_STORE(__stcg)
LADDER_STORE(__stcs)
LADDER_STORE(__stwt)
#undef LADDER_STORE

// Threads take turns: what one has stored the next one sees.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

namespace cpu_device {

// Returns what was there. In global memory a store of its warp's request; in shared memory it is
// not counted, and not looked at for races: atomics do not race with each other.
template <class T, class Change>
LADDER_UNTRACED inline T atomic(T* to, const Place& place, const Change& change) {
  if (find_allocation(reinterpret_cast<uintptr_t>(to)) != nullptr) {
    blocks_may_be_ordered();
    trace_access(place, to, sizeof(T), Operation::STORE);
  }
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  auto* const bits = reinterpret_cast<Bits*>(to);
  Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED), changed;
  do changed = bits_as<Bits>(change(bits_as<T>(old)));
  while (
      !__atomic_compare_exchange_n(bits, &old, changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return bits_as<T>(old);
}

// What keeps an argument from deciding on the type.
template <class T>
struct Identity {
  using type = T;
};
template <class T>
using Same = typename Identity<T>::type;

}  // namespace cpu_device

// With CUDA's three scopes, which are one here.
#define LADDER_ATOMIC_OF(name, ...)                                                                \
  template <class T>                                                                               \
  LADDER_UNTRACED inline T name(T* to, cpu_device::Same<T> value,                                  \
                                cpu_device::Place place = cpu_device::here()) {                    \
    return cpu_device::atomic(to, place, [&](T old) LADDER_UNTRACED -> T { return __VA_ARGS__; }); \
  }
#define LADDER_ATOMIC(name, ...)              \
  LADDER_ATOMIC_OF(name, __VA_ARGS__)         \
  LADDER_ATOMIC_OF(name##_block, __VA_ARGS__) \
  LADDER_ATOMIC_OF(name##_system, __VA_ARGS__)
LADDER_ATOMIC(atomicAdd, static_cast<T>(old + value))
LADDER_ATOMIC(atomicSub, static_cast<T>(old - value))
LADDER_ATOMIC(atomicExch, (static_cast<void>(old), value))
LADDER_ATOMIC(atomicMin, value < old ? value : old)
LADDER_ATOMIC(atomicMax, old < value ? value : old)
LADDER_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
LADDER_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
LADDER_ATOMIC(atomicAnd, old& value)
LADDER_ATOMIC(atomicOr, old | value)
LADDER_ATOMIC(atomicXor, old ^ value)
#undef LADDER_ATOMIC
#undef LADDER_ATOMIC_OF
#define LADDER_CAS(name)                                                                        \
  template <class T>                                                                            \
  LADDER_UNTRACED inline T name(T* to, cpu_device::Same<T> expected, cpu_device::Same<T> value, \
                                cpu_device::Place place = cpu_device::here()) {                 \
    return cpu_device::atomic(                                                                  \
        to, place, [&](T old) LADDER_UNTRACED { return old == expected ? value : old; });       \
  }
LADDER_CAS(atomicCAS)
LADDER_CAS(atomicCAS_block)
LADDER_CAS(atomicCAS_system)
#undef LADDER_CAS
