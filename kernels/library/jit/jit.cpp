#include "../../jit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "../../launch.cuh"
#include "../../parts/even_rows.h"
#include "../../parts/no_kernel.cuh"
#include "../../ptx/stream_value.cuh"
#include "../../ptx/tensor_map.cuh"
#include "../../tuned/choice.h"
#include "compile.h"
#include "headers.h"

namespace ladder::jit {

using tuned::Candidate;
using tuned::Kernel;
template <class T>
using Problem = ladder::Gemm<T, T>;

// ---- A kernel on a device ----------------------------------------------------------------------

struct Loaded {
  Candidate tile;
  Operands operands;
  bool has_epilogue;
  size_t arguments_bytes;
  int device, multiprocessors;
  std::vector<int> numbers;  // Code's
  CUkernel kernel;

  int shared_bytes() const { return numbers[0]; }
  int threads() const { return numbers[1]; }
};

struct Access {
  template <class T>
  static Gemm<T> gemm(const Loaded& loaded) {
    return Gemm<T>(loaded);
  }
};

namespace {

struct Device {
  int number, multiprocessors;
  std::string name;
  const tuned::Gpu* table;  // its own, or the first
};

// The current one. Throws CudaError where there is none, or another than the kernels are for.
const Device& current_device() {
  static const std::vector<Device> DEVICES = [] {
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
      throw CudaError(std::string("ladder::jit needs a GPU: ") + cudaGetErrorString(error));
    std::vector<Device> devices;
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp properties;
      LADDER_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
      const bool is_hopper = properties.major == 9 && properties.minor == 0;
      devices.push_back({i, is_hopper ? properties.multiProcessorCount : 0, properties.name,
                         &tuned::table_of(properties.name)});
    }
    return devices;
  }();
  int number = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&number));
  const Device& device = DEVICES[static_cast<size_t>(number)];
  if (device.multiprocessors == 0)
    throw CudaError("ladder::jit needs a GPU of compute capability 9.0, which " + device.name +
                    " is not");
  return device;
}

Loaded load(const Code& code, const Candidate& tile, const Operands& operands,
            const Epilogue& epilogue, size_t arguments_bytes, const Device& device) {
  static const auto load_data =
      ptx::driver_function<PFN_cuLibraryLoadData_v12000>("cuLibraryLoadData", 12000);
  static const auto get_kernel =
      ptx::driver_function<PFN_cuLibraryGetKernel_v12000>("cuLibraryGetKernel", 12000);
  LADDER_CUDA_CHECK(cudaSetDevice(device.number));  // which is current already, but perhaps new
  const MayLoad may_load;
  CUlibrary library = nullptr;
  Loaded loaded{tile,
                operands,
                !epilogue.body.empty(),
                arguments_bytes,
                device.number,
                device.multiprocessors,
                code.numbers,
                nullptr};
  ptx::require_success("cuLibraryLoadData", load_data(&library, code.cubin.data(), nullptr, nullptr,
                                                      0, nullptr, nullptr, 0));
  ptx::require_success("cuLibraryGetKernel",
                       get_kernel(&loaded.kernel, library, code.kernel.c_str()));
  LADDER_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(loaded.kernel),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         loaded.shared_bytes()));
  return loaded;
}

void launch_kernel(const Loaded& kernel, dim3 grid, Enqueue where, void** parameters) {
  LADDER_CUDA_CHECK(launch_function(reinterpret_cast<const void*>(kernel.kernel),
                                    static_cast<unsigned>(kernel.tile.cluster()), grid,
                                    dim3(static_cast<unsigned>(kernel.threads())),
                                    static_cast<size_t>(kernel.shared_bytes()), where, parameters));
}

constexpr int BK = 64;  // of K in a tile, in all stages

// A kernel's last parameter: what is done with the sums, a struct without fields where that is
// nothing.
void* arguments_or(const void* arguments, char& none) {
  return arguments ? const_cast<void*>(arguments) : &none;
}

// A `width` x K matrix, of which a tile has `box`; transposed, the other way round.
template <class T>
CUtensorMap operand_map(const T* matrix, int width, int K, int64_t ld, bool along_k, int box) {
  return along_k ? ptx::tensor_map(matrix, width, K, ld, box)
                 : ptx::tensor_map(matrix, K, width, ld, BK);
}

