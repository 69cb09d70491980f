#pragma once
// 22c roles: attention, O = softmax(scale * Q * K^T) * V for each head, bf16 in and out.
// Idea    one thread copies; warpgroups start both products of a piece before they wait for either:
//         the scores of the next piece, and the values by the weights of the last. While the tensor
//         cores do the second, a warpgroup makes the next weights; and what one of them leaves
//         idle, the other one takes.
// vs 22b  10's producer and consumers with a ring, in which K and V are pieces of one form; K comes
//         one piece ahead of V. Tiles by the width: up to D = 128 three warpgroups multiply. By the
//         width, too, what was fastest: they start products in turn, or a weight may be larger than
//         1, so that O is multiplied by a factor only where the largest score has grown by much.
// Step    the loop is another: what was one after the other is started together.
// Limit   a causal block has as many pieces as its place, and the last wave is whatever is left.
//         Next: 22d.
#include "22b_online_softmax.cuh"
#include "attention.cuh"
#include "launch.cuh"
#include "parts/descriptors.cuh"
#include "parts/warpgroup.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/tensor_map.cuh"
#include "ptx/tma.cuh"
#include "ptx/wgmma.cuh"

namespace ladder::attention_roles {

using namespace online_softmax;  // 22b, where the softmax is

// When O is multiplied by a factor, and when products are started.
enum class Way {
  ALWAYS_RESCALED,  // for each piece, as 22b does it
  SELDOM_RESCALED,  // where the largest score has grown by much
  IN_TURN,          // seldom, too; and a warpgroup starts products after the one before it
};

// Warpgroups that multiply, each 64 queries; keys in a piece; pieces in the ring; the fastest way.
template <int COLUMNS, int GROUPS, int PIECE, int BUFFERS, Way BEST>
struct Shape {
  static constexpr Way WAY = BEST;
  static constexpr int WIDTH = COLUMNS, CONSUMERS = GROUPS, KEYS = PIECE, PIPE = BUFFERS;
  static constexpr int BM = CONSUMERS * MMA_M, THREADS = (CONSUMERS + 1) * WARPGROUP;
  // Registers a thread, by role: as in 17, three consumers share what four warpgroups have.
  static constexpr int PRODUCER_REGISTERS = 24;
  static constexpr int CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : 240;

  using Piece = bf16[WIDTH / BOX][KEYS][BOX];  // of K or of V
  // Of a consumer: its queries; then its rows of O, 16 of each warp.
  union QueriesOrO {
    bf16 Q[WIDTH / BOX][MMA_M][BOX];
    bf16 staged[WARPGROUP / 32][16][WIDTH];
  };
  struct Shared {
    QueriesOrO rows[CONSUMERS];
    Piece pieces[PIPE];
    uint64_t full_Q[CONSUMERS];
    uint64_t full[PIPE];   // completes when a piece has landed
    uint64_t empty[PIPE];  // completes when all consumers have multiplied it
  };
};
template <int WIDTH>
struct ShapeOf : Shape<128, 3, 80, 7, Way::ALWAYS_RESCALED> {};
template <>
struct ShapeOf<64> : Shape<64, 3, 128, 8, Way::IN_TURN> {};
template <>
struct ShapeOf<256> : Shape<256, 2, 80, 4, Way::SELDOM_RESCALED> {};

// A tile of queries, and its head.
struct Place {
  int head, tile;
};
// Which of them block number `block` has: tile after tile, and head after head.
struct AsTheyLie {
  __device__ __forceinline__ Place operator()(int block, int tiles, int /*heads*/) const {
    return {block / tiles, block % tiles};
  }
};

// What a block works on. Pieces of keys come from the last to the first.
template <class Shape>
struct Work {
  int head, kv_head, m0, pieces;

