// build/few_rows: where the time of a product with few rows goes. docs/14_few_rows.md quotes it.
//
// At 16x4096x4096 nothing is slower than reading B once. Kernels that do a part of the work, all in
// turn in one process, on buffers that are rotated beyond the L2 cache: nothing at all; only B, by
// loads of 16 bytes, by boxes of TMA, by rows of cp.async.bulk, in several shapes and orders; B and
// A and the multiplications without the sums' way to C; whole kernels, and cuBLAS. Then clocks
// inside of some of them. Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../kernels/partial_sums.cuh"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/cublas.h"
#include "harness/device.h"
#include "harness/options.h"
#include "harness/program.h"
#include "harness/timer.h"

namespace {

using namespace ladder;
using namespace ladder::harness;

constexpr int K = 4096, N = 4096, M = 16;
constexpr int ROW_BYTES = N * 2;

// --- What a block reads --------------------------------------------------------------------------

// B is divided into columns of `width` bytes, and these along K among `parts` blocks.
struct Layout {
  int width, parts;
  bool in_a_row;  // a part is a piece of K in a row, or every `parts`-th group of rows
  bool across;    // neighbouring blocks have neighbouring columns, or the parts of one
  int blocks() const { return ROW_BYTES / width * parts; }
  std::string name() const {
    return fmt::format("{} B x K/{}{}{}", width, parts, in_a_row ? ", in a row" : "",
                       across ? ", across" : "");
  }
};
// Groups of so many rows, from the first on.
struct Walk {
  int byte0, first, stride, count;
};
__device__ Walk walk_of(Layout layout, int rows_of_group) {
  const int columns = ROW_BYTES / layout.width, block = blockIdx.x;
  const int column = layout.across ? block % columns : block / layout.parts;
  const int part = layout.across ? block / columns : block % layout.parts;
  const int groups = K / rows_of_group, count = groups / layout.parts;
  if (layout.in_a_row) return {column * layout.width, part * count, 1, count};
  return {column * layout.width, part, layout.parts, count};
}

// Three moments of a block, in ns: it begins, its first bytes are there, its last.
struct Moments {
  uint64_t begin, first, last;
};
__device__ uint64_t now() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

// --- Kernels that do nothing ---------------------------------------------------------------------

__global__ void empty_kernel() {}
__global__ void waiting_kernel(int64_t ns) {
  for (const uint64_t begin = now(); static_cast<int64_t>(now() - begin) < ns;) {
  }
}
template <int BYTES>
struct Parameters {
  char bytes[BYTES];
};
template <int BYTES>
__global__ void empty_kernel_with(Parameters<BYTES>) {}
__global__ void meeting_kernel() {
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
}

// --- B by loads of 16 bytes ----------------------------------------------------------------------

enum class Hint { NONE, NO_ALLOCATE, NO_ALLOCATE_256, EVICT_FIRST };

template <Hint HINT>
__device__ __forceinline__ uint4 load16(const char* from) {
  uint4 v;
#define LOAD16(SUFFIX)                                              \
  asm volatile("ld.global" SUFFIX ".v4.u32 {%0, %1, %2, %3}, [%4];" \
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)         \
               : "l"(from))
  if constexpr (HINT == Hint::NONE)
    LOAD16(".nc");
  else if constexpr (HINT == Hint::NO_ALLOCATE)
    LOAD16(".nc.L1::no_allocate");
  else if constexpr (HINT == Hint::NO_ALLOCATE_256)
    LOAD16(".nc.L1::no_allocate.L2::256B");
  else
    LOAD16(".nc.L1::evict_first");
#undef LOAD16
  return v;
}

