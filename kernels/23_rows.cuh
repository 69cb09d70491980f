#pragma once
// 23 rows: softmax, RMSNorm, LayerNorm, LayerNorm + GELU, cross-entropy of each row of a matrix.
// Idea    a row is read once: its threads keep it in registers from the first sum, through all that
//         follows, to the result. Nothing else is needed, for the time is that of the memory.
// vs 22   its softmax read a row three times. Here a word is 16 bytes, a row has as many threads as
//         it has words for, 32 to 1024, and what is computed of a row is a parameter.
// Step    the kernel is another: of 22's softmax it keeps the reduction.
// Limit   device memory: each number is read once and written once.
#include "launch.cuh"
#include "parts/epilogue.cuh"
#include "parts/sixteen_bits.cuh"
#include "ptx/exp2.cuh"
#include "rows.cuh"

namespace ladder::rows {

constexpr float LOG2_E = 1.4426950408889634f;
constexpr float LOWEST = -3.402823466e38f;  // unlike -infinity it can be subtracted from itself

// ---- A row in registers ------------------------------------------------------------------------

__device__ __forceinline__ float as_float(float x) {
  return x;
}
using ladder::as_float;
template <class T>
__device__ __forceinline__ T rounded_to(float x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return rounded<T>(x);
}

// What a thread loads at once: RAW is uint4, 16 bytes, or T where rows do not lie on 16 bytes.
template <class T, class RAW>
struct Word {
  static constexpr int NUMBERS = sizeof(RAW) / sizeof(T);
  RAW raw;
  __device__ __forceinline__ float operator[](int i) const {
    return as_float(reinterpret_cast<const T*>(&raw)[i]);
  }
  // Then its numbers are unpacked anew: the compiler does not keep them from the last time, in
  // twice as many registers.
  __device__ __forceinline__ void forget() {
    if constexpr (sizeof(RAW) == sizeof(uint4)) {
      int* const parts = reinterpret_cast<int*>(&raw);
      for (int i = 0; i < 4; ++i) parts[i] = ptx::forgotten(parts[i]);
    }
  }
};
// Word number i of a row, or of what there is for each column.
template <class W, class T>
__device__ __forceinline__ W word_at(const T* row, int i) {
  return reinterpret_cast<const W*>(row)[i];
}

// The word of which number i is f(i).
template <class T, class RAW, class Function>
__device__ __forceinline__ Word<T, RAW> word_of(const Function& f) {
  Word<T, RAW> word;
  if constexpr (std::is_same_v<T, bf16> && word.NUMBERS > 1) {
#pragma unroll
    for (int i = 0; i < word.NUMBERS; i += 2)
      reinterpret_cast<uint32_t*>(&word.raw)[i / 2] = as_pair<T>(f(i), f(i + 1));
  } else {
#pragma unroll
    for (int i = 0; i < word.NUMBERS; ++i) reinterpret_cast<T*>(&word.raw)[i] = rounded_to<T>(f(i));
  }
  return word;
}

struct Sum {
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};
struct Largest {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The values of as many neighbouring lanes combined; each of them gets the same.
template <int LANES, class Combine>
__device__ __forceinline__ float of_lanes(float value, const Combine& combine) {
#pragma unroll
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFF, value, lanes));
  return value;
}

// The threads that have a row, a warp or a block, and what they tell each other.
template <int COUNT>
class Team {
 public:
  static constexpr int THREADS = COUNT, WARPS = THREADS / 32;
  // Rows that a block has: of short rows four. And its threads.
  static constexpr int ROWS = WARPS == 1 ? 4 : 1, BLOCK = THREADS * ROWS;
  struct Place {
    float of_warps[2][WARPS];
  };

  // The block's place for what its warps tell each other.
  __device__ __forceinline__ explicit Team(Place& place) : place_(place) {}
  __device__ __forceinline__ int thread() const { return threadIdx.x % THREADS; }
  __device__ __forceinline__ int64_t row() const {
    return int64_t{blockIdx.x} * ROWS + threadIdx.x / THREADS;
  }

  // All threads' values combined; every thread gets the same.
  template <class Combine>
  __device__ __forceinline__ float all(float value, const Combine& combine) {
    value = of_lanes<32>(value, combine);
    if constexpr (WARPS == 1) return value;
    // One barrier is enough: whoever writes this half of the place again has been at the barrier of
    // the other half, and before it all have read this one.
    float* const values = place_.of_warps[turn_ ^= 1];
    if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = value;
    __syncthreads();
    return of_lanes<WARPS>(values[threadIdx.x % WARPS], combine);
  }

