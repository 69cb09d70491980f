#pragma once
// What an exercise's check.cpp is written with: matrices with guards around them, launches that are
// watched and counted, comparisons with a reference that is computed after the launch. The same
// check.cpp is compiled for the CPU device and for a GPU. What computes many elements is in
// grader.cpp: in a solution's file there is a call before each access, of the host's functions,
// too.
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "launch.cuh"
#include "types.cuh"

namespace grader {

// Row-major, in the device's memory; `host` is the copy that the grader has. A vector is a matrix
// of one row. Elements between the width and ld are NaN, and so is an output before the launch.
template <class T>
struct Matrix {
  std::string name;
  int rows, columns;
  int64_t ld;  // elements from row to row
  T* data;     // on the device
  std::vector<T> host;

  T operator()(int row, int column) const {
    return host[static_cast<size_t>(row) * static_cast<size_t>(ld) + static_cast<size_t>(column)];
  }
  T operator()(int i) const { return (*this)(0, i); }
  double value(int row, int column) const;  // of one of the types that grader.cpp lists
};

// A matrix that is stored as its transpose: B is N x K, transposed(B) is K x N.
template <class T>
struct Transposed {
  const Matrix<T>& stored;
  double value(int row, int column) const { return stored.value(column, row); }
};
template <class T>
Transposed<T> transposed(const Matrix<T>& stored) {
  return {stored};
}

// What is drawn for an element: 64 random bits to a value.
template <class T>
T uniform(uint64_t bits);  // [-1, 1) of float and half
template <>
inline float uniform<float>(uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
}
template <>
inline half uniform<half>(uint64_t bits) {
  return __float2half(uniform<float>(bits));
}

// One shape of the problem: its data, launches and comparisons. check.cpp describes it once; it is
// run with several seeds.
class Case {
 public:
  Case(std::string name, uint64_t seed, bool timed);
  ~Case();
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  // An input of random elements. `draw` makes one of 64 random bits; left out, [-1, 1).
  template <class T>
  Matrix<T> input(const std::string& name, int rows, int columns, int64_t ld = 0,
                  const std::function<T(uint64_t)>& draw = uniform<T>) {
    return unchanged(make<T>(name, rows, columns, ld, [&](int64_t i) { return draw(random(i)); }));
  }
  // An input of elements that draw(row, column) gives.
  template <class T>
  Matrix<T> input_of(const std::string& name, int rows, int columns,
                     const std::function<T(int, int)>& draw) {
    return unchanged(make<T>(name, rows, columns, 0, [&](int64_t i) {
      return draw(static_cast<int>(i / columns), static_cast<int>(i % columns));
    }));
  }
  // An output, NaN before the launch: what is not written is seen.
  template <class T>
  Matrix<T> output(const std::string& name, int rows, int columns, int64_t ld = 0) {
    return make<T>(name, rows, columns, ld, {});
  }
  // One that begins as zeros, for atomics.
  template <class T>
  Matrix<T> zeros(const std::string& name, int rows, int columns) {
    return make<T>(name, rows, columns, 0, [](int64_t) { return T{}; });
  }

