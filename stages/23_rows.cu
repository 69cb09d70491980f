#include "23_rows.cuh"
#include "rows/run.h"

int main(int argc, char** argv) {
  using namespace ladder::rows;
  using ladder::bf16;
  return ladder::rows_bench::run(
      "23_rows",
      {{"read_each_time", read_each_time<bf16>, read_each_time<float>},
       {"number_by_number", number_by_number<bf16>, number_by_number<float>},
       {"rows", rows<bf16>, rows<float>}},
      argc, argv);
}
