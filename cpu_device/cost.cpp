#include "cost.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace cpu_device {
namespace {

constexpr unsigned BANK_BYTES = 4, BANKS = 32;

// The number of different values of offset / unit that the request touches.
unsigned count_units(const Request& request, unsigned bytes, unsigned unit) {
  uint32_t touched[WARP * 5];
  unsigned count = 0;
  bool ascending = true;
  for (unsigned lane = 0; lane < WARP; ++lane) {
    if ((request.mask >> lane & 1) == 0) continue;
    const uint32_t last = (request.offset[lane] + bytes - 1) / unit;
    for (uint32_t u = request.offset[lane] / unit; u <= last; ++u) {
      if (count > 0 && touched[count - 1] == u) continue;
      ascending &= count == 0 || touched[count - 1] < u;
      touched[count++] = u;
    }
  }
  if (ascending) return count;
  std::sort(touched, touched + count);
  return static_cast<unsigned>(std::unique(touched, touched + count) - touched);
}

}  // namespace

Cost global_cost(const Request& request, unsigned bytes) {
  const unsigned words = count_units(request, bytes, BANK_BYTES);
  return {count_units(request, bytes, SECTOR_BYTES),
          (words * BANK_BYTES + SECTOR_BYTES - 1) / SECTOR_BYTES};
}

// L1 looks up each of its lines of 128 bytes once for every sector of shared memory that is filled
// from it: a sector that is filled from two lines counts twice, and so does one of global memory
// that goes to two sectors. (Found on an H200 with 397 patterns of addresses, of which it explains
// all.)
Cost copied_cost(const Request& request) {
  constexpr unsigned LINE_BYTES = 128;
  std::vector<std::pair<uint32_t, uint32_t>> touched;
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (request.mask >> lane & 1)
      touched.emplace_back(request.offset[lane] / LINE_BYTES, request.to[lane] / SECTOR_BYTES);
  std::sort(touched.begin(), touched.end());
  const auto end = std::unique(touched.begin(), touched.end());
  return {static_cast<unsigned>(end - touched.begin()), global_cost(request, 16).ideal};
}

// L1 does not keep what it gets: a sector is fetched once for every sector of shared memory that it
// goes to, and again for halves that change places. (By the same patterns.)
unsigned fetched_sectors(const Request& request) {
  constexpr unsigned HALF = SECTOR_BYTES / 2;
  std::set<std::tuple<uint32_t, uint32_t, bool>> fetched;
  for (unsigned lane = 0; lane < WARP; ++lane)
    if (request.mask >> lane & 1)
      fetched.emplace(request.offset[lane] / SECTOR_BYTES, request.to[lane] / SECTOR_BYTES,
                      (request.offset[lane] ^ request.to[lane]) / HALF % 2 != 0);
  return static_cast<unsigned>(fetched.size());
}

// Shared memory has 32 banks of 4 bytes; in one wavefront each bank delivers one word, to any
// number of lanes. Requests of 8 and 16 bytes go in halves and quarters of a warp; of a load, two
// of them merge when all lanes l and l^1, or all l and l^2, ask for the same address (measured on
// an H200, and described in NVIDIA's developer forum for compute capability 7.x).
Cost shared_cost(const Request& request, unsigned bytes, bool load) {
  unsigned parts = bytes == 16 ? 4 : bytes == 8 ? 2 : 1;
  const auto paired = [&](unsigned distance) {
    for (unsigned lane = 0; lane < WARP; ++lane) {
      const unsigned other = lane ^ distance;
      if ((request.mask >> lane & 1) && (request.mask >> other & 1) &&
          request.offset[lane] != request.offset[other])
        return false;
    }
    return true;
  };
  if (load && parts > 1 && (paired(1) || paired(2))) parts /= 2;

  const unsigned lanes = WARP / parts;
  Cost cost{0, 0};
  for (unsigned first = 0; first < WARP; first += lanes) {
    uint32_t words[BANKS][WARP];
    unsigned used[BANKS] = {}, most = 0;
    for (unsigned lane = first; lane < first + lanes; ++lane) {
      if ((request.mask >> lane & 1) == 0) continue;
      const uint32_t end = (request.offset[lane] + bytes - 1) / BANK_BYTES;
      for (uint32_t word = request.offset[lane] / BANK_BYTES; word <= end; ++word) {
        const unsigned bank = word % BANKS;
        uint32_t* const stop = words[bank] + used[bank];
        if (std::find(words[bank], stop, word) != stop) continue;
        words[bank][used[bank]++] = word;
        most = std::max(most, used[bank]);
      }
    }
    cost.actual += most;
    cost.ideal += most > 0;
  }
  return cost;
}

}  // namespace cpu_device
