#include "22c_roles.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  using namespace ladder::attention_roles;
  return ladder::attention_bench::run("22c_roles",
                                      {{"always_rescaled", attention_by<Way::ALWAYS_RESCALED>},
                                       {"seldom_rescaled", attention_by<Way::SELDOM_RESCALED>},
                                       {"in_turn", attention_by<Way::IN_TURN>},
                                       {"roles", ladder::attention_roles::attention}},
                                      argc, argv);
}