// Of each thread FLIGHT loads are on their way.
template <int THREADS, int FLIGHT, Hint HINT>
__global__ void __launch_bounds__(THREADS)
    loads_kernel(const char* B, Layout layout, uint4* out, Moments* moments) {
  const uint64_t begin = moments != nullptr ? now() : 0;
  const int rows = THREADS * 16 / layout.width;  // of one load of all threads
  const Walk walk = walk_of(layout, rows * FLIGHT);
  const char* const from = B + walk.byte0 + threadIdx.x * 16 % layout.width +
                           int64_t{threadIdx.x * 16 / layout.width} * ROW_BYTES;
  const auto at = [&](int g, int i) {
    return from + ((walk.first + g * walk.stride) * FLIGHT + i) * int64_t{rows} * ROW_BYTES;
  };
  uint4 v[FLIGHT], sum{};
  uint64_t first = 0;
#pragma unroll
  for (int i = 0; i < FLIGHT; ++i) v[i] = load16<HINT>(at(0, i));
#pragma unroll 1
  for (int g = 1; g <= walk.count; ++g)
#pragma unroll
    for (int i = 0; i < FLIGHT; ++i) {
      sum.x ^= v[i].x, sum.y ^= v[i].y, sum.z ^= v[i].z, sum.w ^= v[i].w;
      if (i == 0 && g == 1 && moments != nullptr && sum.x != 1) first = now();
      if (g < walk.count) v[i] = load16<HINT>(at(g, i));
    }
  if (sum.x == 1 && sum.y == 2) out[threadIdx.x] = sum;
  if (moments == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0) moments[blockIdx.x] = {begin, first, now()};
}

// --- B by TMA ------------------------------------------------------------------------------------

constexpr int MOST = 64;  // buffers

// `boxes` side by side, each of `box_bytes` and `box_columns`, are a group of rows.
struct Boxes {
  int boxes, box_columns, box_rows, buffers;
  int box_bytes() const { return box_columns * box_rows * 2; }
  int group_bytes() const { return boxes * box_bytes(); }
};

template <bool MEET>
__global__ void boxes_kernel(const __grid_constant__ CUtensorMap map, Layout layout, Boxes b,
                             bool prefetch, bool one_by_one, Moments* moments) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  __shared__ uint64_t full[MOST];
  const uint64_t begin = moments != nullptr ? now() : 0;
  if (MEET) ptx::cluster_arrive_relaxed();
  if (threadIdx.x == 0) {
    if (prefetch) ptx::prefetch_tensor_map(&map);
    if (!one_by_one)
      for (int i = 0; i < b.buffers; ++i) ptx::mbarrier_init(&full[i], 1);
    ptx::fence_mbarrier_init();
    const Walk walk = walk_of(layout, b.box_rows);
    const int box_bytes = b.box_columns * b.box_rows * 2;
    const auto load = [&](int t, int buffer) {
      ptx::mbarrier_arrive_expect_tx(&full[buffer], b.boxes * box_bytes);
      for (int j = 0; j < b.boxes; ++j)
        ptx::tma_load(bytes + (buffer * b.boxes + j) * box_bytes, &map,
                      walk.byte0 / 2 + j * b.box_columns,
                      (walk.first + t * walk.stride) * b.box_rows, &full[buffer]);
    };
    for (int t = 0; t < min(b.buffers, walk.count); ++t) {
      if (one_by_one) {
        ptx::mbarrier_init(&full[t], 1);
        ptx::fence_mbarrier_init();
      }
      load(t, t);
    }
    uint64_t first = 0;
    int buffer = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int t = 0; t < walk.count; ++t) {
      ptx::mbarrier_wait_parity(&full[buffer], parity);
      if (t == 0 && moments != nullptr) first = now();
      if (t + b.buffers < walk.count) load(t + b.buffers, buffer);
      if (++buffer == b.buffers) buffer = 0, parity ^= 1;
    }
    if (moments != nullptr) moments[blockIdx.x] = {begin, first, now()};
  }
  if (MEET) {
    __syncwarp();
    ptx::cluster_wait();
    ptx::cluster_sync();
  }
}

