#pragma once
// What the library does about a problem, decided from numbers alone: no matrix is read, and no
// CUDA header is needed.
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../tuned/choice.h"
#include "../validate.h"
#include "candidates.h"

namespace ladder::library {

// A GPU, as far as the choice goes.
struct Gpu {
  std::string name;        // as CUDA has it
  int compute_capability;  // 90 is 9.0
  int multiprocessors;
  // What this build has for it: kernels that use wgmma; those that use clusters; any at all.
  bool has_wgmma, has_clusters, has_kernels;
};

enum class Type { FP16, BF16, FP32 };
inline constexpr const char* TYPES[] = {"fp16", "bf16", "fp32"};

// Who decides on a tile: the model with measured times, or nobody, for there is one.
enum class Tiles { FIRST_DONE, FIXED };
// Of the kernel for linear layers, which takes each step along K in turn for every tile. Two blocks
// share a multiprocessor, so that one multiplies while the other begins or ends.
inline constexpr tuned::Row FIXED_TILE = {{Kernel::FEW_ROWS, 64, 64, 1, 1, 1, 2}, {}};
static_assert(is_linear_tile(FIXED_TILE.candidate));

// What multiplies.
enum class Way {
  NOTHING,   // C is empty
  ZEROS,     // K is 0
  PRODUCT,   // a kernel of 11c to 14, as 15 chooses
  FUSED,     // one of 16's
  LAYOUT,    // one of 18's
  LINEAR,    // one of those for a linear layer of few rows
  FEW_ROWS,  // 05e, which leaves to 05d and 05c what they do faster
  SPLIT_K,   // 05c
  SWIZZLE,   // 07b
  GROUPED,   // 21, of a whole batch
  BATCH,     // a launch for each 64 of a batch
  ALONG_K,   // 17, 17c, 19, 20, to_float or to_fp8
};

// A matrix that has a place in the workspace: `rows` of `columns` elements, `ld` apart.
struct Copy {
  int64_t rows, columns, ld;
  uint64_t elements() const { return static_cast<uint64_t>(rows) * static_cast<uint64_t>(ld); }
};

struct Plan {
  Way way = Way::NOTHING;
  const tuned::Row* tile = nullptr;  // for PRODUCT, FUSED, LAYOUT and LINEAR
  double ns = 0;                     // expected, of the kernel that multiplies; 0: nobody knows
  // Whether it pays to start early: where the launch is a good part of the time, and neither device
  // memory nor blocks that share a multiprocessor are the limit. Elsewhere half of 2,944 products
  // took longer so, at worst twice as long (H200; 347x2112x7168: 32 us and not 22.5).
  bool pays_early = false;
  // Copied to the workspace first, for kernels take rows that begin on 16 bytes; C, from there.
  std::optional<Copy> a, b, c, addend, residual, bias;
  // Transposed to the workspace first, and by rows from then on.
  std::optional<Copy> turned_a, turned_b;
  uint64_t way_bytes = 0;  // of the workspace, for the way itself

