#include "15_chosen_by_cost.cuh"
#include "stage.h"
#include "tune/tunables.h"

namespace ladder::tune {

using chosen_by_cost::Device;

static Device device_named(const std::string& gpu, int multiprocessors) {
  return chosen_by_cost::device_with(chosen_by_cost::find_gpu(gpu), multiprocessors);
}

std::vector<Tunable> tunables() {
  std::vector<Tunable> all;
  for (const auto& c : chosen_by_cost::CONFIGURATIONS)
    all.push_back(
        {c.candidate, [&c](const Gemm<half, half>& p) { chosen_by_cost::gemm_as(c, p); }});
  return all;
}
size_t choose(const Gemm<half, half>& problem, const std::string& gpu, int multiprocessors) {
  return chosen_by_cost::chosen(problem, device_named(gpu, multiprocessors));
}
std::string explain(const Gemm<half, half>& problem, const std::string& gpu, int multiprocessors,
                    size_t lines) {
  return chosen_by_cost::explain(problem, device_named(gpu, multiprocessors), lines);
}
std::string remark(const std::string& gpu) {
  return chosen_by_cost::remark(device_named(gpu, 1), gpu);
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
