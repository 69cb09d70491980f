#pragma once
// Who is launched when, and who stays in the contest. Numbers only, no device.
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace ladder::peers {

// Contenders by their numbers, in the order of their launches.
using Burst = std::vector<size_t>;

// A stream takes about a thousand commands before the host waits; a launch is three, or five with a
// workspace to clear and parts to add up.
constexpr size_t LONGEST_BURST = 150;

// `rounds` launches of each contender, of which one takes `ms`: every round in an order drawn anew,
// so that nobody always follows the same one. Cut into bursts for the rests between them: as long
// as the harness's, a launch at least.
std::vector<Burst> draw_bursts(const std::vector<double>& ms, int rounds, std::mt19937_64& random);

// How many rounds take `wanted_ms` together, at least `least` and at most `most`.
int rounds_for(const std::vector<double>& ms, double wanted_ms, int least, int most);

// A contender as far as its family goes: cuBLAS, cublasLt, CUTLASS, a stage.
struct Standing {
  std::string family;
  bool stays;  // however slow
  double ms;
};
struct Limit {
  double factor;       // of the fastest of all
  size_t most, least;  // of a family; the fastest `least` stay, too, if they are slower
};
// The numbers of those who stay, in their order.
std::vector<size_t> survivors(const std::vector<Standing>& standings, const Limit& limit);

}  // namespace ladder::peers