// The same by cp.async.bulk, which needs no map: a lane orders every 32nd row of a group.
__global__ void bulk_kernel(const char* B, Layout layout, int rows, int buffers, Moments* moments) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  __shared__ uint64_t full[MOST];
  const uint64_t begin = moments != nullptr ? now() : 0;
  for (int i = threadIdx.x; i < buffers; i += 32) ptx::mbarrier_init(&full[i], 1);
  ptx::fence_mbarrier_init();
  __syncwarp();
  const Walk walk = walk_of(layout, rows);
  const auto load = [&](int t, int buffer) {
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(&full[buffer], rows * layout.width);
    __syncwarp();
    for (int row = threadIdx.x; row < rows; row += 32)
      cuda::ptx::cp_async_bulk(
          cuda::ptx::space_cluster, cuda::ptx::space_global,
          bytes + (buffer * rows + row) * layout.width,
          B + ((walk.first + t * walk.stride) * rows + row) * int64_t{ROW_BYTES} + walk.byte0,
          layout.width, &full[buffer]);
  };
  for (int t = 0; t < min(buffers, walk.count); ++t) load(t, t);
  uint64_t first = 0;
  int buffer = 0;
  unsigned parity = 0;
#pragma unroll 1
  for (int t = 0; t < walk.count; ++t) {
    ptx::mbarrier_wait_parity(&full[buffer], parity);
    if (t == 0 && moments != nullptr) first = now();
    if (t + buffers < walk.count) load(t + buffers, buffer);
    if (++buffer == buffers) buffer = 0, parity ^= 1;
  }
  if (moments != nullptr && threadIdx.x == 0) moments[blockIdx.x] = {begin, first, now()};
}

// --- Stage 14 without its end --------------------------------------------------------------------

// Reads A and B and multiplies; nobody gets the sums.
template <int BM, int BN, int SPLIT>
__global__ void __launch_bounds__(few_rows::Shared<half, BM, BN, SPLIT>::THREADS, 1)
    multiplied_kernel(const __grid_constant__ CUtensorMap map_A,
                      const __grid_constant__ CUtensorMap map_B, int buffers, float* out,
                      Moments* moments) {
  using S = few_rows::Shared<half, BM, BN, SPLIT>;
  constexpr int CONSUMER_THREADS = S::CONSUMERS * few_rows::WARPGROUP;
  const uint64_t begin = moments != nullptr ? now() : 0;
  S& s = dynamic_shared<S>();
  const int rank = blockIdx.x % SPLIT;
  const Tile tile = {0, static_cast<int>(blockIdx.x / SPLIT) * BN};
  const few_rows::Steps steps = few_rows::steps_of<SPLIT>(rank, K);
  const bool is_producer = warp_of_block() == CONSUMER_THREADS / 32;
  if (is_producer) few_rows::fill(s, map_A, map_B, tile, steps, buffers);
  if (threadIdx.x == 0)
    for (int i = 0; i < buffers; ++i) ptx::mbarrier_init(&s.empty[i], S::CONSUMERS);
  __syncthreads();
  if (is_producer) {
    few_rows::refill(s, map_A, map_B, tile, steps, Ring{static_cast<unsigned>(buffers)});
    return;
  }
  uint64_t first = 0;
  if (moments != nullptr) {
    ptx::mbarrier_wait_parity(&s.full[0], 0);
    first = now();
  }
  float acc[BM / 2] = {};
  few_rows::consume(s, steps, Ring{static_cast<unsigned>(buffers)}, acc);
  for (const float a : acc)
    if (a == 12345.0f) out[threadIdx.x] = a;
  if (moments != nullptr && threadIdx.x == 0) moments[blockIdx.x] = {begin, first, now()};
}

// --- The contenders ------------------------------------------------------------------------------

struct Contender {
  std::string group, name;
  LaunchOn launch;
  int blocks = 0;                                              // of those that can tell moments
  std::function<void(int set, Moments*)> launch_with_moments;  // or none
  Timing timing{};
};

struct Sets {
  std::vector<DeviceBuffer<half>> A, B, C;
  explicit Sets(int count) {
    for (int i = 0; i < count; ++i) {
      A.emplace_back(size_t{M} * K), B.emplace_back(size_t{K} * N), C.emplace_back(size_t{M} * N);
      A.back().fill(0x21, nullptr), B.back().fill(0x21, nullptr);
    }
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  }
  Gemm<half, half> gemm(int set, int rows = M) const {
    const auto i = static_cast<size_t>(set);
    return {rows, N, K, A[i].get(), K, B[i].get(), N, C[i].get(), N};
  }
};

