#include "draw_rows.h"
#include "epilogue.h"

namespace ladder::harness {
namespace {

std::vector<float> draw_scales(int count, Data data, uint64_t seed) {
  return draw_rows<float>(1, count, count, [=](uint64_t index) {
    return draw_scale(data, seed, Stream::SCALE, index);
  });
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
  if (choice.beta != 0) addend = draw_matrix<Out>(m, n, ld, data, seed, Stream::ADDEND);
  if (choice.residual) residual = draw_matrix<Out>(m, n, ld, data, seed, Stream::RESIDUAL);
  if (choice.bias) bias = draw_matrix<Out>(1, n, n, data, seed, Stream::BIAS);
  if (choice.scale == Scale::ROW) row_scale = draw_scales(m, data, seed);
  if (choice.scale == Scale::COLUMN) column_scale = draw_scales(n, data, seed);
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
LADDER_OUTPUTS(INSTANTIATE)

}  // namespace ladder::harness