// As 13, 13b and 18 launch it: no more blocks than it takes to be done in as many waves.
template <class T>
void launch_tiles(const Loaded& kernel, Problem<T> p, const void* arguments) {
  const Candidate& c = kernel.tile;
  int tiles = ceil_div(p.M, c.down * c.BM) * ceil_div(p.N, c.across * c.BN);
  const int waves = ceil_div(tiles, tuned::places(c, kernel.multiprocessors));
  const int blocks = ceil_div(tiles, waves) * c.cluster();
  int rows = p.transposed_a ? c.BM : even_rows(p.M, c.BM, c.down);
  const int piece = kernel.numbers[2];
  CUtensorMap map_A = operand_map(p.A, p.M, p.K, p.lda, !p.transposed_a, rows),
              map_B = operand_map(p.B, p.N, p.K, p.ldb, p.transposed_b, c.BN),
              map_C = ptx::tensor_map(p.C, p.M, p.N, p.ldc, piece),
              map_C_last = ptx::tensor_map(p.C, p.M, p.N, p.ldc, last_piece(rows, piece));
  char none = 0;
  void* parameters[] = {&p.M,   &p.N,   &p.K,        &rows, &tiles, &map_A,
                        &map_B, &map_C, &map_C_last, &p.C,  &p.ldc, arguments_or(arguments, none)};
  launch_kernel(kernel, dim3(static_cast<unsigned>(blocks)), {p.stream, p.starts_early},
                parameters);
}

// As 14 does: one tile a cluster, in a grid of three dimensions (parts/tile_grid.cuh).
template <class T>
void launch_few_rows(const Loaded& kernel, Problem<T> p, const void* arguments) {
  constexpr int MOST_BLOCKS = 65535;
  const Candidate& c = kernel.tile;
  const int tiles_n = ceil_div(p.N, c.BN), z = ceil_div(tiles_n, MOST_BLOCKS);
  const dim3 grid(static_cast<unsigned>(ceil_div(p.M, c.BM) * c.split),
                  static_cast<unsigned>(ceil_div(tiles_n, z)), static_cast<unsigned>(z));
  CUtensorMap map_A = operand_map(p.A, p.M, p.K, p.lda, true, c.BM),
              map_B = operand_map(p.B, p.N, p.K, p.ldb, p.transposed_b, c.BN);
  int buffers = kernel.numbers[2];
  char none = 0;
  void* parameters[] = {
      &p.M, &p.N, &p.K, &map_A, &map_B, &p.C, &p.ldc, &buffers, arguments_or(arguments, none)};
  launch_kernel(kernel, grid, {p.stream, p.starts_early && c.resident == 1}, parameters);
}

// ---- What this process has ---------------------------------------------------------------------

std::mutex mutex;
std::map<std::string, Loaded> kernels;         // by device, tile, kernel and text; never erased
std::map<std::string, const Loaded*> choices;  // by device, problem and epilogue
constexpr size_t MOST_CHOICES = 10000;         // then all are forgotten

const Loaded& loaded_kernel(const Candidate& tile, const Operands& operands,
                            const Epilogue& epilogue, size_t arguments_bytes) {
  const Device& device = current_device();
  const Source source = source_of(tile, operands, epilogue, arguments_bytes);
  const std::string key =
      std::to_string(device.number) + tuned::name(tile) + source.kernel + source.text;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (const auto found = kernels.find(key); found != kernels.end()) return found->second;
  }
  // Not under the lock. Where another thread does the same, its kernel is as good.
  const Loaded loaded = load(code_of(source, Cache(cache_folder())), tile, operands, epilogue,
                             arguments_bytes, device);
  const std::lock_guard<std::mutex> lock(mutex);
  return kernels.emplace(key, loaded).first->second;
}

// ---- The choice --------------------------------------------------------------------------------

// Of the device's table, in the order of the model's times.
template <class T>
std::vector<Candidate> ranked(const Problem<T>& p, const Device& device) {
  std::vector<Candidate> candidates;
  for (const tuned::Choice& choice :
       tuned::in_order(p, *device.table, device.multiprocessors,
                       [&](const Candidate& c) { return has_kernel(c, operands_of(p)); }))
    candidates.push_back(choice.row->candidate);
  return candidates;
}

template <class T>
std::string choice_key(const Problem<T>& p, const Epilogue& epilogue, size_t arguments_bytes) {
  const Operands o = operands_of(p);
  std::string key =
      std::string(o.type) + (o.transposed_a ? " T" : " N") + (o.transposed_b ? "T " : "N ");
  for (const int64_t number : {int64_t{p.M}, int64_t{p.N}, int64_t{p.K}, p.lda, p.ldb, p.ldc,
                               static_cast<int64_t>(arguments_bytes)})
    key += std::to_string(number) + " ";
  return key + epilogue.body + "\n" + epilogue.arguments + "\n" + epilogue.header.string();
}