CUtensorMap map_of(const half* matrix, int box_columns, int box_rows, CUtensorMapSwizzle swizzle,
                   CUtensorMapL2promotion promotion) {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    LADDER_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                       cudaEnableDefault, &found));
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  const cuuint64_t sizes[] = {N, K}, row_bytes[] = {ROW_BYTES};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_columns),
                            static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<half*>(matrix), sizes, row_bytes,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, promotion,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    throw CudaError("cuTensorMapEncodeTiled refuses");
  return map;
}

class Contenders {
 public:
  Contenders(const Sets& sets, uint4* out) : sets_(sets), out_(out) {}
  std::vector<Contender> all;

  void nothing() {
    const auto add = [&](const std::string& name, LaunchOn launch) {
      all.push_back({"nothing", name, std::move(launch), 0, {}});
    };
    const auto empty = [](unsigned cluster, size_t smem, auto kernel) {
      launch_clusters(cluster, kernel, dim3(128), dim3(160), smem, nullptr);
    };
    constexpr size_t LARGE = 200 * 1024;
    const auto with = [](auto parameters) {
      launch(empty_kernel_with<sizeof parameters>, dim3(128), dim3(160), LARGE, nullptr,
             parameters);
    };
    add("128 blocks", [=](int) { empty(1, 0, empty_kernel); });
    add("128 blocks, 200 KB", [=](int) { empty(1, LARGE, empty_kernel); });
    add("twice, 200 KB",
        [=](int) { empty(1, LARGE, empty_kernel), empty(1, LARGE, empty_kernel); });
    add("first 0 KB, then 200 KB",
        [=](int) { empty(1, 0, empty_kernel), empty(1, LARGE, empty_kernel); });
    for (const unsigned cluster : {2, 4, 8})
      add(fmt::format("clusters of {}, 200 KB", cluster),
          [=](int) { empty(cluster, LARGE, empty_kernel); });
    for (const unsigned cluster : {2, 4, 8})
      add(fmt::format("clusters of {} that meet, 200 KB", cluster),
          [=](int) { empty(cluster, LARGE, meeting_kernel); });
    add("64 bytes of parameters, 200 KB", [=](int) { with(Parameters<64>()); });
    add("128 bytes of parameters, 200 KB", [=](int) { with(Parameters<128>()); });
    add("256 bytes of parameters, 200 KB", [=](int) { with(Parameters<256>()); });
    add("384 bytes of parameters, 200 KB", [=](int) { with(Parameters<384>()); });
  }

  template <int THREADS, int FLIGHT, Hint HINT = Hint::NO_ALLOCATE>
  void loads(const std::string& hint, Layout layout, size_t smem = 0) {
    const auto start = [=](int set, Moments* moments) {
      launch(loads_kernel<THREADS, FLIGHT, HINT>, dim3(layout.blocks()), dim3(THREADS), smem,
             nullptr, reinterpret_cast<const char*>(sets_.B[static_cast<size_t>(set)].get()),
             layout, out_, moments);
    };
    all.push_back({"loads of 16 bytes",
                   fmt::format("{}, {} threads, {} in flight{}{}", layout.name(), THREADS, FLIGHT,
                               hint, smem > 0 ? fmt::format(", {} KB shared", smem / 1024) : ""),
                   [=](int set) { start(set, nullptr); }, layout.blocks(), start});
  }

  void boxes(const std::string& what, Layout layout, Boxes b, unsigned cluster = 1,
             bool prefetch = false, bool meet = false, bool swizzle = true,
             CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             bool one_by_one = true) {
    b.buffers = std::min(b.buffers, 221 * 1024 / b.group_bytes());
    std::vector<CUtensorMap> maps;
    for (const auto& B : sets_.B)
      maps.push_back(map_of(B.get(), b.box_columns, b.box_rows,
                            swizzle ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                            promotion));
    const auto start = [=](int set, Moments* moments) {
      launch_clusters(cluster, meet ? boxes_kernel<true> : boxes_kernel<false>,
                      dim3(layout.blocks()), dim3(32),
                      static_cast<size_t>(b.buffers * b.group_bytes()), nullptr,
                      maps[static_cast<size_t>(set)], layout, b, prefetch, one_by_one, moments);
    };
    all.push_back({"boxes of TMA",
                   fmt::format("{}, {} of {}x{}, {} KB{}{}", layout.name(), b.boxes, b.box_rows,
                               b.box_columns, b.buffers * b.group_bytes() / 1024,
                               cluster > 1 ? fmt::format(", clusters of {}", cluster) : "", what),
                   [=](int set) { start(set, nullptr); }, layout.blocks(), start});
  }

