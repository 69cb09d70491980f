#include "23b_rows_in_clusters.cuh"
#include "rows/run.h"

int main(int argc, char** argv) {
  using namespace ladder;
  return rows_bench::run(
      "23b_rows_in_clusters",
      {{"one_block", rows::rows<bf16>, rows::rows<float>},
       {"rows_in_clusters", rows_in_clusters::rows<bf16>, rows_in_clusters::rows<float>}},
      argc, argv);
}