// On disk the choice is one for all GPUs of a name, and for these kernels.
std::string stored_key(const std::string& key, const Device& device) {
  return "choice " + device.name + " " + std::to_string(device.multiprocessors) + " " +
         HEADERS_HASH + "\n" + key;
}
std::string as_text(const Candidate& c) {
  std::ostringstream text;
  text << static_cast<int>(c.kernel) << " " << c.BM << " " << c.BN << " " << c.down << " "
       << c.across << " " << c.split << " " << c.resident;
  return text.str();
}
Candidate from_text(const std::string& text) {
  std::istringstream stream(text);
  int kernel = 0;
  Candidate c{};
  stream >> kernel >> c.BM >> c.BN >> c.down >> c.across >> c.split >> c.resident;
  c.kernel = static_cast<Kernel>(kernel);
  return c;
}

void remember(const std::string& key, int device, const Loaded& kernel) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (choices.size() >= MOST_CHOICES) choices.clear();
  choices[std::to_string(device) + " " + key] = &kernel;
}

// ---- Tuning ------------------------------------------------------------------------------------

// Copies of a problem, so many that L2 holds nothing of one when its turn comes.
template <class T>
class Copies {
 public:
  Copies(const Problem<T>& p, int device) : problem_(p) {
    const auto lines = [](int64_t elements) { return (elements + 255) / 256 * 256; };
    const int a_rows = p.transposed_a ? p.K : p.M, b_rows = p.transposed_b ? p.N : p.K;
    a_ = lines(a_rows * p.lda), b_ = lines(b_rows * p.ldb), c_ = lines(p.M * p.ldc);
    int l2_bytes = 0;
    LADDER_CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
    const double bytes = static_cast<double>(a_ + b_ + c_) * sizeof(T);
    constexpr double MOST = 1000;
    count_ = static_cast<int>(std::clamp(std::ceil(2.0 * l2_bytes / bytes), 1.0, MOST));
    LADDER_CUDA_CHECK(cudaMalloc(&memory_, static_cast<size_t>(a_ + b_ + c_) * count_ * sizeof(T)));
    for (int i = 0; i < count_; ++i) {
      const Problem<T> copy = get(i);
      copied(const_cast<T*>(copy.A), p.A, p.lda, a_rows, p.transposed_a ? p.M : p.K);
      copied(const_cast<T*>(copy.B), p.B, p.ldb, b_rows, p.transposed_b ? p.K : p.N);
    }
  }
  ~Copies() {
    cudaStreamSynchronize(problem_.stream);
    cudaFree(memory_);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // Each time the next one.
  Problem<T> next() { return get(used_++ % count_); }

 private:
  Problem<T> get(int i) const {
    Problem<T> copy = problem_;
    T* const first = memory_ + i * (a_ + b_ + c_);
    copy.A = first, copy.B = first + a_, copy.C = first + a_ + b_;
    return copy;
  }
  void copied(T* to, const T* from, int64_t ld, int rows, int cols) const {
    const size_t pitch = static_cast<size_t>(ld) * sizeof(T);
    LADDER_CUDA_CHECK(
        cudaMemcpy2DAsync(to, pitch, from, pitch, static_cast<size_t>(cols) * sizeof(T),
                          static_cast<size_t>(rows), cudaMemcpyDeviceToDevice, problem_.stream));
  }

  Problem<T> problem_;
  int64_t a_, b_, c_;  // elements
  T* memory_ = nullptr;
  int count_ = 0, used_ = 0;
};

struct Event {
  cudaEvent_t event = nullptr;
  Event() { LADDER_CUDA_CHECK(cudaEventCreate(&event)); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

// us of one of `launches` in a row. One more comes first: meanwhile the host gets ahead.
template <class Launch>
double time_of(const Launch& launch, int launches, cudaStream_t stream) {
  const Event begin, end;
  launch();
  LADDER_CUDA_CHECK(cudaEventRecord(begin.event, stream));
  for (int i = 0; i < launches; ++i) launch();
  LADDER_CUDA_CHECK(cudaEventRecord(end.event, stream));
  LADDER_CUDA_CHECK(cudaEventSynchronize(end.event));
  float ms = 0;
  LADDER_CUDA_CHECK(cudaEventElapsedTime(&ms, begin.event, end.event));
  return ms * 1e3 / launches;
}

}  // namespace

// ---- What users call ---------------------------------------------------------------------------

template <class T>
const Candidate& Gemm<T>::tile() const {
  return loaded_->tile;
}

template <class T>
void Gemm<T>::operator()(const Problem<T>& p, const void* arguments, size_t bytes) const {
  const Loaded& kernel = *loaded_;
  if (bytes != kernel.arguments_bytes)
    throw std::invalid_argument("the arguments have " + std::to_string(bytes) +
                                " bytes, but this kernel was compiled for " +
                                std::to_string(kernel.arguments_bytes));
  int device = 0;
  LADDER_CUDA_CHECK(cudaGetDevice(&device));
  if (device != kernel.device)
    throw std::invalid_argument("this kernel was compiled for device " +
                                std::to_string(kernel.device) + ", but the current one is " +
                                std::to_string(device));
  const auto require_layout = [](const char* name, bool is_transposed, bool was_transposed) {
    if (is_transposed != was_transposed)
      throw std::invalid_argument(std::string(name) + (is_transposed ? " is" : " is not") +
                                  " transposed, but this kernel was compiled for one that is" +
                                  (is_transposed ? " not" : ""));
  };
  require_layout("A", p.transposed_a, kernel.operands.transposed_a);
  require_layout("B", p.transposed_b, kernel.operands.transposed_b);
  if (kernel.has_epilogue && p.K == 0 && p.M > 0 && p.N > 0)
    throw std::invalid_argument("K is 0, but this kernel's epilogue follows a product");
  if (done_without_kernel(p, Layouts::ANY)) return;
  if (kernel.tile.kernel == Kernel::FEW_ROWS)
    launch_few_rows(kernel, p, arguments);
  else
    launch_tiles(kernel, p, arguments);
}

template <class T>
Gemm<T> compile(const Problem<T>& p, const Candidate& tile, const Epilogue& epilogue,
                size_t arguments_bytes) {
  return Access::gemm<T>(loaded_kernel(tile, operands_of(p), epilogue, arguments_bytes));
}

template <class T>
Gemm<T> chosen(const Problem<T>& p, const Epilogue& epilogue, size_t arguments_bytes) {
  const Device& device = current_device();
  const std::string key = choice_key(p, epilogue, arguments_bytes);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = choices.find(std::to_string(device.number) + " " + key);
    if (found != choices.end()) return Access::gemm<T>(*found->second);
  }
  const auto tuned = Cache(cache_folder()).find(stored_key(key, device));
  const Candidate tile = tuned ? from_text(*tuned) : ranked(p, device).front();
  const Operands operands = operands_of(p);
  const Loaded& kernel = loaded_kernel(tile, operands, epilogue, arguments_bytes);
  remember(key, device.number, kernel);
  return Access::gemm<T>(kernel);
}

template <class T>
std::vector<Timed> tune(const Problem<T>& p, const Epilogue& epilogue, const void* arguments,
                        size_t arguments_bytes) {
  constexpr size_t CANDIDATES = 8;
  constexpr int ROUNDS = 5, MOST_LAUNCHES = 20;
  constexpr double GROUP_US = 500;
  const Device& device = current_device();
  if (done_without_kernel(p, Layouts::ANY)) return {};

  std::vector<const Loaded*> contenders;
  for (const Candidate& tile : ranked(p, device)) {
    contenders.push_back(&loaded_kernel(tile, operands_of(p), epilogue, arguments_bytes));
    if (contenders.size() == CANDIDATES) break;
  }
  Copies<T> copies(p, device.number);
  const auto us = [&](size_t i, int launches) {
    const Gemm<T> gemm = Access::gemm<T>(*contenders[i]);
    return time_of([&] { gemm(copies.next(), arguments, arguments_bytes); }, launches, p.stream);
  };
  std::vector<double> first;
  for (size_t i = 0; i < contenders.size(); ++i) first.push_back(us(i, 1));
  std::vector<std::vector<double>> times(contenders.size());
  for (int round = 0; round < ROUNDS; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (size_t j = 0; j < contenders.size(); ++j) {
      const size_t i = round % 2 == 0 ? j : contenders.size() - 1 - j;
      times[i].push_back(
          us(i, std::clamp(static_cast<int>(GROUP_US / first[i]), 1, MOST_LAUNCHES)));
    }
    // As long a rest: at its power limit a GPU has another clock.
    std::this_thread::sleep_for(std::chrono::steady_clock::now() - begin);
  }
  std::vector<Timed> result;
  for (size_t i = 0; i < contenders.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    result.push_back({contenders[i]->tile, times[i][ROUNDS / 2]});
  }
  const auto less = [](const Timed& a, const Timed& b) { return a.us < b.us; };
  std::stable_sort(result.begin(), result.end(), less);

  const std::string key = choice_key(p, epilogue, arguments_bytes);
  Cache(cache_folder()).store(stored_key(key, device), as_text(result.front().tile));
  remember(key, device.number,
           loaded_kernel(result.front().tile, operands_of(p), epilogue, arguments_bytes));
  return result;
}

#define LADDER_INSTANTIATE(T)                                                             \
  template class Gemm<T>;                                                                 \
  template Gemm<T> compile(const Problem<T>&, const Candidate&, const Epilogue&, size_t); \
  template Gemm<T> chosen(const Problem<T>&, const Epilogue&, size_t);                    \
  template std::vector<Timed> tune(const Problem<T>&, const Epilogue&, const void*, size_t);
LADDER_INSTANTIATE(half)
LADDER_INSTANTIATE(bf16)

}  // namespace ladder::jit
