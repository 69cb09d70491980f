#include "23c_norm_in_product.cuh"
#include "norm_linear/run.h"

int main(int argc, char** argv) {
  using namespace ladder::norm_in_product;
  using ladder::norm_linear_bench::Problem;
  return ladder::norm_linear_bench::run(
      "23c_norm_in_product",
      {{"norm_then_product", [](const Problem& p) { norm_then_product(p.norm, p.product); }},
       {"norm_in_product", [](const Problem& p) { norm_linear(p.folded); }}},
      argc, argv);
}