  void bulk(Layout layout, int rows, int buffers) {
    const auto start = [=](int set, Moments* moments) {
      launch(bulk_kernel, dim3(layout.blocks()), dim3(32),
             static_cast<size_t>(buffers * rows * layout.width), nullptr,
             reinterpret_cast<const char*>(sets_.B[static_cast<size_t>(set)].get()), layout, rows,
             buffers, moments);
    };
    all.push_back({"cp.async.bulk",
                   fmt::format("{}, {} rows, {} KB", layout.name(), rows,
                               buffers * rows * layout.width / 1024),
                   [=](int set) { start(set, nullptr); }, layout.blocks(), start});
  }

  template <int BM, int BN, int SPLIT>
  void multiplied(unsigned cluster = 1) {
    const int buffers = few_rows::buffers_of<few_rows::Shared<half, BM, BN, SPLIT>>(1);
    static_assert(M <= BM);
    const int blocks = N / BN * SPLIT;
    const auto start = [=](int set, Moments* moments) {
      const Gemm<half, half> p = sets_.gemm(set);
      launch_clusters(cluster, multiplied_kernel<BM, BN, SPLIT>, dim3(blocks),
                      dim3(few_rows::Shared<half, BM, BN, SPLIT>::THREADS),
                      few_rows::Shared<half, BM, BN, SPLIT>::bytes(buffers), nullptr,
                      ptx::tensor_map(p.A, p.M, p.K, p.lda, BM),
                      ptx::tensor_map(p.B, p.K, p.N, p.ldb, few_rows::BK), buffers,
                      reinterpret_cast<float*>(out_), moments);
    };
    all.push_back({"without the end",
                   fmt::format("{}x{} split {}{}", BM, BN, SPLIT,
                               cluster > 1 ? fmt::format(", clusters of {}", cluster) : ""),
                   [=](int set) { start(set, nullptr); }, blocks, start});
  }

  void whole(const std::string& name, int rows, std::function<void(const Gemm<half, half>&)> gemm) {
    all.push_back({fmt::format("whole, {} rows", rows),
                   name,
                   [=](int set) { gemm(sets_.gemm(set, rows)); },
                   0,
                   {}});
  }

 private:
  const Sets& sets_;
  uint4* const out_;
};

void read_by_loads(Contenders& c) {
  // A block has 64 to 1024 bytes of a row; 128 blocks, or 256 smaller ones.
  for (const Layout layout : {Layout{64, 1, true, false},
                              {128, 2, true, false},
                              {128, 2, false, false},
                              {128, 2, false, true},
                              {256, 4, false, false},
                              {512, 8, false, false},
                              {512, 8, true, false},
                              {1024, 16, false, false},
                              {8192, 128, true, false}})
    c.loads<512, 16>("", layout);
  for (const Layout layout : {Layout{128, 2, false, false}, {512, 8, false, false}}) {
    c.loads<512, 8>("", layout);
    c.loads<256, 32>("", layout);
    c.loads<512, 16, Hint::NONE>(", L1 as usual", layout);
    c.loads<512, 16, Hint::NO_ALLOCATE_256>(", L2::256B", layout);
    c.loads<512, 16, Hint::EVICT_FIRST>(", evict first", layout);
    c.loads<512, 16>("", layout, 200 * 1024);
  }
  for (const Layout layout : {Layout{64, 2, false, false},
                              {128, 4, false, false},
                              {512, 16, false, false},
                              {1024, 32, false, false}})
    c.loads<256, 16>("", layout);
  c.loads<128, 16>("", {128, 8, false, false});
}

