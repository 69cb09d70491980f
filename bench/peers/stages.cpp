#include "stages.h"

#include "harness/number.h"
#include "stage_mains.h"

namespace ladder::peers {
namespace {

std::string running;  // the stage whose main this is; all of them share one ladder::STAGE here
template <class In, class Out>
std::vector<StageKernels<In, Out>> kept;

}  // namespace

template <class In, class Out>
std::vector<StageKernels<In, Out>> stages() {
  kept<In, Out>.clear();
  for (const StageMain& stage : STAGE_MAINS) {
    running = stage.name;
    char* arguments[] = {nullptr};
    stage.main(0, arguments);
  }
  return kept<In, Out>;
}

#define INSTANTIATE(In, Out, Accumulate) template std::vector<StageKernels<In, Out>> stages();
LADDER_FORMATS(INSTANTIATE)
#undef INSTANTIATE

}  // namespace ladder::peers

namespace ladder::harness {

// In the place of the harness's.
template <class In, class Out>
int run(const Stage& /*stage*/, const std::vector<Variant<In, Out>>& variants, int /*argc*/,
        char** /*argv*/, const std::vector<Variant<In, Out>>& configurations) {
  peers::kept<In, Out>.push_back({peers::running, variants, configurations});
  return EXIT_OK;
}

#define INSTANTIATE(In, Out, Accumulate)                                            \
  template int run(const Stage&, const std::vector<Variant<In, Out>>&, int, char**, \
                   const std::vector<Variant<In, Out>>&);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
