#include "epilogue.h"

#include <fmt/format.h>

#include "number.h"
#include "options.h"
#include "random.h"
#include "verify.h"

namespace ladder::harness {
namespace {

// Of `rows` rows of `columns`; what lies between them is NaN.
template <class T>
std::vector<T> draw_rows(int rows, int columns, int64_t ld, Data data, uint64_t seed,
                         Stream stream) {
  std::vector<T> matrix(static_cast<size_t>(rows * ld));
  if (!matrix.empty())
    std::memset(static_cast<void*>(matrix.data()), POISON, matrix.size() * sizeof(T));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      matrix[static_cast<size_t>(i * ld + j)] = Number<T>::from_float(draw(
          data, seed, stream,
          static_cast<uint64_t>(i) * static_cast<uint64_t>(columns) + static_cast<uint64_t>(j)));
  return matrix;
}

// 1 or 2 for exact data, otherwise from 0.5 to 1.5: no row or column disappears.
std::vector<float> draw_scale(int count, Data data, uint64_t seed) {
  std::vector<float> scale(static_cast<size_t>(count));
  for (size_t i = 0; i < scale.size(); ++i)
    scale[i] = is_exact(data) ? static_cast<float>(1 + random_bits(seed, Stream::SCALE, i) % 2)
                              : 1 + random_uniform(seed, Stream::SCALE, i) / 2;
  return scale;
}

template <class T>
double at(const std::vector<T>& elements, int64_t index) {
  return elements.empty() ? 0 : Number<T>::to_float(elements[static_cast<size_t>(index)]);
}

}  // namespace

std::string EpilogueChoice::formula() const {
  std::string text = alpha == 1 ? "" : fmt::format("{} * ", alpha);
  if (scale != Scale::NONE)
    text += fmt::format("{}_scale * ", SCALE_NAMES[static_cast<int>(scale)]);
  text += "A * B";
  if (beta != 0) text += fmt::format(" + {} * addend", beta);
  if (bias) text += " + bias";
  if (activation != Activation::NONE)
    text = fmt::format("{}({})", ACTIVATION_NAMES[static_cast<int>(activation)], text);
  return residual ? text + " + residual" : text;
}

void require_exact(const EpilogueChoice& c, int k) {
  const char* const name = ACTIVATION_NAMES[static_cast<int>(c.activation)];
  if (c.activation != Activation::NONE && c.activation != Activation::RELU)
    throw UsageError(
        fmt::format("--activation {}: it has no exact results; relu and none do", name));
  for (const auto& [option, value] : {std::pair{"--alpha", c.alpha}, {"--beta", c.beta}})
    if (value != std::round(value))
      throw UsageError(
          fmt::format("{}: {} is no integer, which exact results need", option, value));
  const double largest = 2.0 * std::abs(c.alpha) * k * EXACT_MAGNITUDE * EXACT_MAGNITUDE +
                         (std::abs(c.beta) + 2.0) * 64;
  if (!c.is_product_alone() && largest > 1 << 24)
    throw UsageError(fmt::format(
        "--alpha, --beta: results may reach {:.0f}, but they are exact only up to 2^24", largest));
}

Activated properties(Activation activation) {
  switch (activation) {
    case Activation::NONE:
    case Activation::RELU:
      return {1, 0};
    case Activation::GELU:
      return {1.13, 0x1p-12 + 0x1p-21};
    case Activation::SILU:
      return {1.1, 0x1p-12 + 0x1p-21};
    case Activation::GELU_ERF:
      return {1.13, 0x1p-21};
  }
  return {};
}

double activate(Activation activation, double x) {
  constexpr double SQRT_2_BY_PI = 0.79788456080286535588, SQRT_HALF = 0.70710678118654752440;
  switch (activation) {
    case Activation::NONE:
      break;
    case Activation::RELU:
      return x < 0 ? 0 : x;
    case Activation::GELU:
      return x / 2 * (1 + std::tanh(SQRT_2_BY_PI * (x + 0.044715 * x * x * x)));
    case Activation::GELU_ERF:
      return x / 2 * std::erfc(-SQRT_HALF * x);
    case Activation::SILU:
      return x / (1 + std::exp(-x));
  }
  return x;
}

template <class Out>
EpilogueData<Out>::EpilogueData(const EpilogueChoice& choice, int m, int n, int64_t ld, Data data,
                                uint64_t seed)
    : choice(choice), ld(ld) {
  if (choice.beta != 0) addend = draw_rows<Out>(m, n, ld, data, seed, Stream::ADDEND);
  if (choice.residual) residual = draw_rows<Out>(m, n, ld, data, seed, Stream::RESIDUAL);
  if (choice.bias) bias = draw_rows<Out>(1, n, n, data, seed, Stream::BIAS);
  if (choice.scale == Scale::ROW) row_scale = draw_scale(m, data, seed);
  if (choice.scale == Scale::COLUMN) column_scale = draw_scale(n, data, seed);
}

template <class Out>
double EpilogueData<Out>::factor(int i, int j) const {
  const double scale = !row_scale.empty()      ? row_scale[static_cast<size_t>(i)]
                       : !column_scale.empty() ? column_scale[static_cast<size_t>(j)]
                                               : 1;
  return choice.alpha * scale;
}
template <class Out>
double EpilogueData<Out>::added(int i, int j) const {
  return choice.beta * at(addend, i * ld + j) + at(bias, j);
}
template <class Out>
double EpilogueData<Out>::magnitude_added(int i, int j) const {
  return std::abs(choice.beta * at(addend, i * ld + j)) + std::abs(at(bias, j));
}
template <class Out>
double EpilogueData<Out>::after(int i, int j, double before) const {
  return activate(choice.activation, before) + at(residual, i * ld + j);
}

#define INSTANTIATE(Out) template struct EpilogueData<Out>;
LADDER_NUMBERS(INSTANTIATE)

}  // namespace ladder::harness
