#pragma once
// How long a multiplication takes, by the way in which it is done: a model that can be checked by
// hand. Its constants are measured, GPU by GPU: the tables beside this file. Plain C++.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "../extensions.h"
#include "../parts/clusters_held.h"

namespace ladder::tuned {

// The stages whose kernels there are to choose from.
enum class Kernel { CHOSEN_BY_SHAPE, FIT_THE_WAVES, PING_PONG, FEW_ROWS };
inline constexpr const char* STAGES[] = {"11c", "13", "13b", "14"};

// One of them with all that its launcher has to be told.
struct Candidate {
  Kernel kernel;
  int BM, BN;        // of C, what a block computes at a time
  int down, across;  // blocks of a cluster that have their tiles below and beside each other
  int split;         // blocks of a cluster that divide one tile's K
  int resident;      // blocks on a multiprocessor

  constexpr int cluster() const { return down * across * split; }
};

constexpr bool operator==(const Candidate& a, const Candidate& b) {
  return a.kernel == b.kernel && a.BM == b.BM && a.BN == b.BN && a.down == b.down &&
         a.across == b.across && a.split == b.split && a.resident == b.resident;
}

// "13 152x256", "13 152x256 pairs across", "14 16x64 split 2 resident 2".
inline std::string name(const Candidate& c) {
  std::string text = std::string(STAGES[static_cast<int>(c.kernel)]) + " " + std::to_string(c.BM) +
                     "x" + std::to_string(c.BN);
  if (c.down > 1 && c.across > 1)
    text += " pairs both ways";
  else if (c.down > 1)
    text += " pairs down";
  else if (c.across > 1)
    text += " pairs across";
  if (c.split > 1) text += " split " + std::to_string(c.split);
  if (c.resident > 1) text += " resident " + std::to_string(c.resident);
  return text;
}

constexpr int STEP = 64;   // of K
constexpr int LINE = 128;  // bytes, of L2
// What a sweep showed of memory (H200). Of B each further row of tiles reads a tenth from there
// again, and the rest from L2. Each row of a tile of C is as if it had so many bytes more. Half of
// the multiprocessors draw all that there is.
constexpr double READ_AGAIN = 0.1;
constexpr double ROW_OF_C = 224;
constexpr double DRAWERS = 0.5;
// Where rows of C end within 16 bytes, lanes store the ends of them, and not TMA, which 14 does not
// use for C: so many ns more (fitted to the same sweep).
constexpr double CUT_C = 600;
// Rows of a tile that are below A: to fill them with zeros takes TMA time, too. As if a byte of
// them were four tenths of one from memory (fitted to the choice at 427 shapes, H200). Not where
// tiles share A's rows evenly (parts/even_rows.h): there nothing is filled.
constexpr double BELOW_A = 0.4;
// Who has all of a multiprocessor's shared memory on its way takes longer for all bytes than 14,
// which leaves some of it empty: so many times as long. Where fewer than half of all
// multiprocessors draw it is the other way round. (Fitted to the choice at 335 shapes, H200.)
constexpr double ALL_ON_ITS_WAY = 1.02, FEW_DRAW = 0.94;
// Waves after the first take so much longer in 13b, whose tiles are half as wide as those of 13
// that take as long (fitted likewise).
constexpr double IN_TURN = 0.015;
// Every tile begins with B's first rows, at the same time as all others of its column. With a
// narrow C these are few lines, and it is as if each waited for those before it: so many ns a row
// of B, where all tiles are one below the other and have 64 columns, and in twice as many columns
// half of it (fitted to the small products of a sweep; H200). With many columns it is nothing.
constexpr double SAME_ROW = 0.35;
inline double until_first(double below_each_other, int64_t N, int64_t K, int element_bytes) {
  return SAME_ROW * below_each_other * static_cast<double>(std::min(K, int64_t{STEP})) /
         static_cast<double>((N * element_bytes + LINE - 1) / LINE);
}
// What works and what waits for memory run at the same time, and the longer of both hides the
// shorter, though not all of it where they are nearly as long: then both together take up to 12%
// more (fitted to the choice at 321 shapes, H200).
constexpr double BOTH = 0.12;
inline double together(double a, double b) {
  const double ratio = std::min(a, b) / std::max(a, b), cube = ratio * ratio * ratio;
  return std::max(a, b) * (1 + BOTH * cube * cube);
}

// What a candidate takes on a GPU, in ns.
struct Constants {
  double start;           // the launch and the first tiles: whatever is there once
  double start_alone;     // start and tile of one cluster that has the GPU to itself
  double step;            // 64 of K, in all blocks that can run at the same time
  double step_in_row;     // the same where all read the same A, from a row of tiles
  double step_off_lines;  // the same where rows of A and B begin off the lines of 128 bytes
  double step_alone;      // the same in one cluster that has the GPU to itself
  double later;           // times a step is a step after the first wave: no ns
  double tile;            // from the last step of a tile of C to the first of the next
  double bytes_per_ns;    // that it draws from device memory, and no ns
  double times = 1;       // what products as users have them take, of what the others say: no ns
  // And how that changes: the powers of Estimate::busy, steps and rows with which it grows.
  double by_busy = 0, by_steps = 0, by_rows = 0;
};
// By the powers `times` changes by no more than a fifth, more or less: shapes may be far from those
// that were measured.
constexpr double MOST_CHANGE = 0.2;
// And it counts from nine rows on, and where B has so many bytes. Below, the choice is better
// without: of 1 to 8 rows by 0.3% (108 products in a row, H200); a small B was not measured, and at
// 1000x1000x1000 the choice took 9.9 us with it, and 7.0 by an older table that had no such factor.
constexpr int FEW_ROWS_AS_USED = 8;
constexpr double SMALL_B = 8e6;

struct Row {
  Candidate candidate;
  Constants constants;
};

// A table.
struct Gpu {
  const char* name;     // as CUDA has it
  int multiprocessors;  // where it was measured
  const Row* rows;
  size_t count;
  const Row* b_by_columns;  // measured with B alone by columns; null: nobody has
  size_t count_by_columns;
  const Row* a_by_columns;  // measured with A alone by columns; null: nobody has
  size_t count_a_by_columns;
};

struct Rows {
  const Row* first;
  size_t count;
  const Row* begin() const { return first; }
  const Row* end() const { return first + count; }
};
// Those for a problem's layout.
template <class In, class Out>
Rows rows_of(const Gpu& gpu, const Gemm<In, Out>& p) {
  if (p.transposed_a && gpu.a_by_columns) return {gpu.a_by_columns, gpu.count_a_by_columns};
  if (p.transposed_b && !p.transposed_a && gpu.b_by_columns)
    return {gpu.b_by_columns, gpu.count_by_columns};
  return {gpu.rows, gpu.count};
}

// Of the rows of 128 bytes that a cluster reads in a step, the part that begins off the lines.
inline double part_off_lines(const Candidate& c, bool a_off, bool b_off) {
  const double of_a = c.BM * c.down, of_b = c.BN * c.across;
  return ((a_off ? of_a : 0) + (b_off ? of_b : 0)) / (of_a + of_b);
}

// And of the rows that a block has in a step, the part that it asks L2 for: half of what a cluster
// shares.
inline double part_asked_for(const Candidate& c) {
  return (static_cast<double>(c.BM) / c.across + static_cast<double>(c.BN) / c.down) /
         (c.BM + c.BN);
}

// The clock falls when all multiprocessors multiply: a step takes up to 1.18 times as long as alone
// (H200), and waits for nothing. What takes longer waits for L2, whose bandwidth they share. Alone
// a step was timed on the lines; off them it takes up to half as long more, and less in a cluster,
// which asks for less. (Both fitted to the same sweep.)
constexpr double SLOWER_CLOCK = 1.25, ALONE_OFF_LINES = 0.5;

// Clusters that run at the same time.
constexpr int places(const Candidate& c, int multiprocessors) {
  return clusters_held(c.cluster(), multiprocessors) * c.resident;
}

template <class T>
constexpr T divided_up(T a, T b) {
  return a / b + (a % b != 0);
}

struct Estimate {
  int64_t rows;          // of tiles of C
  int64_t waves, steps;  // rounds of one tile for each cluster; of 64 of K, in each
  double busy;           // of the places, the part that has a tile
  // ns, less than of all blocks where those that are not busy leave L2 to them
  double step;
  double first;  // ns, until the tiles of a column all have B's first rows
  // ns, waves * steps * step, those after the first `later` times, in 13b a little more; tile
  // between waves
  double work;
  double memory;  // ns, to read A and B and to write C
  double cut;     // ns, for lanes to store the ends of C's rows
  double around;  // ns, start and tile, less where not all multiprocessors have a tile
  double times;   // Constants::times for this product
  double total;   // times (around + first + work and memory together + cut)

