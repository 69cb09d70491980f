#include "case.h"

#include <cmath>

#include "harness/draw_rows.h"
#include "harness/problem.h"
#include "harness/random.h"
#ifdef LADDER_CPU_DEVICE
  #include "harness/findings.h"
#endif

namespace ladder::norm_linear_bench {
namespace {

using harness::Number, harness::Stream;

std::vector<bf16> draw(int rows, int columns, int64_t ld, uint64_t seed, Stream stream, float from,
                       float to) {
  return harness::draw_rows<bf16>(rows, columns, ld, [=](uint64_t index) {
    const float share = (harness::random_uniform(seed, stream, index) + 1) / 2;
    return Number<bf16>::from_float(from + (to - from) * share);
  });
}

template <class T>
harness::DeviceBuffer<T> uploaded(const std::vector<T>& from) {
  harness::DeviceBuffer<T> buffer(from.size());
  buffer.upload(from);
  return buffer;
}

constexpr float EPSILON = 1e-5f;

}  // namespace

Case::Case(harness::Shape shape, Data data, uint64_t seed, int sets)
    : shape_(shape),
      ld_(harness::leading_dimension<bf16>(shape.n)),
      value_(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.n)),
      root_(value_.size()),
      magnitude_(value_.size()),
      gain_(uploaded(draw(1, shape.k, shape.k, seed, Stream::SCALE, 0.5f, 2))),
      shift_(uploaded(draw(1, shape.k, shape.k, seed, Stream::ADDEND, -1, 1))),
      bias_(uploaded(draw(1, shape.n, shape.n, seed, Stream::BIAS, -1, 1))),
      sums_(static_cast<size_t>(shape.n)),
      folded_bias_(static_cast<size_t>(shape.n)) {
  const float centre = data == Data::RANDOM ? 0 : 16;
  const std::vector<bf16> X =
      draw(shape.m, shape.k, shape.k, seed, Stream::A, centre - 1, centre + 1);
  const std::vector<bf16> W = draw(shape.k, shape.n, ld_, seed, Stream::B, -1, 1);
  const size_t size = harness::Output<bf16>{shape.m, shape.n, ld_}.size();
  for (int i = 0; i < sets; ++i)
    sets_.push_back({uploaded(X), harness::DeviceBuffer<bf16>(X.size()), uploaded(W), uploaded(W),
                     harness::DeviceBuffer<bf16>(size)});
  for (const Set& set : sets_)
    fold({shape.k, shape.n, set.W.get(), ld_, gain_.get(), shift_.get(), bias_.get()},
         set.folded.get(), sums_.get(), folded_bias_.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  if (value_.empty()) return;

  std::vector<double> means, factors;
  for (int m = 0; m < shape.m; ++m) {
    const auto x = [&](int k) {
      return double{Number<bf16>::to_float(
          X[static_cast<size_t>(m) * static_cast<size_t>(shape.k) + static_cast<size_t>(k)])};
    };
    double sum = 0, squares = 0;
    for (int k = 0; k < shape.k; ++k) sum += x(k);
    means.push_back(sum / shape.k);
    for (int k = 0; k < shape.k; ++k) squares += (x(k) - means.back()) * (x(k) - means.back());
    factors.push_back(1 / std::sqrt(squares / shape.k + double{EPSILON}));
  }
  const auto of_rows = uploaded(means), of_deviations = uploaded(factors);
  harness::DeviceBuffer<float> value(value_.size()), root(value_.size()), magnitude(value_.size());
  find_expected(
      problem(0, nullptr).folded.product,
      {shape.k, shape.n, sets_.front().W.get(), ld_, gain_.get(), shift_.get(), bias_.get()},
      of_rows.get(), of_deviations.get(), {value.get(), root.get(), magnitude.get()});
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  value.download(value_), root.download(root_), magnitude.download(magnitude_);
}

Problem Case::problem(int i, cudaStream_t stream) const {
  const Set& set = sets_[static_cast<size_t>(i)];
  const auto [m, n, k] = shape_;
  bf16* const Y = set.Y.get() + harness::GUARD;
  Problem p{};
  p.folded = {{m, n, k, set.X.get(), k, set.folded.get(), ld_, Y, ld_, stream},
              sums_.get(),
              folded_bias_.get(),
              EPSILON};
  p.norm = {RowOperation::LAYER_NORM,
            m,
            k,
            set.X.get(),
            set.normed.get(),
            gain_.get(),
            shift_.get(),
            EPSILON,
            stream};
  p.product = {m, n, k, set.normed.get(), k, set.W.get(), ld_, Y, ld_, stream};
  p.product.epilogue.bias = bias_.get();
  return p;
}

std::string Case::check(const Variant& variant, cudaStream_t stream) {
  harness::Output<bf16> output{shape_.m, shape_.n, ld_}, expected = output;
  output.poison(), expected.poison();
  const auto at = [&](int row, int col) {
    return static_cast<size_t>(row) * static_cast<size_t>(shape_.n) + static_cast<size_t>(col);
  };
  for (int row = 0; row < shape_.m; ++row)
    for (int col = 0; col < shape_.n; ++col)
      expected.row(row)[col] = Number<bf16>::from_float(value_[at(row, col)]);
  sets_.front().Y.upload(output.memory);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());  // `stream` may be one that does not wait
  const Problem p = problem(0, stream);
#ifdef LADDER_CPU_DEVICE
  harness::watch(p.folded.product);
#endif
  variant.run(p);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  sets_.front().Y.download(output.memory);

  // Y is rounded to bf16, as the expected one is. Each product has a factor that was rounded to
  // bf16; what these roundings come to is rarely more than some deviations of their sum. And fp32
  // adds up products of X itself, with signs of their own (see difference_bound).
  const double fp32 = 2 * std::sqrt(shape_.k) * 0x1p-23;
  constexpr double DEVIATIONS = 6;
  const auto bound = [&](int row, int col, double reference) {
    return 2 * Number<bf16>::UNIT_ROUNDOFF * std::abs(reference) +
           DEVIATIONS * Number<bf16>::UNIT_ROUNDOFF * double{root_[at(row, col)]} +
           fp32 * double{magnitude_[at(row, col)]};
  };
  return verify(output, expected, bound).message;
}

}  // namespace ladder::norm_linear_bench
