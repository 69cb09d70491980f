#include "epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "options.h"
#include "random.h"

namespace ladder::harness {

std::string EpilogueChoice::formula() const {
  std::string text = alpha == 1 ? "" : fmt::format("{} * ", alpha);
  if (scale != Scale::NONE)
    text += fmt::format("{}_scale * ", SCALE_NAMES[static_cast<int>(scale)]);
  text += "A * B";
  if (beta != 0) text += fmt::format(" + {} * addend", beta);
  if (bias) text += " + bias";
  if (zero_point != 0) text = fmt::format("round({}) + {}", text, zero_point);
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

EpilogueChoice requantisation_for(int k) {
  EpilogueChoice choice;
  choice.alpha = static_cast<float>(0x1p-7 / std::sqrt(std::max(k, 1)));
  return choice;
}

int8_t requantised(double sum, float factor, int zero_point) {
  const float scaled = static_cast<float>(sum) * factor;
  return static_cast<int8_t>(
      std::min(std::max(std::nearbyint(double{scaled}) + zero_point, -128.0), 127.0));
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

}  // namespace ladder::harness