  // Launches a kernel with `smem_bytes` of dynamic shared memory. Races, stray accesses and the
  // like are findings of the case; costs of its launches are added up.
  template <class... Params>
  void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t smem_bytes,
              std::common_type_t<Params>... args) {
    launch_clusters(1, kernel, grid, block, smem_bytes, args...);
  }
  // `cluster` neighbouring blocks along x are a cluster.
  template <class... Params>
  void launch_clusters(unsigned cluster, void (*kernel)(Params...), dim3 grid, dim3 block,
                       size_t smem_bytes, std::common_type_t<Params>... args) {
    // Others could compute on the host, when arguments are converted to them.
    static_assert(((!std::is_class_v<Params> || std::is_aggregate_v<Params>)&&...),
                  "parameters of kernels are numbers, pointers and aggregates");
    run(
        [&] {
#ifdef LADDER_CPU_DEVICE
          cpu_device::run_grid({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, cluster,
                               smem_bytes, [&] {
                                 kernel(args...);
                                 thread_ends();
                               });
#else
          ladder::launch_clusters(cluster, kernel, grid, block, smem_bytes, nullptr, args...);
#endif
        },
        smem_bytes);
  }

  // Compares all elements with expected(row, column), which is asked now, after the launch, and
  // looks for writes around the output. |got - expected| may be tolerance * (1 + |expected|).
  template <class T>
  void expect(const Matrix<T>& output, double tolerance,
              const std::function<double(int, int)>& expected);
  // output = a * b, accumulated in fp32 in any order: by the bound of bench/harness/bound.h.
  template <class In, class Out>
  void expect_product(const Matrix<Out>& output, const Matrix<In>& a, const Matrix<In>& b);
  // The same with expect_product(C, A, transposed(B)).
  template <class In, class Out>
  void expect_product(const Matrix<Out>& output, const Matrix<In>& a, const Transposed<In>& b);

 private:
  friend class Exercise;
  struct Result;
  using Reference = std::function<double(int, int)>;
  using Bound = std::function<double(int, int, double)>;
  static constexpr size_t GUARD = 1024;  // elements before and after an output

  uint64_t random(int64_t i);
  void* allocate(size_t bytes);
  static void name_matrix(const void* data, const std::string& name, size_t rows, size_t pitch,
                          size_t row_bytes, size_t element_bytes);
  static void copy_to_device(void* to, const void* from, size_t bytes);
  static void copy_to_host(void* to, const void* from, size_t bytes);
  void run(const std::function<void()>& launch, size_t smem_bytes);
  static void thread_ends();  // on the CPU device, in the thread
  void wrong_element(const std::string& name, int rows, int columns, int row, int column,
                     double got, double expected);
  void stray_write(const std::string& name, const std::string& where);
  void compare_inputs();
  template <class In, class Out>
  void time_cublas(const ladder::Gemm<In, Out>& problem);

  template <class T>
  Matrix<T> make(const std::string& name, int rows, int columns, int64_t ld,
                 const std::function<T(int64_t)>& element) {
    if (ld == 0) ld = columns;
    const size_t pitch = static_cast<size_t>(ld), size = static_cast<size_t>(rows) * pitch;
    std::vector<T> all(size + 2 * GUARD);
    std::fill_n(reinterpret_cast<unsigned char*>(all.data()), all.size() * sizeof(T), 0xFF);
    if (element)
      for (int64_t i = 0; i < int64_t{rows} * columns; ++i)
        all[GUARD + static_cast<size_t>(i / columns * ld + i % columns)] = element(i);
    T* const base = static_cast<T*>(allocate(all.size() * sizeof(T)));
    copy_to_device(base, all.data(), all.size() * sizeof(T));
    name_matrix(base + GUARD, name, static_cast<size_t>(rows), pitch * sizeof(T),
                static_cast<size_t>(columns) * sizeof(T), sizeof(T));
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(GUARD);
    return {name, rows,         columns,
            ld,   base + GUARD, std::vector<T>(first, first + static_cast<std::ptrdiff_t>(size))};
  }

  // A kernel must not change an input: it is compared when the case has ended.
  template <class T>
  Matrix<T> unchanged(const Matrix<T>& input) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(input.host.data());
    kept_.push_back({input.name, input.data, {bytes, bytes + input.host.size() * sizeof(T)}});
    return input;
  }

  template <class A, class B, class Out>
  void expect_product_of(const Matrix<Out>& output, const A& a, const B& b);
  template <class T>
  void expect(const Matrix<T>& output, const Reference& expected, const Bound& bound);

  uint64_t seed_, inputs_ = 0;
  bool timed_;
  std::unique_ptr<Result> result_;
  std::vector<void*> allocations_;
  struct Kept {
    std::string name;
    const void* data;
    std::vector<unsigned char> bytes;
  };
  std::vector<Kept> kept_;
};

// What check.cpp gets: it adds cases, which are run in any order when it has returned.
class Exercise {
 public:
  explicit Exercise(uint64_t seed) : seed_(seed) {}

  // A number that no kernel can know, for the case "a drawn shape". There, too, costs are looked
  // at, beside the reference's: a kernel must not be cheap at the shape that its exercise names
  // alone.
  int drawn(int least, int most);

  void add(const std::string& name, std::function<void(Case&)> body) {
    cases_.push_back({name, std::move(body), false});
  }
  // Only on a GPU, and for its time: a large one, of which some elements are compared. Launches are
  // repeated, so that an output must not be added to.
  void add_timed(const std::string& name, std::function<void(Case&)> body) {
#ifdef LADDER_CPU_DEVICE
    (void)name, (void)body;
#else
    cases_.push_back({name, std::move(body), true});
#endif
  }

 private:
  friend int run(Exercise& exercise, uint64_t seed, const char* report, bool once);
  struct Entry {
    std::string name;
    std::function<void(Case&)> body;
    bool timed;
  };
  static std::string result(const Entry& entry, uint64_t seed, int runs);
  std::vector<Entry> cases_;
  uint64_t seed_, draws_ = 0;
};

// A solution that is compiled into this program.
struct Registration {
  Registration(const char* name, void (*check)(Exercise&));
};

}  // namespace grader
