#include "case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/draw_rows.h"
#include "harness/random.h"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/symbols.h"
#endif

namespace ladder::attention_bench {
namespace {

using harness::Data;
using harness::Stream;

constexpr float LN_2 = 0.693147180559945f;
constexpr int NOT_ZERO = 4;  // numbers of a row of exact Q, so that scores are from -4 to 4

int rows_of(const Shape& s) {
  return s.batch * s.heads * s.queries;
}
int keys_of(const Shape& s) {
  return s.batch * s.kv_heads * s.keys;
}

bf16 number_of_q(const Shape& shape, Data data, uint64_t seed, uint64_t index) {
  const auto width = static_cast<uint64_t>(shape.width);
  const uint64_t row = index / width, column = index % width;
  if (!is_integers(data)) {
    const float factor = row % 4 == 0 ? 100 : 6;
    return __float2bfloat16(factor * harness::random_uniform(seed, Stream::A, index));
  }
  int sum = 0;
  for (uint64_t i = 0; i < NOT_ZERO; ++i) {
    const uint64_t bits = random_bits(seed, Stream::A, row * NOT_ZERO + i);
    if ((bits >> 1) % width == column) sum += bits % 2 == 0 ? 1 : -1;
  }
  return __float2bfloat16(static_cast<float>(sum));
}

std::vector<bf16> draw(int rows, const Shape& shape, Data data, uint64_t seed, Stream stream,
                       int magnitude) {
  return harness::draw_rows<bf16>(rows, shape.width, shape.width, [=](uint64_t index) {
    return __float2bfloat16(is_integers(data)
                                ? harness::random_integer(seed, stream, index, magnitude)
                                : harness::random_uniform(seed, stream, index));
  });
}

#ifdef LADDER_CPU_DEVICE
// So that a store next to O is a finding with its line.
void watch(const Attention& p, const Shape& s) {
  const auto name = [&](const bf16* data, const char* name, int rows) {
    const size_t bytes = static_cast<size_t>(s.width) * sizeof *data;
    cpu_device::name_matrix(data, name, static_cast<size_t>(rows), bytes, bytes, sizeof *data);
  };
  name(p.Q, "Q", rows_of(s)), name(p.O, "O", rows_of(s));
  name(p.K, "K", keys_of(s)), name(p.V, "V", keys_of(s));
  if (p.workspace != nullptr) cpu_device::name_array(p.workspace, "workspace", p.workspace_bytes);
}
#endif

double norm(const bf16* row, int width) {
  double squares = 0;
  for (int d = 0; d < width; ++d) squares += std::pow(double{__bfloat162float(row[d])}, 2);
  return std::sqrt(squares);
}

}  // namespace

Case::Case(const Shape& shape, Data data, uint64_t seed, Reference reference, int sets)
    : shape_(shape),
      data_(data),
      Q_(harness::draw_rows<bf16>(
          rows_of(shape), shape.width, shape.width,
          [&](uint64_t index) { return number_of_q(shape, data, seed, index); })),
      K_(draw(keys_of(shape), shape, data, seed, Stream::B, 1)),
      V_(draw(keys_of(shape), shape, data, seed, Stream::RESIDUAL, 2)),
      expected_{rows_of(shape), shape.width, shape.width},
      magnitudes_(Q_.size()) {
  for (int i = 0; i < sets; ++i) {
    Set& set = sets_.emplace_back(
        Set{harness::DeviceBuffer<bf16>(Q_.size()), harness::DeviceBuffer<bf16>(K_.size()),
            harness::DeviceBuffer<bf16>(V_.size()), harness::DeviceBuffer<bf16>(expected_.size())});
    set.Q.upload(Q_), set.K.upload(K_), set.V.upload(V_);
  }
  double longest_key = 0;
  for (int i = 0; i < keys_of(shape); ++i)
    longest_key =
        std::max(longest_key, norm(&K_[static_cast<size_t>(i) * shape.width], shape.width));
  const double scale = double{problem(0, nullptr).scale};
  for (int i = 0; i < rows_of(shape); ++i)
    exponents_.push_back(static_cast<float>(
        scale * longest_key * norm(&Q_[static_cast<size_t>(i) * shape.width], shape.width)));
  expected_.poison();
  reference == Reference::HOST ? find_expected_on_host() : find_expected_on_device();
}

Attention Case::problem(int i, cudaStream_t stream) const {
  const Set& set = sets_[static_cast<size_t>(i)];
  Attention p{
      shape_.batch, shape_.heads, shape_.kv_heads, shape_.queries, shape_.keys,
      shape_.width, set.Q.get(),  set.K.get(),     set.V.get(),    set.O.get() + harness::GUARD};
  p.scale = is_integers(data_) ? LN_2 : 1 / std::sqrt(static_cast<float>(shape_.width));
  p.causal = shape_.causal;
  p.stream = stream;
  if (workspace_) p.workspace = workspace_->get(), p.workspace_bytes = workspace_->capacity();
  return p;
}

void Case::make_workspace(uint64_t bytes) {
  workspace_.reset();
  if (bytes > 0) workspace_.emplace(bytes);
}

void Case::find_expected_on_host() {
  const Attention p = problem(0, nullptr);
  const auto width = static_cast<size_t>(p.width);
#pragma omp parallel for
  for (int row = 0; row < expected_.rows; ++row) {
    const int head = row / p.queries, seen = p.seen_by(row % p.queries);
    const size_t first = static_cast<size_t>(p.kv_head(head)) * static_cast<size_t>(p.keys) * width;
    std::vector<double> weights(static_cast<size_t>(seen)), values(width), magnitudes(width);
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      for (size_t d = 0; d < width; ++d)
        weights[i] += double{__bfloat162float(Q_[static_cast<size_t>(row) * width + d])} *
                      double{__bfloat162float(K_[first + i * width + d])};
      largest = std::max(largest, weights[i]);
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      const double less = weights[i] - largest;
      const double weight = is_integers(data_) ? std::exp2(less) : std::exp(double{p.scale} * less);
      sum += weight;
      for (size_t d = 0; d < width; ++d) {
        const double v = double{__bfloat162float(V_[first + i * width + d])};
        values[d] += weight * v;
        magnitudes[d] += weight * std::abs(v);
      }
    }
    for (size_t d = 0; d < width; ++d) {
      expected_.row(row)[d] = __float2bfloat16(static_cast<float>(seen > 0 ? values[d] / sum : 0));
      magnitudes_[static_cast<size_t>(row) * width + d] =
          static_cast<float>(seen > 0 ? magnitudes[d] / sum : 0);
    }
  }
}