void read_by_boxes(Contenders& c) {
  const Boxes one{1, 64, 64, 27}, two{2, 64, 64, 13}, four{4, 64, 64, 6};
  const Layout narrow{128, 2, false, false};
  c.boxes("", narrow, one);
  c.boxes(", the map prefetched", narrow, one, 1, true);
  c.boxes(", all barriers first", narrow, one, 1, false, false, true,
          CU_TENSOR_MAP_L2_PROMOTION_L2_128B, false);
  c.boxes("", {128, 2, true, false}, one);
  c.boxes("", {128, 2, false, true}, one);
  c.boxes("", narrow, one, 2);
  c.boxes(" that meet", narrow, one, 2, false, true);
  c.boxes("", narrow, {1, 64, 64, 6});
  c.boxes("", narrow, {1, 64, 64, 13});
  c.boxes("", narrow, {1, 64, 128, 13});
  c.boxes("", narrow, {1, 64, 256, 6});
  c.boxes("", narrow, {1, 64, 16, 64});
  const auto promoted = [&](const std::string& name, CUtensorMapL2promotion promotion) {
    c.boxes(", promotion " + name, narrow, one, 1, false, false, true, promotion);
    c.boxes(", promotion " + name, {512, 8, false, false}, four, 1, false, false, true, promotion);
  };
  promoted("none", CU_TENSOR_MAP_L2_PROMOTION_NONE);
  promoted("64", CU_TENSOR_MAP_L2_PROMOTION_L2_64B);
  promoted("256", CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  c.boxes("", {256, 4, false, false}, two);
  c.boxes("", {256, 4, false, false}, two, 4);
  c.boxes("", {512, 8, false, false}, four);
  c.boxes("", {512, 8, false, false}, four, 8);
  c.boxes("", {512, 8, true, false}, four);
  // A wide box without a swizzle.
  c.boxes(", no swizzle", {512, 8, false, false}, {1, 256, 64, 6}, 1, false, false, false);
  c.boxes(", no swizzle", {512, 8, false, false}, {1, 256, 16, 26}, 1, false, false, false);
  // 256 blocks, two on a multiprocessor.
  c.boxes("", {128, 4, false, false}, {1, 64, 64, 13});
  c.boxes("", {128, 4, false, false}, {1, 64, 64, 13}, 4);
  c.boxes("", {256, 8, false, false}, {2, 64, 64, 6});
  c.boxes("", {256, 8, false, false}, {2, 64, 64, 6}, 8);
  c.bulk({128, 2, false, false}, 64, 27);
  c.bulk({512, 8, false, false}, 64, 6);
  c.bulk({512, 8, false, false}, 16, 26);
  c.bulk({1024, 16, false, false}, 16, 13);
  c.bulk({8192, 128, true, false}, 1, 27);
}

void whole_kernels(Contenders& c, Cublas& cublas) {
  c.multiplied<16, 64, 2>();
  c.multiplied<16, 64, 2>(2);
  c.multiplied<16, 128, 4>();
  c.multiplied<16, 256, 8>();
  for (const int rows : {1, 16}) {
    c.whole("cuBLAS", rows, [&](const Gemm<half, half>& p) { cublas.gemm(p); });
    for (const auto& configuration : few_rows::CONFIGURATIONS<half>)
      for (const int blocks : few_rows::BLOCKS)
        if (configuration.BM == (rows == 1 ? 8 : 16) && configuration.buffers(blocks) > 1)
          c.whole(few_rows::name_of(configuration, blocks), rows,
                  [&configuration, blocks](const Gemm<half, half>& p) {
                    few_rows::gemm_as(configuration, p, blocks);
                  });
  }
  using partial_sums::Variant;
  c.whole("16x64 split 2, fetched", 16, partial_sums::gemm<Variant::FETCHED>);
  c.whole("16x64 split 2, K in a row", 16, partial_sums::gemm<Variant::K_IN_A_ROW>);
  c.whole("16x64 split 2, all barriers first", 16, partial_sums::gemm<Variant::BARRIERS_FIRST>);
}

// --- The program ---------------------------------------------------------------------------------

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Times within the kernel, in us from the moment when its first block begins, medians of launches.
void print_moments(const std::vector<Contender>& all, int sets) {
  constexpr int LAUNCHES = 41;
  DeviceBuffer<Moments> moments(1024);
  std::vector<Moments> read(1024);
  fmt::print(
      "\nus from the beginning of the first block: the last block begins; the first bytes are "
      "there in the first,\nmiddle, last block; and the last bytes\n{:<19} {:<58} {:>7} "
      "{:>23} {:>23}\n",
      "", "", "begins", "first bytes", "last bytes");
  for (const Contender& c : all) {
    if (!c.launch_with_moments || c.blocks > 1024) continue;
    std::vector<double> found[7];
    for (int i = 0; i < LAUNCHES; ++i) {
      c.launch((2 * i) % sets);  // it does not find the GPU idle
      c.launch_with_moments((2 * i + 1) % sets, moments.get());
      LADDER_CUDA_CHECK(cudaDeviceSynchronize());
      moments.download(read);
      std::vector<uint64_t> begin, first, last;
      for (int b = 0; b < c.blocks; ++b) {
        const Moments& m = read[static_cast<size_t>(b)];
        begin.push_back(m.begin), first.push_back(m.first), last.push_back(m.last);
      }
      for (auto* values : {&begin, &first, &last}) std::sort(values->begin(), values->end());
      const auto since = [&](uint64_t time) {
        return static_cast<double>(time - begin.front()) * 1e-3;
      };
      const size_t middle = begin.size() / 2;
      const double values[] = {since(begin.back()), since(first.front()), since(first[middle]),
                               since(first.back()), since(last.front()),  since(last[middle]),
                               since(last.back())};
      for (size_t v = 0; v < 7; ++v) found[v].push_back(values[v]);
    }
    fmt::print("{:<19} {:<58}", c.group, c.name);
    for (const auto& values : found) fmt::print(" {:>7.2f}", median_of(values));
    fmt::print("\n");
  }
}

// Times all in turn, each launch between two events. The harness times as these do, but what it
// measures takes longer than the host needs for a launch; here a launch must not wait for the host,
// or an empty kernel takes as long as that. So a kernel that only waits comes first, and the host
// enqueues the rest behind it.
void time_all(std::vector<Contender>& all, int sets, int rounds) {
  constexpr size_t TOGETHER = 48;           // far fewer commands than a stream's queue has room for
  constexpr int64_t AHEAD_NS = 48 * 40000;  // which the host takes for them, with room to spare
  constexpr int WARMUP = 5;
  struct Pair {
    cudaEvent_t start, stop;
  };
  std::vector<Pair> events(all.size());
  for (Pair& pair : events) {
    LADDER_CUDA_CHECK(cudaEventCreate(&pair.start));
    LADDER_CUDA_CHECK(cudaEventCreate(&pair.stop));
  }
  std::vector<std::vector<double>> milliseconds(all.size());
  int launched = 0;
  for (int round = -WARMUP; round < rounds; ++round) {
    const std::vector<size_t> order =
        order_of_round(static_cast<size_t>(round + WARMUP), all.size());
    for (size_t first = 0; first < order.size(); first += TOGETHER) {
      launch(waiting_kernel, dim3(1), dim3(1), 0, nullptr, AHEAD_NS);
      all[order[first]].launch(launched++ % sets);  // the one before it is of the usual kind
      const size_t end = std::min(first + TOGETHER, order.size());
      for (size_t i = first; i < end; ++i) {
        const size_t c = order[i];
        LADDER_CUDA_CHECK(cudaEventRecord(events[c].start, nullptr));
        all[c].launch(launched++ % sets);
        LADDER_CUDA_CHECK(cudaEventRecord(events[c].stop, nullptr));
      }
      LADDER_CUDA_CHECK(cudaDeviceSynchronize());
      for (size_t i = first; i < end && round >= 0; ++i) {
        float ms = 0;
        LADDER_CUDA_CHECK(cudaEventElapsedTime(&ms, events[order[i]].start, events[order[i]].stop));
        milliseconds[order[i]].push_back(ms);
      }
    }
  }
  for (size_t c = 0; c < all.size(); ++c) {
    all[c].timing = summarize(milliseconds[c]);
    LADDER_CUDA_CHECK(cudaEventDestroy(events[c].start));
    LADDER_CUDA_CHECK(cudaEventDestroy(events[c].stop));
  }
}

// The same by the harness's own clock, which may wait for the host.
void time_by_harness(std::vector<Contender> all, int sets, int rounds) {
  std::vector<LaunchOn> launches;
  for (const Contender& c : all) launches.push_back(c.launch);
  const std::vector<Timing> timings = time_interleaved(launches, {sets, 3, rounds}, nullptr);
  fmt::print("\nby the harness, whose launches may wait for the host:\n");
  for (size_t i = 0; i < all.size(); ++i)
    fmt::print("{:<19} {:<58} {:>7.2f} {:>7.2f} {:>7.2f}\n", all[i].group, all[i].name,
               timings[i].median * 1e3, timings[i].p10 * 1e3, timings[i].p90 * 1e3);
}

void write_json(const std::string& path, const Device& device, const std::vector<Contender>& all) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Contender& c : all)
    list.push_back({{"group", c.group},
                    {"name", c.name},
                    {"us", c.timing.median * 1e3},
                    {"p10_us", c.timing.p10 * 1e3},
                    {"p90_us", c.timing.p90 * 1e3}});
  write_whole(path,
              nlohmann::ordered_json{{"device", device.name}, {"contenders", list}}.dump(1) + "\n");
}

