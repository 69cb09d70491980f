#include "case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "harness/draw_rows.h"
#include "harness/problem.h"
#include "harness/random.h"
#ifdef LADDER_CPU_DEVICE
  #include "harness/findings.h"
#endif

namespace ladder::four_bits_bench {
namespace {

using harness::Number, harness::Stream;

// The value of each byte as such a number.
std::vector<float> values_of(Numbers numbers) {
  std::vector<float> values(256);
  for (int byte = 0; byte < 256; ++byte)
    values[static_cast<size_t>(byte)] =
        numbers == Numbers::FOUR_BITS
            ? static_cast<float>(byte)
            : eight_bits::value_of(
                  numbers == Numbers::INT8 ? eight_bits::Number::INT8 : eight_bits::Number::E4M3,
                  static_cast<uint8_t>(byte));
  return values;
}

// The bytes that are drawn: all that are numbers. Where sums have to be exact, of e4m3 whole
// numbers up to 16, and of int8 those up to 64, for a sum of 8192 products has to fit into fp16.
std::vector<uint8_t> bytes_of(Numbers numbers, bool is_exact) {
  const std::vector<float> values = values_of(numbers);
  std::vector<uint8_t> bytes;
  for (int byte = 0; byte < (numbers == Numbers::FOUR_BITS ? 16 : 256); ++byte) {
    const float value = values[static_cast<size_t>(byte)];
    const bool is_nan = numbers == Numbers::E4M3 && (byte & 0x7F) == 0x7F;
    const float largest = numbers == Numbers::E4M3 ? 16 : 64;
    const bool is_small = std::abs(value) <= largest && value == std::round(value);
    if (!is_nan && (is_small || !is_exact)) bytes.push_back(static_cast<uint8_t>(byte));
  }
  return bytes;
}

// Numbers and zero points of all kinds. Scales are 1 and 2 where sums have to be exact, and numbers
// from 1/128 to 1/64 else, in T.
template <class T>
Quantised draw(Numbers numbers, harness::Shape shape, harness::Data data, uint64_t seed) {
  Quantised q(shape.k, shape.n);
  const auto bits = [&](Stream stream, size_t i) { return harness::random_bits(seed, stream, i); };
  const std::vector<uint8_t> bytes = bytes_of(numbers, harness::is_integers(data));
#pragma omp parallel for
  for (size_t i = 0; i < q.numbers.size(); ++i)
    q.numbers[i] = bytes[(bits(Stream::B, i) >> 32) * bytes.size() >> 32];
  for (size_t i = 0; i < q.scales.size(); ++i) {
    q.zeros[i] =
        numbers == Numbers::FOUR_BITS ? static_cast<uint8_t>(bits(Stream::BIAS, i) % 17) : 0;
    const float scale = harness::draw_scale(data, seed, Stream::SCALES_B, i);
    q.scales[i] = harness::is_integers(data) ? scale : as_float(rounded<T>(scale / 96));
  }
  return q;
}

template <class T>
std::vector<T> in_sixteen_bits(const Quantised& q, const std::vector<float>& values, int64_t ld) {
  return harness::draw_rows<T>(q.K, q.N, ld, [&](uint64_t index) {
    const auto n = static_cast<uint64_t>(q.N);
    const size_t group = q.at(static_cast<int>(index / n) / GROUP, static_cast<int>(index % n));
    return rounded<T>((values[q.numbers[index]] - static_cast<float>(q.zeros[group])) *
                      q.scales[group]);
  });
}

template <class P>
std::vector<unsigned char> as_bytes(const std::vector<P>& packed) {
  std::vector<unsigned char> bytes(packed.size() * sizeof(P));
  if (!packed.empty()) std::memcpy(bytes.data(), packed.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<unsigned char> packed_as(Numbers numbers, const Quantised& q) {
  switch (numbers) {
    case Numbers::FOUR_BITS:
      return as_bytes(four_bits::pack<T>(q));
    case Numbers::INT8:
      return as_bytes(eight_bits::pack<T, eight_bits::Number::INT8>(q));
    case Numbers::E4M3:
      return as_bytes(eight_bits::pack<T, eight_bits::Number::E4M3>(q));
  }
  throw std::logic_error("no such numbers");
}

template <class To>
harness::DeviceBuffer<To> uploaded(const std::vector<To>& from) {
  harness::DeviceBuffer<To> buffer(from.size());
  buffer.upload(from);
  return buffer;
}

}  // namespace

template <class T>
Case<T>::Case(Numbers numbers, harness::Shape shape, harness::Data data, uint64_t seed, int sets)
    : numbers_(numbers),
      shape_(shape),
      data_(data),
      lda_(harness::leading_dimension<T>(shape.k)),
      ldb_(harness::leading_dimension<T>(shape.n)),
      ldc_(harness::leading_dimension<T>(shape.n)),
      expected_(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.n)),
      magnitudes_(expected_.size()) {
  constexpr int LARGEST = 2;
  const Quantised q = draw<T>(numbers, shape, data, seed);
  const std::vector<float> values = values_of(numbers);
  const std::vector<T> A = harness::draw_matrix<T>(
      shape.m, shape.k, lda_, harness::is_integers(data) ? harness::Data::WIDE : data, seed,
      Stream::A, LARGEST);
  const std::vector<unsigned char> packed = packed_as<T>(numbers, q);
  const std::vector<T> unpacked = in_sixteen_bits<T>(q, values, ldb_);
  const size_t size = harness::Output<T>{shape.m, shape.n, ldc_}.memory.size();
  for (int i = 0; i < sets; ++i)
    sets_.push_back(
        {uploaded(A), uploaded(packed), uploaded(unpacked), harness::DeviceBuffer<T>(size)});
  if (expected_.empty()) return;
  std::vector<float> of_numbers(q.numbers.size());
#pragma omp parallel for
  for (size_t i = 0; i < q.numbers.size(); ++i) of_numbers[i] = values[q.numbers[i]];
  const auto value = uploaded(of_numbers), scales = uploaded(q.scales);
  const auto zeros = uploaded(q.zeros);
  harness::DeviceBuffer<float> expected(expected_.size()), magnitudes(expected_.size());
  find_expected(problem(0, nullptr).sixteen, {value.get(), scales.get(), zeros.get()},
                expected.get(), magnitudes.get());
  LADDER_CUDA_CHECK(cudaDeviceSynchronize());
  expected.download(expected_), magnitudes.download(magnitudes_);
}

template <class T>
Problem<T> Case<T>::problem(int i, cudaStream_t stream) const {
  const Set& set = sets_[static_cast<size_t>(i)];
  const auto [m, n, k] = shape_;
  T* const C = set.C.get() + harness::GUARD;
  Problem<T> p{{m, n, k, set.A.get(), lda_, nullptr, C, ldc_, stream},
               {m, n, k, set.A.get(), lda_, nullptr, C, ldc_, stream},
               {m, n, k, set.A.get(), lda_, nullptr, C, ldc_, stream},
               {m, n, k, set.A.get(), lda_, set.unpacked.get(), ldb_, C, ldc_, stream}};
  const auto give = [&](auto& product) {
    product.packed = reinterpret_cast<decltype(product.packed)>(set.packed.get());
  };
  if (numbers_ == Numbers::FOUR_BITS) give(p.four);
  if (numbers_ == Numbers::INT8) give(p.int8);
  if (numbers_ == Numbers::E4M3) give(p.e4m3);
  return p;
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
  cpu_device::name_array(sets_.front().packed.get(), "W", packed_bytes(numbers_, shape_));
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
size_t Case<T>::packed_bytes(Numbers numbers, harness::Shape s) {
  if (numbers == Numbers::FOUR_BITS) return ladder::packed_bytes<Packed<T>>(s.k, s.n);
  return ladder::packed_bytes<eight_bits::Packed<T, eight_bits::Number::INT8>>(s.k, s.n);
}
template <class T>
double Case<T>::bytes_per_set(Numbers numbers, harness::Shape s) {
  return static_cast<double>(packed_bytes(numbers, s)) +
         double{sizeof(T)} * s.m * (double{1} * s.k + s.n);
}

template class Case<half>;
template class Case<bf16>;

}  // namespace ladder::four_bits_bench
