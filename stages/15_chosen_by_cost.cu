#include "15_chosen_by_cost.cuh"
#include "stage.h"
#include "tune/tunables.h"

namespace ladder::tune {

std::vector<Tunable> tunables() {
  std::vector<Tunable> all;
  for (const auto& c : chosen_by_cost::CONFIGURATIONS) all.push_back({c.candidate, c.gemm});
  return all;
}
tuned::Candidate choose(const Gemm<half, half>& problem, const std::string& gpu,
                        int multiprocessors) {
  return chosen_by_cost::chosen(problem, tuned::table_of(gpu), multiprocessors).candidate;
}
std::string explain(const Gemm<half, half>& problem, const std::string& gpu, int multiprocessors,
                    size_t lines) {
  return tuned::describe(tuned::in_order(problem, tuned::table_of(gpu), multiprocessors,
                                         chosen_by_cost::is_of_a_stage),
                         lines);
}

}  // namespace ladder::tune

int main(int argc, char** argv) {
  using namespace ladder::chosen_by_cost;
  return ladder::harness::run<half, half>(ladder::STAGE,
                                          {
                                              {"products_alone", gemm_without<LeftOut::CONSTANTS>},
                                              {"lines_alike", gemm_without<LeftOut::LINES>},
                                              {"tiles_for_nothing", gemm_without<LeftOut::TILE>},
                                              {"memory_for_nothing", gemm_without<LeftOut::MEMORY>},
                                              {"chosen_by_cost", gemm},
                                          },
                                          argc, argv);
}