void Case::find_expected_on_device() {
  harness::DeviceBuffer<float> expected(Q_.size()), magnitudes(Q_.size());
  if (!Q_.empty()) find_expected(problem(0, nullptr), expected.get(), magnitudes.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  magnitudes.download(magnitudes_);
  std::vector<float> all(Q_.size());
  expected.download(all);
  for (int row = 0; row < expected_.rows; ++row)
    for (int d = 0; d < expected_.cols; ++d)
      expected_.row(row)[d] =
          __float2bfloat16(all[static_cast<size_t>(row) * static_cast<size_t>(expected_.cols) +
                               static_cast<size_t>(d)]);
}

std::string Case::check(const Variant& variant, cudaStream_t stream) {
  harness::Output<bf16> output{expected_.rows, expected_.cols, expected_.ld};
  output.poison();
  sets_.front().O.upload(output.memory);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());  // `stream` may be one that does not wait
  Attention p = problem(0, stream);
  const uint64_t bytes = variant.workspace_bytes ? variant.workspace_bytes(p) : 0;
  make_workspace(bytes);
  p.workspace = nullptr, p.workspace_bytes = bytes;
  if (workspace_) workspace_->poison(stream), p.workspace = workspace_->get();
#ifdef LADDER_CPU_DEVICE
  watch(p, shape_);
#endif
  variant.attention(p);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  sets_.front().O.download(output.memory);
  if (workspace_) output.stray = workspace_->find_stray_write(bytes);

  // Both are rounded to bf16, and so is each weight; a score is off by some of fp32's last bits of
  // what its products' magnitudes add up to, and a weight by as much of itself.
  constexpr double ROUNDOFF = harness::Number<bf16>::UNIT_ROUNDOFF, OF_A_SCORE = 0x1p-18;
  const bool exact = is_integers(data_);
  const auto bound = [&](int row, int col, double reference) {
    const double magnitude =
        magnitudes_[static_cast<size_t>(row) * static_cast<size_t>(shape_.width) +
                    static_cast<size_t>(col)];
    const double of_scores =
        exact ? 0 : 2 * OF_A_SCORE * (1 + exponents_[static_cast<size_t>(row)]);
    const double of_weights = exact && !variant.divides_first ? 0 : ROUNDOFF;
    return 2 * ROUNDOFF * std::abs(reference) + (of_weights + of_scores) * magnitude;
  };
  return verify(output, expected_, bound).message;
}

double Case::bytes_per_set(const Shape& s) {
  return sizeof(bf16) * static_cast<double>(s.width) *
         (2.0 * s.batch * s.heads * s.queries + 2.0 * s.batch * s.kv_heads * s.keys);
}

double Case::flop(const Shape& s) {
  double seen = static_cast<double>(s.queries) * s.keys;
  if (s.causal) {
    seen = 0;
    for (int row = 0; row < s.queries; ++row) seen += std::max(0, s.keys - s.queries + row + 1);
  }
  return 4.0 * s.batch * s.heads * seen * s.width;
}

}  // namespace ladder::attention_bench
