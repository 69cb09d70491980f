#include "case.h"

#include <algorithm>
#include <cmath>

#include "harness/draw_rows.h"
#include "harness/problem.h"
#include "harness/random.h"
#ifdef LADDER_CPU_DEVICE
  #include "harness/findings.h"
#endif

namespace ladder::four_bits_bench {
namespace {

using harness::Number, harness::Stream;

// Numbers and zero points of all kinds. Scales are 1 and 2 where sums have to be exact, and numbers
// from 1/128 to 1/64 else, in T.
template <class T>
Quantised draw(harness::Shape shape, harness::Data data, uint64_t seed) {
  Quantised q(shape.k, shape.n);
  const auto bits = [&](Stream stream, size_t i) { return harness::random_bits(seed, stream, i); };
#pragma omp parallel for
  for (size_t i = 0; i < q.numbers.size(); ++i)
    q.numbers[i] = static_cast<uint8_t>(bits(Stream::B, i) >> 60);
  for (size_t i = 0; i < q.scales.size(); ++i) {
    q.zeros[i] = static_cast<uint8_t>(bits(Stream::BIAS, i) % 17);
    const float scale = harness::draw_scale(data, seed, Stream::SCALES_B, i);
    q.scales[i] = harness::is_integers(data) ? scale : as_float(rounded<T>(scale / 96));
  }
  return q;
}

template <class T>
std::vector<T> in_sixteen_bits(const Quantised& q, int64_t ld) {
  return harness::draw_rows<T>(q.K, q.N, ld, [&](uint64_t index) {
    const auto n = static_cast<uint64_t>(q.N);
    return rounded<T>(q.weight(static_cast<int>(index / n), static_cast<int>(index % n)));
  });
}

template <class To>
harness::DeviceBuffer<To> uploaded(const std::vector<To>& from) {
  harness::DeviceBuffer<To> buffer(from.size());
  buffer.upload(from);
  return buffer;
}

}  // namespace

template <class T>
Case<T>::Case(harness::Shape shape, harness::Data data, uint64_t seed, int sets)
    : shape_(shape),
      data_(data),
      lda_(harness::leading_dimension<T>(shape.k)),
      ldb_(harness::leading_dimension<T>(shape.n)),
      ldc_(harness::leading_dimension<T>(shape.n)),
      expected_(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.n)),
      magnitudes_(expected_.size()) {
  constexpr int LARGEST = 2;
  const Quantised q = draw<T>(shape, data, seed);
  const std::vector<T> A = harness::draw_matrix<T>(
      shape.m, shape.k, lda_, harness::is_integers(data) ? harness::Data::WIDE : data, seed,
      Stream::A, LARGEST);
  const std::vector<Packed<T>> packed = four_bits::pack<T>(q);
  const std::vector<T> unpacked = in_sixteen_bits<T>(q, ldb_);
  const size_t size = harness::Output<T>{shape.m, shape.n, ldc_}.memory.size();
  for (int i = 0; i < sets; ++i)
    sets_.push_back(
        {uploaded(A), uploaded(packed), uploaded(unpacked), harness::DeviceBuffer<T>(size)});
  if (expected_.empty()) return;
  const auto numbers = uploaded(q.numbers), zeros = uploaded(q.zeros);
  const auto scales = uploaded(q.scales);
  harness::DeviceBuffer<float> expected(expected_.size()), magnitudes(expected_.size());
  find_expected(problem(0, nullptr).four, {numbers.get(), zeros.get(), scales.get()},
                expected.get(), magnitudes.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  expected.download(expected_), magnitudes.download(magnitudes_);
}

template <class T>
Problem<T> Case<T>::problem(int i, cudaStream_t stream) const {
  const Set& set = sets_[static_cast<size_t>(i)];
  const auto [m, n, k] = shape_;
  T* const C = set.C.get() + harness::GUARD;
  return {{m, n, k, set.A.get(), lda_, set.packed.get(), C, ldc_, stream},
          {m, n, k, set.A.get(), lda_, set.unpacked.get(), ldb_, C, ldc_, stream}};
}

template <class T>
std::string Case<T>::check(const Variant& variant, cudaStream_t stream) {
  harness::Output<T> output{shape_.m, shape_.n, ldc_}, expected = output;
  output.poison(), expected.poison();
  const auto at = [&](int row, int col) {
    return static_cast<size_t>(row) * static_cast<size_t>(shape_.n) + static_cast<size_t>(col);
  };
  for (int row = 0; row < shape_.m; ++row)
    for (int col = 0; col < shape_.n; ++col)
      expected.row(row)[col] = rounded<T>(expected_[at(row, col)]);
  sets_.front().C.upload(output.memory);
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());  // `stream` may be one that does not wait
  const Problem<T> p = problem(0, stream);
#ifdef LADDER_CPU_DEVICE
  harness::watch(p.sixteen);
  cpu_device::name_array(p.four.packed, "W", packed_bytes<T>(shape_.k, shape_.n));
#endif
  variant(p);
  LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  sets_.front().C.download(output.memory);

  // C is rounded to T, as the expected one is. A sum of K products with signs of their own, in
  // fp32 (see difference_bound).
  const double sum =
      2 * std::sqrt(shape_.k) * 0x1p-23 + (variant.rounds_weights ? Number<T>::UNIT_ROUNDOFF : 0);
  const auto bound = [&](int row, int col, double reference) {
    if (harness::is_integers(data_)) return 0.0;
    return 2 * Number<T>::UNIT_ROUNDOFF * std::abs(reference) +
           sum * double{magnitudes_[at(row, col)]} + Number<T>::SMALLEST_NORMAL;
  };
  return verify(output, expected, bound).message;
}

template <class T>
double Case<T>::bytes_per_set(harness::Shape s) {
  return static_cast<double>(packed_bytes<T>(s.k, s.n)) +
         double{sizeof(T)} * s.m * (double{1} * s.k + s.n);
}

template class Case<half>;
template class Case<bf16>;

}  // namespace ladder::four_bits_bench
