#pragma once
// The stages' own mains, called in this program: what they give to the harness's run() is kept.
#include <string>
#include <vector>

#include "harness/harness.h"

namespace ladder::peers {

template <class In, class Out>
struct StageKernels {
  std::string stage;
  std::vector<harness::Variant<In, Out>> variants;  // the last one is what a user of the stage gets
  std::vector<harness::Variant<In, Out>> configurations{};  // what its launcher chooses among
};

// Of every stage of bench/peers/CMakeLists.txt that computes in these formats.
template <class In, class Out>
std::vector<StageKernels<In, Out>> stages();

}  // namespace ladder::peers
