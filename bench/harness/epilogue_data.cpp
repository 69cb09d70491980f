#include "epilogue.h"
#include "number.h"
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
#pragma omp parallel for
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
