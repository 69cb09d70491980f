#pragma once
// The part of a run that depends on the device: gpu.cpp and cpu.cpp each implement it.
#include "harness.h"
#include "options.h"
#include "report.h"

namespace ladder::harness {

extern const Target TARGET;

// Checks and measures each of the variants. Throws UsageError before anything is allocated when the
// problem does not fit, NoDevice when there is nothing to run on.
template <class In, class Out>
Report execute(const Stage& stage, const std::vector<Variant<In, Out>>& variants,
               const Options& options);

// One line on stderr that the next one overwrites; silent when nobody watches.
void progress(const std::string& what);

}  // namespace ladder::harness