 private:
  Place& place_;
  int turn_ = 0;
};

// A row, of which each thread of a team keeps up to KEPT words, and reads again what there is more.
template <class T, class RAW, class Team, int KEPT>
class Row {
 public:
  using W = Word<T, RAW>;
  Team& team;

  __device__ __forceinline__ Row(const Rows<T>& p, Team& team)
      : team(team),
        x_(p.X + team.row() * p.width),
        y_(p.Y + team.row() * p.width),
        words_(p.width / W::NUMBERS) {
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
      if (index(k) < words_) kept_[k] = word_at<W>(x_, index(k));
  }

  // f(word, its number) for each of this thread's words.
  template <class Function>
  __device__ __forceinline__ void for_each(const Function& f) {
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
      if (index(k) < words_) {
        if constexpr (KEPT > 4) kept_[k].forget();
        f(kept_[k], index(k));
      }
    if constexpr (KEPT > 4) {
#pragma unroll 1  // there are no registers for several
      for (int w = index(KEPT); w < words_; w += Team::THREADS) f(word_at<W>(x_, w), w);
    } else {
      for (int w = index(KEPT); w < words_; w += Team::THREADS) f(word_at<W>(x_, w), w);
    }
  }
  // The sum of f(number) over the row.
  template <class Function>
  __device__ __forceinline__ float sum(const Function& f) {
    float sum = 0;
    for_each([&](const W& word, int) {
#pragma unroll
      for (int i = 0; i < W::NUMBERS; ++i) sum += f(word[i]);
    });
    return team.all(sum, Sum());
  }
  __device__ __forceinline__ float largest() {
    float largest = -__builtin_huge_valf();
    for_each([&](const W& word, int) {
#pragma unroll
      for (int i = 0; i < W::NUMBERS; ++i) largest = fmaxf(largest, word[i]);
    });
    return team.all(largest, Largest());
  }
  // Of Y: number i of word number w is f(w)(X's, i).
  template <class Function>
  __device__ __forceinline__ void store(const Function& f) {
    for_each([&](const W& word, int w) {
      const auto g = f(w);
      reinterpret_cast<W*>(y_)[w] = word_of<T, RAW>([&](int i) { return g(word[i], i); });
    });
  }

 private:
  // Neighbouring threads have neighbouring words.
  __device__ __forceinline__ int index(int k) const {
    return k * Team::THREADS + team.thread();
  }

  const T* x_;
  T* y_;
  int words_;
  W kept_[KEPT > 0 ? KEPT : 1];
};

// ---- What is computed of it --------------------------------------------------------------------

// Powers of e of the numbers of a row; the largest is 1.
struct Power {
  float largest;
  __device__ __forceinline__ float operator()(float x) const {
    return ptx::exp2_approx((x - largest) * LOG2_E);
  }
};

struct Softmax {
  template <class T, class Row>
  static __device__ __forceinline__ void apply(const Rows<T>&, Row& row) {
    const Power power{row.largest()};
    const float factor = 1 / row.sum(power);
    row.store([=](int) { return [=](float x, int) { return power(x) * factor; }; });
  }
};

// The largest number need not be known before the sum, as in 22b: so any row is read once.
struct CrossEntropy {
  template <class T, class Row>
  static __device__ __forceinline__ void apply(const Rows<T>& p, Row& row) {
    float largest = LOWEST, sum = 0;  // of this thread
    row.for_each([&](const typename Row::W& word, int) {
      const float before = largest;
#pragma unroll
      for (int i = 0; i < word.NUMBERS; ++i) largest = fmaxf(largest, word[i]);
      const Power power{largest};
      sum *= power(before);
#pragma unroll
      for (int i = 0; i < word.NUMBERS; ++i) sum += power(word[i]);
    });
    const Power power{row.team.all(largest, Largest())};
    sum = row.team.all(sum * power(largest), Sum());
    if (row.team.thread() != 0) return;
    const int64_t i = row.team.row();
    const int target = p.targets[i];
    if (target < 0)
      p.losses[i] = 0;
    else if (target < p.width)
      p.losses[i] = logf(sum) + power.largest - as_float(p.X[i * p.width + target]);
    else
      p.losses[i] = __builtin_nanf("");
  }
};

