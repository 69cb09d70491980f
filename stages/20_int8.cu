#include "20_int8.cuh"
#include "stage.h"

namespace {
template <class Out>
ladder::harness::Contents<int8_t, Out> contents() {
  using namespace ladder::int8;
  ladder::harness::Contents<int8_t, Out> all{{{"int8", gemm<Out>}}, {}};
  for (const Configuration<Out>& c : CONFIGURATIONS<Out>)
    all.configurations.emplace_back("tile_" + name(c),
                                    [&c](const ladder::Gemm<int8_t, Out>& p) { gemm_as(c, p); });
  return all;
}
}  // namespace

int main(int argc, char** argv) {
  return ladder::harness::run_type(ladder::STAGE, contents<int8_t>(), contents<int32_t>(), argc,
                                   argv);
}
