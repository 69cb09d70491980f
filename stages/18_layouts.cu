#include "18_layouts.cuh"
#include "stage.h"
#include "transposed_first.cuh"

namespace {
template <class T>
ladder::harness::Contents<T, T> contents() {
  using namespace ladder::layouts;
  ladder::harness::Contents<T, T> all{
      {{"transposed_first", gemm_transposed_first<T>, workspace_bytes<T>},
       {"heights_as_by_rows", gemm<T, Heights::AS_BY_ROWS>},
       {"layouts", gemm<T>}},
      {}};
  for (const Configuration<T>& c : CONFIGURATIONS<T>)
    all.configurations.emplace_back("tile_" + name(c),
                                    [&c](const ladder::Gemm<T, T>& p) { gemm_as(c, p); });
  return all;
}
}  // namespace

int main(int argc, char** argv) {
  return ladder::harness::run_type(ladder::STAGE, contents<half>(), contents<ladder::bf16>(), argc,
                                   argv);
}