struct RmsNorm {
  template <class T, class Row>
  static __device__ __forceinline__ void apply(const Rows<T>& p, Row& row) {
    const float squares = row.sum([](float x) { return x * x; });
    const float factor = rsqrtf(squares / p.width + p.epsilon);
    row.store([=](int w) {
      const auto gain = word_at<typename Row::W>(p.gain, w);
      return [=](float x, int i) { return x * factor * gain[i]; };
    });
  }
};

// The variance is a sum of its own, over the row in registers: as mean(x^2) - mean(x)^2 it would
// lose all digits where the mean is large.
template <bool WITH_GELU>
struct LayerNorm {
  template <class T, class Row>
  static __device__ __forceinline__ void apply(const Rows<T>& p, Row& row) {
    const float mean = row.sum([](float x) { return x; }) / p.width;
    const float squares = row.sum([=](float x) { return (x - mean) * (x - mean); });
    const float factor = rsqrtf(squares / p.width + p.epsilon);
    constexpr TanhGate gelu = GELU;
    row.store([=](int w) {
      const auto gain = word_at<typename Row::W>(p.gain, w);
      const auto bias = word_at<typename Row::W>(p.bias, w);
      return [=](float x, int i) {
        const float normed = (x - mean) * factor * gain[i] + bias[i];
        return WITH_GELU ? gelu(normed) : normed;
      };
    });
  }
};

template <class Operation, class T, class RAW, class Team, int KEPT>
__global__ void __launch_bounds__(Team::BLOCK) rows_kernel(const Rows<T> p) {
  Team team(dynamic_shared<typename Team::Place>());
  if (team.row() >= p.rows) return;  // all threads of the team
  Row<T, RAW, Team, KEPT> row(p, team);
  Operation::apply(p, row);
}

// ---- The launcher ------------------------------------------------------------------------------

// Whether every row of every operand lies on 16 bytes.
template <class T>
bool has_words_of_16_bytes(const Rows<T>& p) {
  const auto at = [](const void* address) { return reinterpret_cast<uintptr_t>(address); };
  return p.width % (sizeof(uint4) / sizeof(T)) == 0 &&
         (at(p.X) | at(p.Y) | at(p.gain) | at(p.bias)) % sizeof(uint4) == 0;
}

// Calls with(operation) for p's.
template <class T, class With>
void with_operation(const Rows<T>& p, const With& with) {
  switch (p.operation) {
    case RowOperation::SOFTMAX:
      return with(Softmax{});
    case RowOperation::RMS_NORM:
      return with(RmsNorm{});
    case RowOperation::LAYER_NORM:
      return with(LayerNorm<false>{});
    case RowOperation::LAYER_NORM_GELU:
      return with(LayerNorm<true>{});
    case RowOperation::CROSS_ENTROPY:
      return with(CrossEntropy{});
  }
}

template <class T, class RAW, int THREADS, int KEPT>
void launch_rows(const Rows<T>& p) {
  using Team = rows::Team<THREADS>;
  with_operation(p, [&](auto operation) {
    launch(rows_kernel<decltype(operation), T, RAW, Team, KEPT>, dim3(ceil_div(p.rows, Team::ROWS)),
           dim3(Team::BLOCK), sizeof(typename Team::Place), p.stream, p);
  });
}

// Threads for a row so that each has up to four words. Rows of more than 4,096 words are kept in
// part: with eight words a thread, 1,024 threads have too few registers.
template <class T, class RAW>
void launch_with_words(const Rows<T>& p) {
  const int words = p.width / Word<T, RAW>::NUMBERS;
  if (words <= 32 * 4) return launch_rows<T, RAW, 32, 4>(p);
  if (words <= 128 * 4) return launch_rows<T, RAW, 128, 4>(p);
  if (words <= 256 * 4) return launch_rows<T, RAW, 256, 4>(p);
  launch_rows<T, RAW, 1024, 4>(p);
}
template <class T>
void rows(const Rows<T>& p) {
  if (done_without_kernel(p)) return;
  has_words_of_16_bytes(p) ? launch_with_words<T, uint4>(p) : launch_with_words<T, T>(p);
}

// Nothing in registers: each sum, and the result, read the row from memory.
template <class T>
void read_each_time(const Rows<T>& p) {
  if (done_without_kernel(p)) return;
  has_words_of_16_bytes(p) ? launch_rows<T, uint4, 256, 0>(p) : launch_rows<T, T, 256, 0>(p);
}

// A number at a time, as 22's softmax did.
template <class T>
void number_by_number(const Rows<T>& p) {
  if (!done_without_kernel(p)) launch_with_words<T, T>(p);
}

}  // namespace ladder::rows