  // Where memory is what takes the time, candidates can come out the same.
  bool less_than(const Estimate& other) const {
    return total < other.total || (total == other.total && work < other.work);
  }
};

// What the powers are of, as logarithms. `times` is as it stands with K of 2048.
constexpr int POWERS = 3;
inline std::array<double, POWERS> powered(const Estimate& e) {
  constexpr double USUAL_STEPS = 32;
  return {std::log(e.busy), std::log(static_cast<double>(e.steps) / USUAL_STEPS),
          std::log(static_cast<double>(e.rows))};
}

template <class In, class Out>
Estimate estimate(const Gemm<In, Out>& p, const Candidate& c, const Constants& constants,
                  int multiprocessors) {
  const int64_t tiles_m = divided_up(p.M, c.BM * c.down),
                tiles_n = divided_up(p.N, c.BN * c.across);
  const int64_t tiles = tiles_m * tiles_n;
  const auto is_off = [](int64_t elements) { return elements * sizeof(In) % LINE != 0; };
  // Where A's rows run along M, a tile's begin where the tile does (18).
  const bool a_off = is_off(p.lda) || (p.transposed_a && is_off(c.BM));
  const double off_lines = part_off_lines(c, a_off, is_off(p.ldb));
  const double M = p.M, N = p.N, K = p.K;

  Estimate e{};
  e.rows = tiles_m;
  e.waves = divided_up(tiles, int64_t{places(c, multiprocessors)});
  e.steps = divided_up(divided_up(p.K, STEP), c.split);
  e.busy = static_cast<double>(tiles) / static_cast<double>(e.waves * places(c, multiprocessors));
  // A step of a row of tiles was timed with all of B from device memory: in the rate it is, too.
  const double on_lines =
      tiles_m == 1 ? std::min(constants.step, constants.step_in_row) : constants.step;
  const double of_all = on_lines + off_lines * (constants.step_off_lines - on_lines);
  const double alone_off = ALONE_OFF_LINES * off_lines * part_asked_for(c);
  const double alone = (SLOWER_CLOCK + alone_off) * constants.step_alone;
  e.step = std::max(e.busy * of_all, std::min(of_all, alone));
  const double wave = static_cast<double>(e.steps) * e.step;
  const double later = constants.later * (c.kernel == Kernel::PING_PONG ? 1 + IN_TURN : 1);
  e.work = wave + static_cast<double>(e.waves - 1) * (constants.tile + later * wave);
  const double reads_of_B = 1 + READ_AGAIN * static_cast<double>(tiles_m - 1);
  const bool is_even =
      (c.kernel == Kernel::FIT_THE_WAVES || c.kernel == Kernel::PING_PONG) && !p.transposed_a;
  const double below_A = is_even ? 0 : static_cast<double>(tiles_m) * c.BM * c.down - M;
  const double bytes =
      (M * K + reads_of_B * K * N + BELOW_A * static_cast<double>(tiles_n) * below_A * K) *
          sizeof(In) +
      M * N * sizeof(Out) + ROW_OF_C * M * static_cast<double>(divided_up(p.N, c.BN));
  const double drawn =
      std::min(1.0, static_cast<double>(tiles * c.cluster()) / (DRAWERS * multiprocessors));
  e.memory = bytes / (drawn * constants.bytes_per_ns);
  // A block of 14 ends with its tile, and the next begins with nothing on its way. Assumed, not
  // measured: it decides where two candidates of 14 tie.
  if (c.kernel == Kernel::FEW_ROWS)
    e.memory += static_cast<double>(e.waves - 1) * constants.tile;
  else
    e.memory *= drawn < 1 ? FEW_DRAW : ALL_ON_ITS_WAY;
  e.first = until_first(static_cast<double>(std::min(tiles_m, int64_t{places(c, multiprocessors)})),
                        p.N, p.K, sizeof(In));
  e.cut = c.kernel != Kernel::FEW_ROWS && p.N * int{sizeof(Out)} % 16 != 0 ? CUT_C : 0;
  const double full =
      std::min(1.0, static_cast<double>(tiles * c.resident) / places(c, multiprocessors));
  e.around =
      constants.start_alone + full * (constants.start + constants.tile - constants.start_alone);
  const std::array<double, POWERS> of = powered(e);
  const double change =
      constants.by_busy * of[0] + constants.by_steps * of[1] + constants.by_rows * of[2];
  const bool is_as_used = p.M > FEW_ROWS_AS_USED && K * N * sizeof(In) > SMALL_B;
  e.times =
      is_as_used ? constants.times * std::exp(std::clamp(change, -MOST_CHANGE, MOST_CHANGE)) : 1;
  e.total = e.times * (e.around + e.first + together(e.work, e.memory) + e.cut);
  return e;
}

// An estimate in a line.
inline std::string describe(const Candidate& candidate, const Constants& constants,
                            const Estimate& e) {
  char text[256];
  std::snprintf(text, sizeof text,
                "%-24s %3lld x %3lld x %5.1f ns + %3lld x %5.0f ns = %7.1f us, memory %6.1f us; "
                "with %4.1f us to start and to end, times %.2f: %7.1f us",
                name(candidate).c_str(), static_cast<long long>(e.waves),
                static_cast<long long>(e.steps), e.step, static_cast<long long>(e.waves - 1),
                constants.tile, e.work / 1e3, e.memory / 1e3, (e.around + e.first + e.cut) / 1e3,
                e.times, e.total / 1e3);
  return text;
}

}  // namespace ladder::tuned