  // Every part of the workspace begins on a line of L2.
  static uint64_t on_lines(uint64_t bytes) { return (bytes + 127) / 128 * 128; }
  uint64_t workspace_bytes(uint64_t element_bytes) const {
    uint64_t sum = way_bytes;
    for (const auto* part : {&a, &b, &c, &addend, &residual, &bias, &turned_a, &turned_b})
      if (*part) sum += on_lines((*part)->elements() * element_bytes);
    return sum;
  }
};

// ---- What is refused ---------------------------------------------------------------------------

// Throws std::invalid_argument. `type` is in words.
template <class In, class Out>
void require_no_scales(const Gemm<In, Out>& p, const std::string& type) {
  if (p.scales.a || p.scales.b)
    throw std::invalid_argument("scales of blocks belong to e4m3 and e5m2, and this is " + type);
}

// Throws std::invalid_argument, naming what no stage can do or what cannot be.
template <class In, class Out>
void require_possible(const Gemm<In, Out>& p, Type type, const Gpu& gpu) {
  require_valid_sizes(p);
  require_no_groups(p);
  require_valid_epilogue_sizes(p);
  require_no_scales(p, TYPES[static_cast<int>(type)]);
  if (gpu.compute_capability < 80)
    throw std::invalid_argument(gpu.name + " has compute capability " +
                                std::to_string(gpu.compute_capability / 10) + "." +
                                std::to_string(gpu.compute_capability % 10) +
                                ", but the library's kernels need 8.0 or later; stage 04d runs "
                                "there, by its own header, in fp32");
  if (!gpu.has_kernels)
    throw std::invalid_argument("this build has no kernel for " + gpu.name +
                                ": CMAKE_CUDA_ARCHITECTURES has to name its compute capability, " +
                                std::to_string(gpu.compute_capability));
}

// ---- The choice --------------------------------------------------------------------------------

// Whether a way can take a candidate: what launches it has it.
inline bool is_allowed(const tuned::Candidate& c, Way way, Type type, bool transposed_a) {
  using tuned::Kernel;
  if (way == Way::FUSED) return is_among(c, FUSED_TILES);
  if (way == Way::LAYOUT && transposed_a) return is_among(c, A_BY_COLUMNS);
  if (way == Way::LINEAR || (way == Way::PRODUCT && is_large(c))) return is_linear_tile(c);
  if (c.kernel == Kernel::FIT_THE_WAVES || c.kernel == Kernel::PING_PONG) return is_among(c, TILES);
  // 11c is of halves.
  return way == Way::PRODUCT && (type == Type::FP16 || c.kernel == Kernel::FEW_ROWS);
}

// The candidate that is done first, remembered: a table takes 5 us of the host to go through, and
// programs ask again and again for the same few sizes. Each thread remembers for itself.
template <class In, class Out>
tuned::Choice first_done(const Gemm<In, Out>& p, const Gpu& gpu, Way way, Type type) {
  struct Question {
    const tuned::Gpu* table;
    int multiprocessors, M, N, K;
    bool a_off, b_off;  // the lines of L2: all that the model sees of leading dimensions
    bool transposed_a, transposed_b;
    Way way;
    Type type;
    bool operator==(const Question& q) const {
      return table == q.table && multiprocessors == q.multiprocessors && M == q.M && N == q.N &&
             K == q.K && a_off == q.a_off && b_off == q.b_off && transposed_a == q.transposed_a &&
             transposed_b == q.transposed_b && way == q.way && type == q.type;
    }
  };
  const auto off = [](int64_t ld) { return ld * sizeof(In) % tuned::LINE != 0; };
  const Question question{&tuned::table_of(gpu.name),
                          gpu.multiprocessors,
                          p.M,
                          p.N,
                          p.K,
                          off(p.lda),
                          off(p.ldb),
                          p.transposed_a,
                          p.transposed_b,
                          way,
                          type};
  constexpr size_t REMEMBERED = 256;
  static thread_local std::array<std::pair<Question, tuned::Choice>, REMEMBERED> answers{};
  const uint64_t mixed =
      (static_cast<uint64_t>(p.M) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(p.N)) *
          0x9E3779B97F4A7C15u +
      static_cast<uint64_t>(p.K) * 4 + static_cast<uint64_t>(way);
  auto& [asked, answer] = answers[(mixed * 0x9E3779B97F4A7C15u >> 56) % REMEMBERED];
  if (!(asked == question)) {
    answer = tuned::first_done(
        p, *question.table, gpu.multiprocessors,
        [&](const tuned::Candidate& c) { return is_allowed(c, way, type, p.transposed_a); });
    asked = question;
  }
  return answer;
}

template <class T>
bool is_aligned(const T* matrix, int64_t ld) {
  return reinterpret_cast<uintptr_t>(matrix) % 16 == 0 &&
         static_cast<uint64_t>(ld) % (16 / sizeof(T)) == 0;
}
// Rows that begin on 16 bytes, whatever the type; 18's pass that transposes writes such rows.
inline Copy turned(int64_t rows, int64_t columns) {
  return {rows, columns, (columns + 7) / 8 * 8};
}
// Rows that begin on lines of L2, which takes a step less time; or on 16 bytes, where it would be
// an eighth more to copy.
inline Copy aligned(int64_t rows, int64_t columns) {
  const int64_t on_lines = (columns + 63) / 64 * 64;
  if (on_lines > columns + columns / 8) return turned(rows, columns);
  return {rows, columns, on_lines};
}

// `way_bytes(way, p)` is what a way itself needs of the workspace. Throws as require_possible().
template <class In, class Out, class WayBytes>
Plan plan(Gemm<In, Out> p, Type type, const Gpu& gpu, Tiles tiles, WayBytes way_bytes) {
  require_possible(p, type, gpu);
  Plan plan;
  if (p.M == 0 || p.N == 0) return plan;
  const Epilogue<Out>& e = p.epilogue;
  const bool is_alone = is_product_alone(e);
  const bool is_fixed = tiles == Tiles::FIXED && type != Type::FP32 && gpu.has_wgmma;

  if (p.K > 0) {
    const bool turned_a = p.transposed_a, turned_b = p.transposed_b;
    const int a_rows = turned_a ? p.K : p.M, a_columns = turned_a ? p.M : p.K;
    const int b_rows = turned_b ? p.N : p.K, b_columns = turned_b ? p.K : p.N;
    const bool turns = !gpu.has_wgmma || type == Type::FP32;  // who reads no matrix by columns
    // To transpose a matrix is to copy it, from rows that begin anywhere.
    // The kernel with the fixed tile reads B by columns, but not A.
    if ((turns || is_fixed) && turned_a) plan.turned_a = turned(p.M, p.K);
    if (turns && turned_b) plan.turned_b = turned(p.K, p.N);
    if (!plan.turned_a && !is_aligned(p.A, p.lda)) plan.a = aligned(a_rows, a_columns);
    if (!plan.turned_b && !is_aligned(p.B, p.ldb)) plan.b = aligned(b_rows, b_columns);
    if (plan.a) p.lda = plan.a->ld;
    if (plan.b) p.ldb = plan.b->ld;
    if (plan.turned_a) p.lda = plan.turned_a->ld, p.transposed_a = false;
    if (plan.turned_b) p.ldb = plan.turned_b->ld, p.transposed_b = false;
  }
  if ((p.K > 0 || !is_alone) && !is_aligned(p.C, p.ldc)) plan.c = aligned(p.M, p.N);
  if (type != Type::FP32) {  // there an epilogue reads element by element
    if (e.beta != 0 && !is_aligned(e.addend, e.ld_addend)) plan.addend = aligned(p.M, p.N);
    if (e.residual && !is_aligned(e.residual, e.ld_residual)) plan.residual = aligned(p.M, p.N);
    if (e.bias && !is_aligned(e.bias, 0)) plan.bias = aligned(1, p.N);
  }

  if (p.K == 0) {
    plan.way = Way::ZEROS;
    return plan;
  }
  if (type == Type::FP32)
    plan.way = gpu.has_clusters ? Way::FEW_ROWS : Way::SPLIT_K;
  else if (!gpu.has_wgmma)
    plan.way = Way::SWIZZLE;
  else if (is_fixed)
    plan.way = Way::LINEAR, plan.tile = &FIXED_TILE;
  else if (p.transposed_a || p.transposed_b)
    plan.way = Way::LAYOUT;
  else  // an epilogue is never a pass of its own: the product would be rounded before it, to T
    plan.way = is_alone ? Way::PRODUCT : Way::FUSED;

  if (type != Type::FP32 && gpu.has_wgmma && !is_fixed) {
    tuned::Choice first = first_done(p, gpu, plan.way, type);
    if (plan.way == Way::PRODUCT) {
      if (is_large(first.row->candidate)) plan.way = Way::LINEAR;
    } else if (!p.transposed_a) {
      const tuned::Choice linear = first_done(p, gpu, Way::LINEAR, type);
      if (linear.estimate.total < first.estimate.total) first = linear, plan.way = Way::LINEAR;
    }
    plan.tile = first.row;
    plan.ns = first.estimate.total;
    constexpr double SHORT_NS = 12'000;
    plan.pays_early = first.estimate.total < SHORT_NS &&
                      first.estimate.work > first.estimate.memory &&
                      first.row->candidate.resident == 1;
  }
  plan.way_bytes = way_bytes(plan.way, p);
  if (plan.way_bytes > 0) {  // 05c divides K, and C, which these may be, has parts of sums first
    if (e.beta != 0) plan.addend = aligned(p.M, p.N);
    if (e.residual) plan.residual = aligned(p.M, p.N);
  }
  return plan;
}

// ---- Its reasons -------------------------------------------------------------------------------

// The first line of these words: the problem, whose type is in words.
template <class In, class Out>
std::string in_words(const Gemm<In, Out>& p, const std::string& type, const Gpu& gpu) {
  return type + ", C of " + std::to_string(p.M) + " x " + std::to_string(p.N) + ", K of " +
         std::to_string(p.K) + ", A by " + (p.transposed_a ? "columns" : "rows") + ", B by " +
         (p.transposed_b ? "columns" : "rows") +
         (p.scales.a || p.scales.b ? ", with scales of blocks" : "") +
         (is_product_alone(p.epilogue) ? "" : ", with an epilogue") + ", on " + gpu.name + "\n";
}

// Whether a batch of such products is worth fewer launches than products: 16 bits with wgmma, A by
// rows, rows that begin on 16 bytes, no epilogue. It is where C of one of them has few tiles: a
// launch by itself ends with a wave that leaves multiprocessors idle. Measured on an H100: two
// waves of tiles of 128x256, or less.
template <class In, class Out>
bool is_for_batch(const Plan& plan, const Gemm<In, Out>& p, const Gpu& gpu) {
  const bool is_possible =
      (plan.way == Way::PRODUCT || plan.way == Way::LINEAR || plan.way == Way::LAYOUT) &&
      plan.tile != &FIXED_TILE && is_product_alone(p.epilogue) && !p.transposed_a && !plan.a &&
      !plan.b && !plan.c;
  const int64_t elements = int64_t{p.M} * p.N, of_two_waves = 2 * 128 * 256 * gpu.multiprocessors;
  return is_possible && elements <= of_two_waves;
}
// And whether it is 21's: more products than batch.cuh has in a launch, of fp16, by rows, one
// behind the other without gaps. With fewer that kernel is as fast, or 3% faster (H200).
constexpr int IN_A_LAUNCH = 64;
template <class In, class Out>
bool is_for_groups(const Gemm<In, Out>& p, Type type, int64_t count, int64_t stride_a,
                   int64_t stride_b, int64_t stride_c) {
  return count > IN_A_LAUNCH && type == Type::FP16 && !p.transposed_b &&
         count * p.M <= MAX_DIMENSION && stride_a == p.M * p.lda && stride_b == p.K * p.ldb &&
         stride_c == p.M * p.ldc;
}

// A plan in words. `few_rows` is the stage and its configuration where the way is FEW_ROWS: 05e's
// own choice among itself, 05d and 05c.
template <class In, class Out>
std::string in_words(const Plan& plan, const Gemm<In, Out>& p, Type type, const Gpu& gpu,
                     const std::string& few_rows) {
  const bool is_alone = is_product_alone(p.epilogue);
  std::string text = in_words(p, TYPES[static_cast<int>(type)], gpu);
  const auto line = [&](const std::string& what) { text += what + "\n"; };
  const auto copied = [&](const std::optional<Copy>& copy, const char* name) {
    if (copy)
      line("first, a copy of " + std::string(name) + " to the workspace, in rows of " +
           std::to_string(copy->ld) + " elements: " +
           (type == Type::FP32 && (&copy == &plan.addend || &copy == &plan.residual)
                ? "C, which it may be, has parts of sums before they are finished"
                : "kernels take rows that begin on 16 bytes"));
  };
  const auto turned = [&](const std::optional<Copy>& copy, const char* name) {
    if (copy)
      line("first, 18's pass that transposes " + std::string(name) +
           " to the workspace: the kernel below takes it by rows");
  };
  copied(plan.a, "A"), copied(plan.b, "B"), copied(plan.addend, "the addend");
  copied(plan.residual, "the residual"), copied(plan.bias, "the bias");
  turned(plan.turned_a, "A"), turned(plan.turned_b, "B");

  Gemm<In, Out> q = p;  // as the kernel gets it
  if (plan.a) q.lda = plan.a->ld;
  if (plan.b) q.ldb = plan.b->ld;
  const auto nearest = [&] {
    const std::vector<tuned::Choice> all = tuned::in_order(
        q, tuned::table_of(gpu.name), gpu.multiprocessors,
        [&](const tuned::Candidate& c) { return is_allowed(c, plan.way, type, p.transposed_a); });
    line("which the model of 15 expects to be done first of " + std::to_string(all.size()) +
         " (waves x steps along K x time of a step):");
    text += tuned::describe(all, 3, "  ");
    if (const std::string remark = tuned::remark(gpu.name); !remark.empty()) line(remark);
    if (type == Type::BF16) line("the constants were measured in fp16");
  };
  const std::string within = is_alone ? "" : ", the epilogue within the kernel";
  const std::string tile = plan.tile ? tuned::name(plan.tile->candidate) : "";
  switch (plan.way) {
    case Way::NOTHING:
      line("nothing: C is empty");
      break;
    case Way::ZEROS:
      line(is_alone ? "zeros, for K is 0"
                    : "no product, for K is 0: " + std::string(type == Type::FP32 ? "05c" : "16") +
                          "'s kernel for epilogues alone");
      break;
    case Way::PRODUCT:
      line("stage " + tile + ",");
      nearest();
      break;
    case Way::FUSED:
      line("stage 16, the epilogue within the kernel of " + tile + ",");
      nearest();
      break;
    case Way::LAYOUT:
      line("stage 18, which takes any layout, with the tiles of " + tile + within + ",");
      nearest();
      break;
    case Way::LINEAR:
      if (plan.tile == &FIXED_TILE) {
        line("the kernel for linear layers, with the tiles of " + tile +
             ": the fixed tile, which was asked for");
        break;
      }
      line("the kernel for linear layers of few rows, with the tiles of " + tile + ",");
      nearest();
      break;
    case Way::FEW_ROWS:
      line("stage " + few_rows + within + ", which 05e's model expects to be done first");
      break;
    case Way::SPLIT_K:
      line("stage 05c split_k" + within + ": the faster ones need clusters, which " + gpu.name +
           " or this build does not have");
      break;
    case Way::ALONG_K:  // along_k.h has the words
      break;
    case Way::GROUPED:
      line("stage 21 grouped, of the whole batch: C of one product has two waves of tiles or less");
      break;
    case Way::BATCH:
      line("13's kernel for each " + std::to_string(IN_A_LAUNCH) +
           " of the batch: C of one product has two waves of tiles or less");
      break;
    case Way::SWIZZLE:
      line("stage 07b swizzle" + within + ": the faster ones need wgmma (sm_90a), which " +
           gpu.name + " or this build does not have");
      break;
  }
  if (plan.c) line("last, a copy of C from the workspace, where its rows begin on 16 bytes");
  const uint64_t bytes = plan.workspace_bytes(sizeof(In));
  if (bytes > 0) line("workspace: " + std::to_string(bytes) + " bytes");
  return text;
}

}  // namespace ladder::library
