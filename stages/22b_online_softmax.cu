#include "22b_online_softmax.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  return ladder::attention_bench::run(
      "22b_online_softmax", {{"online_softmax", ladder::online_softmax::attention}}, argc, argv);
}
