#pragma once
// wgmma: a warpgroup multiplies operands that lie in shared memory, while its threads go on.
#include <cstdint>
#include <deque>
#include <vector>

#include "block.h"
#include "place.h"

namespace cpu_device {

// What it multiplies: 32 bytes of k, which are 8 numbers of 32 bits, 16 of 16 or 32 of 8.
enum class WgmmaType { F16, BF16, TF32, E4M3, E5M2, S8 };

struct Wgmma {
  WgmmaType type;
  uint64_t a, b;  // descriptors
  unsigned n;
  bool accumulate;
  bool transposed_a, transposed_b;
  Place place;
  unsigned arrived = 0;  // threads that have come to it
  bool done = false;
  std::vector<Accumulators*> registers{};  // by thread
  std::vector<unsigned> groups{};
  bool a_in_registers = false;
  std::vector<uint16_t> a_values{};  // then: 64 rows of 16
};

// Those of a warpgroup that not all of its threads have waited for.
struct Wgmmas {
  std::deque<Wgmma> all;
  uint32_t first = 0;  // the number of the first of them
  Agent agent = 0;     // that reads for them: its clock is 1 + the number of the last
  std::vector<Thread*> waiting;
};

// By each thread of the warpgroup. d: n / 2 numbers, of S8 integers of 32 bits.
void wgmma(WgmmaType type, float* d, unsigned n, uint64_t a, uint64_t b, bool accumulate,
           bool transposed_a, bool transposed_b, const Place& place);
// Of 16 bits. a: four registers, two numbers each.
void wgmma_a_in_registers(WgmmaType type, float* d, unsigned n, const uint32_t* a, uint64_t b,
                          bool accumulate, bool transposed_b, const Place& place);
void wgmma_fence();
void wgmma_commit_group();
void wgmma_wait_group(unsigned groups, const Place& place);

// A load or store of this thread's own stack: its registers. Null, or what is wrong with it.
const char* touches_registers(Thread& thread, uintptr_t address);
void wgmma_ends(Thread& thread);
// When all of the thread's warpgroup have come to its next wgmma, as those know who have waited for
// it.
Moment next_wgmma(Thread& thread);

}  // namespace cpu_device
