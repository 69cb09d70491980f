#include "case.h"

#include <algorithm>
#include <cmath>

#include "harness/draw_rows.h"
#include "harness/random.h"
#ifdef LADDER_CPU_DEVICE
  #include "cpu_device/symbols.h"
#endif

namespace ladder::rows_bench {
namespace {

using harness::Number, harness::Stream;

constexpr float EPSILON = 1e-5f;

template <class T>
std::vector<T> draw(int rows, int width, uint64_t seed, Stream stream, float from, float to) {
  return harness::draw_rows<T>(rows, width, width, [=](uint64_t index) {
    const float share = (harness::random_uniform(seed, stream, index) + 1) / 2;
    return Number<T>::from_float(from + (to - from) * share);
  });
}

// Every fifth row is left out, and every fifth has a target that is no column.
std::vector<int> draw_targets(const Shape& shape, uint64_t seed) {
  std::vector<int> targets;
  for (int row = 0; row < shape.rows; ++row) {
    const auto index = static_cast<uint64_t>(row);
    const uint64_t bits = harness::random_bits(seed, Stream::B, index);
    const int column = static_cast<int>(bits % static_cast<uint64_t>(shape.width));
    targets.push_back(row % 5 == 3 ? -100 : row % 5 == 4 ? shape.width : column);
  }
  return targets;
}

}  // namespace

template <class T>
Case<T>::Case(const Shape& shape, Data data, uint64_t seed, int sets)
    : shape_(shape),
      X_(draw<T>(shape.rows, shape.width, seed, Stream::A, data == Data::RANDOM ? -8.0f : 999.0f,
                 data == Data::RANDOM ? 8.0f : 1001.0f)),
      gain_(draw<T>(1, shape.width, seed, Stream::SCALE, 0.5f, 2)),
      bias_(draw<T>(1, shape.width, seed, Stream::BIAS, -1, 1)),
      targets_(draw_targets(shape, seed)),
      expected_(X_.size()),
      magnitudes_(X_.size()),
      gain_on_device_(gain_.size()),
      bias_on_device_(bias_.size()),
      targets_on_device_(targets_.size()) {
  gain_on_device_.upload(gain_), bias_on_device_.upload(bias_);
  targets_on_device_.upload(targets_);
  for (int i = 0; i < sets; ++i) {
    Set& set = sets_.emplace_back(Set{
        harness::DeviceBuffer<T>(X_.size()),
        harness::DeviceBuffer<T>(harness::Output<T>{shape.rows, shape.width, shape.width}.size()),
        harness::DeviceBuffer<float>(harness::Output<float>{shape.rows, 1, 1}.size())});
    set.X.upload(X_);
  }
  find_expected();
}

template <class T>
Rows<T> Case<T>::problem(int i, cudaStream_t stream) const {
  const Set& set = sets_[static_cast<size_t>(i)];
  Rows<T> p{shape_.operation, shape_.rows, shape_.width, set.X.get(), set.Y.get() + harness::GUARD};
  p.gain = gain_on_device_.get(), p.bias = bias_on_device_.get();
  p.targets = targets_on_device_.get(), p.losses = set.losses.get() + harness::GUARD;
  p.epsilon = EPSILON;
  p.stream = stream;
  return p;
}

template <class T>
void Case<T>::find_expected() {
  const auto width = static_cast<size_t>(shape_.width);
  const bool centred = has_bias(shape_.operation);
#pragma omp parallel for
  for (int row = 0; row < shape_.rows; ++row) {
    const size_t first = static_cast<size_t>(row) * width;
    const auto x = [&](size_t i) { return double{Number<T>::to_float(X_[first + i])}; };
    double sum = 0, largest = -HUGE_VAL;
    for (size_t i = 0; i < width; ++i) sum += x(i), largest = std::max(largest, x(i));
    const auto log_of_powers = [&] {
      double powers = 0;
      for (size_t i = 0; i < width; ++i) powers += std::exp(x(i) - largest);
      return std::log(powers);
    };
    if (shape_.operation == RowOperation::CROSS_ENTROPY) {
      const double log = log_of_powers();
      const int target = targets_[static_cast<size_t>(row)];
      const bool has_loss = target >= 0 && target < shape_.width;
      const double of_target = has_loss ? x(static_cast<size_t>(target)) : largest + log;
      expected_[static_cast<size_t>(row)] = static_cast<float>(largest + log - of_target);
      magnitudes_[static_cast<size_t>(row)] =
          static_cast<float>(std::abs(largest) + log + std::abs(of_target));
      continue;
    }
    if (shape_.operation == RowOperation::SOFTMAX) {
      const double log = log_of_powers();
      for (size_t i = 0; i < width; ++i)
        expected_[first + i] = magnitudes_[first + i] =
            static_cast<float>(std::exp(x(i) - largest - log));
      continue;
    }
    const double mean = centred ? sum / static_cast<double>(width) : 0;
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += (x(i) - mean) * (x(i) - mean);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + double{EPSILON});
    for (size_t i = 0; i < width; ++i) {
      const double gain = double{Number<T>::to_float(gain_[i])} * factor;
      const double bias = centred ? double{Number<T>::to_float(bias_[i])} : 0;
      double y = (x(i) - mean) * gain + bias;
      magnitudes_[first + i] =
          static_cast<float>((std::abs(x(i)) + std::abs(mean)) * std::abs(gain) + std::abs(bias));
      if (shape_.operation == RowOperation::LAYER_NORM_GELU)
        y = y / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
      expected_[first + i] = static_cast<float>(y);
    }
  }
}