  template <class Order>
  __device__ __forceinline__ Work(const Attention& p, const Order& order) {
    const int tiles = ceil_div(p.queries, Shape::BM);
    const Place place = order(blockIdx.x, tiles, p.heads_in_all());
    head = place.head, kv_head = p.kv_head(head), m0 = place.tile * Shape::BM;
    pieces = ceil_div(min(p.keys, p.seen_by(m0 + Shape::BM - 1)), Shape::KEYS);
  }
  __device__ __forceinline__ int first_key(int t) const { return (pieces - 1 - t) * Shape::KEYS; }
};

// The producer, one thread: K of the first piece, then K of the next and V of each.
template <class Shape>
__device__ __forceinline__ void produce(typename Shape::Shared& s, const Work<Shape>& work,
                                        const CUtensorMap& map_Q, const CUtensorMap& map_K,
                                        const CUtensorMap& map_V) {
  if (work.pieces == 0) return;
  for (int i = 0; i < Shape::CONSUMERS; ++i) {
    auto& to = s.rows[i].Q;
    ptx::mbarrier_arrive_expect_tx(&s.full_Q[i], sizeof to);
    for (int j = 0; j < Shape::WIDTH / BOX; ++j)
      ptx::tma_load(to[j], &map_Q, j * BOX, work.m0 + i * MMA_M, work.head, &s.full_Q[i]);
  }
  int step = 0;
  const auto copy = [&](const CUtensorMap& map, int t) {
    const int to = step % Shape::PIPE;
    ptx::mbarrier_wait_parity(&s.empty[to], (step / Shape::PIPE + 1) % 2);
    ptx::mbarrier_arrive_expect_tx(&s.full[to], sizeof s.pieces[to]);
    for (int j = 0; j < Shape::WIDTH / BOX; ++j)
      ptx::tma_load(s.pieces[to][j], &map, j * BOX, work.first_key(t), work.kv_head, &s.full[to]);
    ++step;
  };
  copy(map_K, 0);
  for (int t = 1; t < work.pieces; ++t) copy(map_K, t), copy(map_V, t - 1);
  copy(map_V, work.pieces - 1);
}

// A consumer, a warpgroup: its 64 queries.
template <class Shape, Way WAY>
struct Consumer {
  static constexpr int WIDTH = Shape::WIDTH, KEYS = Shape::KEYS, CONSUMERS = Shape::CONSUMERS;
  typename Shape::Shared& s;
  const Work<Shape>& work;
  const Seen seen;
  const float scale_log2;
  const int group = warpgroup_of_block();
  float o[WIDTH / 2] = {};
  float scores[KEYS / 2];
  uint32_t weights[KEYS / MMA_K][4];
  Rows rows;
  float factor[2];
  int step = 0;

  __device__ __forceinline__ Consumer(typename Shape::Shared& s, const Work<Shape>& work,
                                      const Attention& p, float scale_log2)
      : s(s), work(work), seen(p, work.m0 + warpgroup_of_block() * MMA_M), scale_log2(scale_log2) {}

  __device__ __forceinline__ const typename Shape::Piece& landed() {
    ptx::mbarrier_wait_parity(&s.full[step % Shape::PIPE], step / Shape::PIPE % 2);
    return s.pieces[step++ % Shape::PIPE];
  }
  // The piece that was taken so many before the next one.
  __device__ __forceinline__ void release(int before) {
    if (threadIdx.x % WARPGROUP == 0) ptx::mbarrier_arrive(&s.empty[(step - before) % Shape::PIPE]);
  }

  // Start S = Q * K^T of a piece, and O += P * V.
  __device__ __forceinline__ void multiply_by_keys() {
    const auto& K = landed();
    const auto& Q = s.rows[group].Q;
    const uint64_t q = descriptor_along_k(Q[0], 0, 0), k0 = descriptor_along_k(K[0], 0, 0);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < WIDTH; k += MMA_K)
      ptx::wgmma_m64k16_f32<bf16, Major::K, Major::K>(
          scores, further(q, k / BOX * sizeof Q[0] + k % BOX * sizeof(bf16)),
          further(k0, k / BOX * sizeof K[0] + k % BOX * sizeof(bf16)), k > 0);
    ptx::wgmma_commit_group();
  }
  __device__ __forceinline__ void multiply_by_values() {
    const auto& V = landed();
    const uint64_t v = descriptor_b(V, 0);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < KEYS; k += MMA_K)
      ptx::wgmma_m64k16_f32<bf16, Major::MN>(o, weights[k / MMA_K], further(v, k * sizeof V[0][0]),
                                             true);
    ptx::wgmma_commit_group();
  }

  // Makes weights of the scores of piece t. What is subtracted stays as it is, as long as weights
  // do not become larger than 2^SLACK.
  __device__ __forceinline__ void weigh_piece(int t) {
    constexpr float SLACK = WAY == Way::ALWAYS_RESCALED ? 0 : 8;
    seen.mask(scores, work.first_key(t));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float before = rows.largest[r], largest = largest_of(scores, r);
      const bool stays = (largest - before) * scale_log2 <= SLACK;
      factor[r] = weigh(scores, scale_log2, rows, r, stays ? before : largest);
    }
  }
  __device__ __forceinline__ void rescale() {
    if (WAY != Way::ALWAYS_RESCALED && !__any_sync(0xFFFFFFFF, factor[0] != 1 || factor[1] != 1))
      return;
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i) o[i] *= factor[row_of(i)];
  }

  // A barrier of each consumer, at which it waits for its turn to start products.
  __device__ __forceinline__ void wait_for_turn() {
    constexpr int FIRST = 1 + CONSUMERS;
    if (WAY == Way::IN_TURN) ptx::named_barrier_sync(FIRST + group, 2 * WARPGROUP);
  }
  __device__ __forceinline__ void give_turn() {
    constexpr int FIRST = 1 + CONSUMERS;
    if (WAY == Way::IN_TURN)
      ptx::named_barrier_arrive(FIRST + (group + 1) % CONSUMERS, 2 * WARPGROUP);
  }

  __device__ __forceinline__ void run() {
    if (work.pieces == 0) return;
    ptx::mbarrier_wait_parity(&s.full_Q[group], 0);
    multiply_by_keys();
    ptx::wgmma_wait_group<0>();
    release(1);
    weigh_piece(0);
    round_to(weights, scores);
    if (work.pieces > 1 && group == CONSUMERS - 1) give_turn();
#pragma unroll 1
    for (int t = 1; t < work.pieces; ++t) {
      wait_for_turn();
      multiply_by_keys();
      multiply_by_values();  // of the piece before
      // The last consumer's last turn is nobody's.
      if (group < CONSUMERS - 1 || t + 1 < work.pieces) give_turn();
      ptx::wgmma_wait_group<1>();  // scores are there, while O is still added to
      release(2);
      weigh_piece(t);
      ptx::wgmma_wait_group<0>();
      release(1);
      rescale();
      round_to(weights, scores);
    }
    multiply_by_values();
    ptx::wgmma_wait_group<0>();
  }
};

