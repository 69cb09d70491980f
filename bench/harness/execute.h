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
               const Options& options, const EpilogueChoice& epilogue, Layout layout);

// The report of a run as far as it is known before anything has run.
template <class In, class Out>
Report describe_run(const Stage& stage, const Device& device, const Problem<In, Out>& problem,
                    uint64_t seed) {
  Report report;
  report.stage = stage.name;
  report.device = device;
  report.shape = problem.shape;
  report.data = problem.data;
  report.seed = seed;
  if (problem.data == Data::WIDE) report.wide = problem.wide;
  report.sums = problem.sums;
  report.layout = problem.layout;
  report.ends = problem.ends;
  report.epilogue = problem.epilogue.choice;
  report.input = Number<In>::NAME;
  report.accumulate = Number<typename Formats<In, Out>::Accumulate>::NAME;
  report.output = Number<Out>::NAME;
  return report;
}

// One line on stderr that the next one overwrites; silent when nobody watches.
void progress(const std::string& what);

}  // namespace ladder::harness
