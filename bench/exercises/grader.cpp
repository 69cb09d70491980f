#include "grader.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "harness/number.h"
#include "harness/random.h"

#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/digest.h"
  #include "cpu_device/symbols.h"
#else
  #include "harness/cublas.h"
#endif

namespace grader {
namespace {

using Json = nlohmann::ordered_json;
using ladder::harness::mix;

struct Solution {
  const char* name;
  void (*check)(Exercise&);
};
std::vector<Solution>& solutions() {
  static std::vector<Solution> all;
  return all;
}

#ifdef LADDER_CPU_DEVICE
// Around the solution's __shared__ arrays, which are thread-local variables of the file that is
// linked before this one: variables with a value come before those without. What a solution writes
// past an array is found, but it is written all the same, and must not end the program.
constexpr size_t BAND = 64 * 1024;
[[gnu::used]] thread_local unsigned char before_arrays[BAND] = {1}, behind_arrays[BAND];

std::atomic<uint32_t> barriers;

Json json_of(const cpu_device::MemoryLine& line) {
  return {{"file", line.file},
          {"line", line.line},
          {"text", line.text},
          {"array", line.array},
          {"array_bytes", line.array_bytes},
          {"space", line.space == cpu_device::Space::SHARED ? "shared" : "global"},
          {"operation", cpu_device::name_of(line.operation)},
          {"bytes", line.bytes},
          {"requests", line.requests},
          {"cost", line.cost}};
}

Json json_of(const cpu_device::SourceLine& where) {
  return {{"file", where.file}, {"line", where.line}, {"text", cpu_device::source_text(where)}};
}

Json json_of(const cpu_device::Finding& finding) {
  Json json = json_of(cpu_device::source_line(finding.place));
  json["cause"] = finding.what;
  json["example"] = finding.example;
  json["count"] = finding.count;
  json["who"] = finding.who;
  if (finding.other.line > 0) json["other"] = json_of(cpu_device::source_line(finding.other));
  return json;
}
#endif

}  // namespace

struct Case::Result {
  std::string name;
  bool counted = true;
  Json memory = Json::array(), findings = Json::array(), wrong;
  std::vector<std::string> map;  // of the first array with a wrong element, a text a row
  uint64_t wrong_elements = 0;
  uint64_t launches = 0, barriers = 0, ahead = 0, dynamic_bytes = 0;
  uint64_t accesses = 0;                   // a number of all, on the CPU device
  double seconds = 0, cublas_seconds = 0;  // on a GPU
  std::string stray, error;
};

Case::Case(std::string name, uint64_t seed, bool timed)
    : seed_(seed), timed_(timed), result_(new Result) {
  result_->name = std::move(name);
}

Case::~Case() {
  for (void* allocation : allocations_) (void)cudaFree(allocation);
}

namespace {

// Of the current run. With few bits, what is drawn from [-1, 1) are multiples of 1/128.
bool has_product = false, few_bits = false;
constexpr double STEP = 0x1p-14;  // of a product of two

}  // namespace

uint64_t Case::random(int64_t i) {
  if (i == 0) ++inputs_;
  const uint64_t bits = mix(mix(seed_ + inputs_ * 0x9E3779B97F4A7C15u) + static_cast<uint64_t>(i));
  return few_bits ? bits >> 56 << 56 : bits;
}

void* Case::allocate(size_t bytes) {
  unsigned char* data = nullptr;
  LADDER_CUDA_CHECK(cudaMalloc(&data, bytes));
  allocations_.push_back(data);
  return data;
}

void Case::copy_to_device(void* to, const void* from, size_t bytes) {
  LADDER_CUDA_CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}
void Case::copy_to_host(void* to, const void* from, size_t bytes) {
  LADDER_CUDA_CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

#ifdef LADDER_CPU_DEVICE

void Case::name_matrix(const void* data, const std::string& name, size_t rows, size_t pitch,
                       size_t row_bytes, size_t element_bytes) {
  cpu_device::name_matrix(data, name, rows, pitch, row_bytes, element_bytes);
}

void Case::thread_ends() {
  const uint32_t mine = cpu_device::this_block->barriers() - 1;
  uint32_t most = barriers;
  while (mine > most && !barriers.compare_exchange_weak(most, mine)) {
  }
}

// There are no timed cases.
template <class In, class Out>
void Case::time_cublas(const ladder::Gemm<In, Out>&) {}

void Case::run(const std::function<void()>& launch, size_t smem_bytes) {
  ++result_->launches;
  barriers = 0;
  cpu_device::settings().count = result_->counted;
  cpu_device::settings().block_seconds = 1;  // a correct block takes milliseconds
  cpu_device::settings().digest = true;      // what other orders might do is a finding, too
  launch();
  result_->barriers += barriers;
  result_->ahead += cpu_device::take_ahead();
  result_->accesses = mix(result_->accesses ^ cpu_device::take_digest().accesses);
  result_->dynamic_bytes = std::max<uint64_t>(result_->dynamic_bytes, smem_bytes);
  for (const cpu_device::MemoryLine& line : cpu_device::take_memory_lines())
    if (result_->counted) result_->memory.push_back(json_of(line));
  for (const cpu_device::Finding& finding : cpu_device::take_findings())
    result_->findings.push_back(json_of(finding));
}

#else

void Case::name_matrix(const void*, const std::string&, size_t, size_t, size_t, size_t) {}

namespace {

// Of one launch, or the median of several, of which the first warms up.
double seconds_of(const std::function<void()>& launch, int launches) {
  cudaEvent_t begin, end;
  LADDER_CUDA_CHECK(cudaEventCreate(&begin));
  LADDER_CUDA_CHECK(cudaEventCreate(&end));
  std::vector<float> milliseconds(static_cast<size_t>(launches));
  for (float& time : milliseconds) {
    LADDER_CUDA_CHECK(cudaEventRecord(begin));
    launch();
    LADDER_CUDA_CHECK(cudaEventRecord(end));
    LADDER_CUDA_CHECK(cudaEventSynchronize(end));
    LADDER_CUDA_CHECK(cudaEventElapsedTime(&time, begin, end));
  }
  LADDER_CUDA_CHECK(cudaEventDestroy(begin));
  LADDER_CUDA_CHECK(cudaEventDestroy(end));
  std::sort(milliseconds.begin(), milliseconds.end());
  return static_cast<double>(milliseconds[milliseconds.size() / 2]) * 1e-3;
}
constexpr int TIMED_LAUNCHES = 21;

}  // namespace

void Case::run(const std::function<void()>& launch, size_t) {
  ++result_->launches;
  result_->seconds += seconds_of(launch, timed_ ? TIMED_LAUNCHES : 1);
}

template <class In, class Out>
void Case::time_cublas(const ladder::Gemm<In, Out>& problem) {
  if constexpr (std::is_same_v<In, Out>) {  // what the harness asks cuBLAS for
    ladder::harness::Cublas cublas;
    result_->cublas_seconds = seconds_of([&] { cublas.gemm(problem); }, TIMED_LAUNCHES);
  } else {
    (void)problem;
  }
}

#endif

void Case::wrong_element(const std::string& name, int rows, int columns, int row, int column,
                         double got, double expected) {
  if (result_->wrong_elements == 0)
    result_->map.assign(static_cast<size_t>(rows), std::string(static_cast<size_t>(columns), '.'));
  std::vector<std::string>& map = result_->map;
  if (result_->wrong_elements == 0 || result_->wrong["array"] == name)
    map.at(static_cast<size_t>(row)).at(static_cast<size_t>(column)) = '#';
  if (result_->wrong_elements++ > 0) return;
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json("NaN"); };
  result_->wrong = {{"array", name},
                    {"row", row},
                    {"column", column},
                    {"got", number(got)},
                    {"expected", number(expected)}};
}

void Case::stray_write(const std::string& name, const std::string& where) {
  if (result_->stray.empty()) result_->stray = name + " is written " + where;
}

namespace {

double product_bound(int k, double magnitude, double value, bool half_out) {
  constexpr double U_FLOAT = 0x1p-24, U_HALF = 0x1p-11;
  has_product = true;
  // Up to 2^24 steps fp32 has every sum, in any order.
  if (few_bits && magnitude <= 0x1p24 * STEP && std::fmod(magnitude, STEP) == 0)
    return half_out ? U_HALF * std::abs(value) : 0;
  const double accumulate = std::min<double>(k, 2 * std::sqrt(k)) * U_FLOAT * magnitude;
  const double largest = std::max(std::abs(value) + 2 * accumulate, half_out ? 0x1p-14 : 0x1p-126);
  return 2 * (accumulate + (half_out ? U_HALF : U_FLOAT) * largest);
}

bool is_poison(const void* bytes, size_t count) {
  const auto* begin = static_cast<const unsigned char*>(bytes);
  return std::all_of(begin, begin + count, [](unsigned char byte) { return byte == 0xFF; });
}

template <class T>
double to_double(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return x;
  else
    return ladder::harness::Number<T>::to_float(x);
}

}  // namespace

template <class T>
double Matrix<T>::value(int row, int column) const {
  return to_double((*this)(row, column));
}

template <class T>
void Case::expect(const Matrix<T>& output, const Reference& expected, const Bound& bound) {
  const auto rows = static_cast<size_t>(output.rows), pitch = static_cast<size_t>(output.ld);
  std::vector<T> all(rows * pitch + 2 * GUARD);
  copy_to_host(all.data(), output.data - GUARD, all.size() * sizeof(T));
  const T* const c = &all[GUARD];
  // Of a large one some elements: the reference takes longest.
  const int row_step = timed_ ? output.rows / 32 + 1 : 1;
  const int column_step = timed_ ? output.columns / 32 + 1 : 1;
  for (int i = 0; i < output.rows; i += row_step) {
    const T* const row = c + static_cast<size_t>(i) * pitch;
    for (int j = 0; j < output.columns; j += column_step) {
      const double value = expected(i, j), got = to_double(row[j]);
      if (!(std::abs(got - value) <= bound(i, j, value)))
        wrong_element(output.name, output.rows, output.columns, i, j, got, value);
    }
    const size_t width = static_cast<size_t>(output.columns);
    if (!is_poison(row + width, (pitch - width) * sizeof(T)))
      stray_write(output.name, "between its rows");
  }
  if (!is_poison(all.data(), GUARD * sizeof(T))) stray_write(output.name, "before it");
  if (!is_poison(c + rows * pitch, GUARD * sizeof(T))) stray_write(output.name, "behind it");
}

template <class T>
void Case::expect(const Matrix<T>& output, double tolerance,
                  const std::function<double(int, int)>& expected) {
  expect(output, expected,
         [&](int, int, double value) { return tolerance * (1 + std::abs(value)); });
}

template <class A, class B, class Out>
void Case::expect_product_of(const Matrix<Out>& output, const A& a, const B& b) {
  double magnitude = 0;  // of the products of the element that was asked for last
  expect(
      output,
      [&](int i, int j) {
        double sum = magnitude = 0;
        for (int k = 0; k < a.columns; ++k) {
          const double product = a.value(i, k) * b.value(k, j);
          sum += product;
          magnitude += std::abs(product);
        }
        return sum;
      },
      [&](int, int, double value) {
        return product_bound(a.columns, magnitude, value, sizeof(Out) == sizeof(half));
      });
}
template <class In, class Out>
void Case::expect_product(const Matrix<Out>& output, const Matrix<In>& a, const Matrix<In>& b) {
  expect_product_of(output, a, b);
  if (timed_)
    time_cublas(ladder::Gemm<In, Out>{a.rows, b.columns, a.columns, a.data, a.ld, b.data, b.ld,
                                      output.data, output.ld});
}
template <class In, class Out>
void Case::expect_product(const Matrix<Out>& output, const Matrix<In>& a, const Transposed<In>& b) {
  expect_product_of(output, a, b);
}

// What exercises have.
#define LADDER_NUMBER(T)                            \
  template double Matrix<T>::value(int, int) const; \
  template void Case::expect(const Matrix<T>&, double, const std::function<double(int, int)>&)
LADDER_NUMBER(float);
LADDER_NUMBER(half);
LADDER_NUMBER(ladder::e4m3);
LADDER_NUMBER(int8_t);
LADDER_NUMBER(uint8_t);
LADDER_NUMBER(int);
LADDER_NUMBER(unsigned);
#undef LADDER_NUMBER
#define LADDER_PRODUCT(IN, OUT)                                                                 \
  template void Case::expect_product(const Matrix<OUT>&, const Matrix<IN>&, const Matrix<IN>&); \
  template void Case::expect_product(const Matrix<OUT>&, const Matrix<IN>&, const Transposed<IN>&)
LADDER_PRODUCT(float, float);
LADDER_PRODUCT(half, half);
LADDER_PRODUCT(half, float);
#undef LADDER_PRODUCT

void Case::compare_inputs() {
  for (const Kept& kept : kept_) {
    std::vector<unsigned char> now(kept.bytes.size());
    copy_to_host(now.data(), kept.data, now.size());
    if (now != kept.bytes) stray_write(kept.name, "although it is an input");
  }
}

namespace {

// Of each case: one that is counted, and one with other data and the threads in the other order,
// for mistakes that show only then. Where their accesses differ, they do not speak for all data
// (docs/proofs.md), and there are more. Of a product there is one whose sums are exact.
constexpr int RUNS = 2, MORE_RUNS = 4;

}  // namespace

int Exercise::drawn(int least, int most) {
  return least + static_cast<int>(mix(seed_ + ++draws_) % static_cast<uint64_t>(most - least + 1));
}

std::string Exercise::result(const Entry& entry, uint64_t seed, int runs) {
  Json json;
  uint64_t accesses = 0;
  few_bits = has_product = false;
  for (int i = 0; i < runs; ++i) {
#ifdef LADDER_CPU_DEVICE
    cpu_device::settings().reverse = i > 0;
#endif
    Case c(entry.name, mix(seed + static_cast<uint64_t>(i)), entry.timed);
    Case::Result& result = *c.result_;
    result.counted = i == 0;
    try {
      entry.body(c);
      c.compare_inputs();
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    const bool failed = !result.findings.empty() || !result.error.empty() ||
                        !result.stray.empty() || result.wrong_elements > 0;
    if (i == 0) {
      accesses = result.accesses;
      json = {{"name", entry.name},
              {"timed", entry.timed},
              {"memory", result.memory},
              {"launches", result.launches},
              {"barriers", result.barriers},
              {"copies_ahead", result.ahead},
              {"dynamic_bytes", result.dynamic_bytes},
              {"seconds", result.seconds},
              {"cublas_seconds", result.cublas_seconds}};
    }
    if (i == 0 || failed) {
      json["findings"] = result.findings;
      json["error"] = result.error;
      json["stray"] = result.stray;
      json["wrong"] = result.wrong;
      json["wrong_elements"] = result.wrong_elements;
      json["map"] = entry.timed ? std::vector<std::string>{} : result.map;
    }
    json["runs"] = i + 1;
    if (failed) break;
    if (i == 1 && result.accesses != accesses) runs += MORE_RUNS;
    few_bits = has_product && !few_bits && i > 0 && i == runs - 1;
    if (few_bits) ++runs;
  }
  return json.dump();
}

namespace {

// What another order might do, where something has happened.
void leave_out_what_might_happen(std::vector<Json>& cases) {
  const auto might_happen = [](const Json& finding) {
    return finding["cause"].get<std::string>().rfind("another order", 0) == 0;
  };
  const auto has_happened = [&](const Json& c) {
    return c["wrong_elements"] > 0 ||
           !std::all_of(c["findings"].begin(), c["findings"].end(), might_happen);
  };
  if (std::none_of(cases.begin(), cases.end(), has_happened)) return;
  for (Json& c : cases) {
    Json kept = Json::array();
    std::copy_if(c["findings"].begin(), c["findings"].end(), std::back_inserter(kept),
                 [&](const Json& finding) { return !might_happen(finding); });
    c["findings"] = kept;
  }
}

}  // namespace

// `once`: what is not timed, each case once and in order, for tools that look at single launches.
int run(Exercise& exercise, uint64_t seed, const char* report, bool once) {
  std::mt19937_64 generator(seed);
  std::vector<Exercise::Entry>& entries = exercise.cases_;
  if (once)
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [](const Exercise::Entry& entry) { return entry.timed; }),
                  entries.end());
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  // A kernel that remembers its launches meets another case each time.
  if (!once) std::shuffle(order.begin(), order.end(), generator);
  std::vector<Json> cases(order.size());
  for (const size_t i : order)
    cases[i] =
        Json::parse(Exercise::result(entries[i], generator(), once || entries[i].timed ? 1 : RUNS));
  leave_out_what_might_happen(cases);
  const std::string text = Json{{"seed", seed}, {"cases", cases}}.dump(1) + "\n";
  std::FILE* const file = std::fopen(report, "w");  // a page's C++ library has no fstream
  const bool is_written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  if (file != nullptr && std::fclose(file) == 0 && is_written) return 0;
  std::cerr << report << " cannot be written: " << std::strerror(errno) << "\n";
  return 2;
}

Registration::Registration(const char* name, void (*check)(Exercise&)) {
  solutions().push_back({name, check});
}

}  // namespace grader

// PROGRAM SOLUTION SEED REPORT [once]: runs one of the solutions it is made of and writes what was
// seen as JSON. Judging it is scripts/ladder/exercises/judging.py's.
int main(int argc, char** argv) {
  const bool once = argc == 5 && std::strcmp(argv[4], "once") == 0;
  if (argc == 4 || once)
    for (const auto& solution : grader::solutions())
      if (std::strcmp(solution.name, argv[1]) == 0) {
        const uint64_t seed = std::strtoull(argv[2], nullptr, 10);
        grader::Exercise exercise(seed);
        solution.check(exercise);
        return grader::run(exercise, seed, argv[3], once);
      }
  std::cerr << argv[0] << ": expects SOLUTION SEED REPORT [once]; solutions:";
  for (const auto& solution : grader::solutions()) std::cerr << " " << solution.name;
  std::cerr << "\n";
  return 2;
}