template <int WIDTH, Way WAY, class Order>
__global__ void __launch_bounds__(ShapeOf<WIDTH>::THREADS, 1)
    attention_kernel(const Attention p, float scale_log2, const Order order,
                     const __grid_constant__ CUtensorMap map_Q,
                     const __grid_constant__ CUtensorMap map_K,
                     const __grid_constant__ CUtensorMap map_V) {
  using Shape = ShapeOf<WIDTH>;
  constexpr int CONSUMERS = Shape::CONSUMERS;
  auto& s = dynamic_shared<typename Shape::Shared>();
  const Work<Shape> work(p, order);
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : s.full_Q) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.full) ptx::mbarrier_init(&barrier, 1);
    for (uint64_t& barrier : s.empty) ptx::mbarrier_init(&barrier, CONSUMERS);
    ptx::fence_mbarrier_init();  // TMA sees them, too
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS * WARPGROUP) {
    ptx::setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS * WARPGROUP) produce<Shape>(s, work, map_Q, map_K, map_V);
  } else {
    ptx::setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
    Consumer<Shape, WAY> consumer(s, work, p, scale_log2);
    consumer.run();
    // O takes the place of Q, which no warp of the consumer may still read.
    ptx::named_barrier_sync(1 + consumer.group, WARPGROUP);
    const int warp = warp_of_block();
    store<WIDTH>(s.rows[consumer.group].staged[warp % 4], consumer.o, consumer.rows,
                 p.O_of(work.head), work.m0 + warp * 16, p.queries);
  }
}

// Throws CudaError where there is no TMA.
template <int WIDTH, class Order, Way WAY = ShapeOf<WIDTH>::WAY>
void launch_width(const Attention& p, const Order& order) {
  using Shape = ShapeOf<WIDTH>;
  const int kv_heads = p.batch * p.kv_heads;
  launch(attention_kernel<WIDTH, WAY, Order>,
         dim3(p.heads_in_all() * ceil_div(p.queries, Shape::BM)), dim3(Shape::THREADS),
         sizeof(typename Shape::Shared), p.stream, p, p.scale_log2(), order,
         ptx::tensor_map_of_several(p.Q, p.heads_in_all(), p.queries, WIDTH, WIDTH, MMA_M),
         ptx::tensor_map_of_several(p.K, kv_heads, p.keys, WIDTH, WIDTH, Shape::KEYS),
         ptx::tensor_map_of_several(p.V, kv_heads, p.keys, WIDTH, WIDTH, Shape::KEYS));
}

// By the one way that is given, or, without any, by the fastest of each width.
template <Way... WAY, class Order>
void attention_in(const Order& order, const Attention& p) {
  if (p.width == 64) return launch_width<64, Order, WAY...>(p, order);
  p.width == 128 ? launch_width<128, Order, WAY...>(p, order)
                 : launch_width<256, Order, WAY...>(p, order);
}
template <Way... WAY>
void attention(const Attention& p) {
  if (!done_without_kernel(p)) attention_in<WAY...>(AsTheyLie{}, p);
}

}  // namespace ladder::attention_roles
