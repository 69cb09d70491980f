#include "22d_longest_first.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  using namespace ladder::longest_first;
  return ladder::attention_bench::run("22d_longest_first",
                                      {{"as_they_lie", ladder::attention_roles::attention<>},
                                       {"one_group", attention_in_one_group},
                                       {"longest_first", attention}},
                                      argc, argv);
}