struct Arguments {
  int rounds = 200;
  std::string json;
};

int sets_beyond_l2(const Device& device, double bytes) {
  return std::max(2,
                  static_cast<int>(std::ceil(2.0 * static_cast<double>(device.l2_bytes) / bytes)));
}

void run(const Arguments& arguments) {
  const Device device = select_device(0, 90, true);
  const int count = sets_beyond_l2(device, 2.0 * K * N);
  const Sets sets(count);
  DeviceBuffer<uint4> out(1024);
  Cublas cublas;
  Contenders c(sets, out.get());
  c.nothing();
  read_by_loads(c);
  read_by_boxes(c);
  whole_kernels(c, cublas);
  time_all(c.all, count, arguments.rounds);
  fmt::print("{}: {}x{}x{}, {} launches of each in turn, {} sets of buffers\n", device.name, M, N,
             K, arguments.rounds, count);
  fmt::print("{:<19} {:<58} {:>7} {:>7} {:>7} {:>6}\n", "", "", "us", "p10", "p90", "GB/s");
  for (const Contender& contender : c.all) {
    const Timing& t = contender.timing;
    fmt::print("{:<19} {:<58} {:>7.2f} {:>7.2f} {:>7.2f} {:>6}\n", contender.group, contender.name,
               t.median * 1e3, t.p10 * 1e3, t.p90 * 1e3,
               contender.group == "nothing" ? "" : fmt::format("{:.0f}", 2e-6 * K * N / t.median));
  }
  print_moments(c.all, count);
  std::vector<Contender> few;
  for (const Contender& contender : c.all)
    if (contender.name == "cuBLAS" || contender.name == "128 blocks, 200 KB" ||
        contender.name == "rows_16_columns_64_split_2_blocks_1")
      few.push_back(contender);
  time_by_harness(few, count, arguments.rounds);
  if (!arguments.json.empty()) write_json(arguments.json, device, c.all);
}

// Serves --help. Whether there is something to measure.
bool parse(int argc, char** argv, Arguments& arguments) {
  CLI::App app("Times the parts of a product with few rows, 16x4096x4096, each by itself.",
               "few_rows");
  app.add_option("--rounds", arguments.rounds, "launches of each contender")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  add_output_file(app, "--json", arguments.json, "writes the times of the parts to this file, too");
  app.footer(
      "Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU (it needs compute "
      "capability 9.0).");
  if (!parse_arguments(app, argc, argv)) return false;
  if (!arguments.json.empty()) require_writable("--json", arguments.json);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("few_rows", [&] {
    Arguments arguments;
    if (parse(argc, argv, arguments)) run(arguments);
  });
}
