#include "22c_roles.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  using namespace ladder::attention_roles;
  return ladder::attention_bench::run("22c_roles",
                                      {{"always_rescaled", attention<Way::ALWAYS_RESCALED>},
                                       {"seldom_rescaled", attention<Way::SELDOM_RESCALED>},
                                       {"in_turn", attention<Way::IN_TURN>},
                                       {"roles", attention<>}},
                                      argc, argv);
}