template <class T>
std::string Case<T>::check(const Variant& variant, cudaStream_t stream) {
  if (shape_.operation == RowOperation::CROSS_ENTROPY)
    return check_result(1, &Set::losses, variant, stream);
  return check_result(shape_.width, &Set::Y, variant, stream);
}

template <class T>
template <class Out>
std::string Case<T>::check_result(int columns, harness::DeviceBuffer<Out> Set::*result,
                                  const Variant& variant, cudaStream_t stream) {
  const auto index = [&](int row, int col) {
    return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(col);
  };
  harness::Output<Out> output{shape_.rows, columns, columns}, expected = output;
  output.poison(), expected.poison();
  for (int row = 0; row < shape_.rows; ++row)
    for (int col = 0; col < columns; ++col)
      expected.row(row)[col] = Number<Out>::from_float(expected_[index(row, col)]);
  (sets_.front().*result).upload(output.memory);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());  // `stream` may be one that does not wait
  const Rows<T> p = problem(0, stream);
#ifdef LADDER_CPU_DEVICE  // so that a store next to Y is a finding with its line
  const auto watch = [&](const auto* data, const char* name, int rows, int width) {
    const size_t bytes = static_cast<size_t>(width) * sizeof *data;
    cpu_device::name_matrix(data, name, static_cast<size_t>(rows), bytes, bytes, sizeof *data);
  };
  watch(p.X, "X", p.rows, p.width), watch(p.Y, "Y", p.rows, p.width);
  watch(p.targets, "targets", 1, p.rows), watch(p.losses, "losses", 1, p.rows);
  watch(p.gain, "gain", 1, p.width), watch(p.bias, "bias", 1, p.width);
#endif
  variant(p);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  (sets_.front().*result).download(output.memory);
  if (shape_.operation == RowOperation::CROSS_ENTROPY)
    for (int row = 0; row < shape_.rows; ++row) {
      if (targets_[static_cast<size_t>(row)] < shape_.width) continue;
      Out& loss = *output.row(row);  // 0 stands for the NaN that it has to be
      const bool is_nan = std::isnan(Number<Out>::to_float(loss)) && !harness::is_poison(loss);
      loss = is_nan ? Number<Out>::from_float(0) : harness::poison<Out>();
    }

  // Both are rounded to T. Sums of up to some hundred numbers in a thread, and then of all threads
  // by halves, are off by some of fp32's last bits; tanh.approx by 2^-11, and what it is a factor
  // of is no larger than the magnitude.
  constexpr double OF_SUMS = 0x1p-16, OF_TANH = 0x1p-10;
  const double error =
      shape_.operation == RowOperation::LAYER_NORM_GELU ? OF_SUMS + OF_TANH : OF_SUMS;
  const auto bound = [&](int row, int col, double reference) {
    return 2 * Number<Out>::UNIT_ROUNDOFF * std::abs(reference) +
           error * double{magnitudes_[index(row, col)]} + Number<Out>::SMALLEST_NORMAL;
  };
  return verify(output, expected, bound).message;
}

template <class T>
double Case<T>::bytes_per_set(const Shape& s) {
  if (s.operation == RowOperation::CROSS_ENTROPY)
    return double{1} * s.rows * (double{sizeof(T)} * s.width + sizeof(int) + sizeof(float));
  return 2.0 * sizeof(T) * s.rows * s.width;
}

template class Case<float>;
template class Case<bf16>;

}  // namespace ladder::rows_bench
