#pragma once
// What the CPU device is told about a problem, and what it finds, in words.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cpu_device/symbols.h"
#include "extensions.h"

namespace ladder::harness {

// Names the matrices and the workspace of a problem, which may be launched from now on: a store
// next to C is then a finding with its line, and a launch that never ends is given up.
template <class In, class Out>
void watch(const Gemm<In, Out>& p) {
  const auto name = [](const auto* data, const char* name, int rows, int columns, int64_t ld) {
    const auto bytes = [](auto count) { return static_cast<size_t>(count) * sizeof *data; };
    cpu_device::name_matrix(data, name, static_cast<size_t>(rows), bytes(ld), bytes(columns),
                            sizeof *data);
  };
  name(p.A, "A", p.transposed_a ? p.K : p.M, p.transposed_a ? p.M : p.K, p.lda);
  name(p.B, "B", p.transposed_b ? p.N : p.K * std::max(1, p.groups.count),
       p.transposed_b ? p.K : p.N, p.ldb);
  name(p.C, "C", p.M, p.N, p.ldc);
  const Epilogue<Out>& e = p.epilogue;
  if (e.addend != nullptr) name(e.addend, "addend", p.M, p.N, e.ld_addend);
  if (e.residual != nullptr) name(e.residual, "residual", p.M, p.N, e.ld_residual);
  if (e.bias != nullptr) name(e.bias, "bias", 1, p.N, p.N);
  if (e.row_scale != nullptr) name(e.row_scale, "row_scale", 1, p.M, p.M);
  if (e.column_scale != nullptr) name(e.column_scale, "column_scale", 1, p.N, p.N);
  if (p.groups.ends != nullptr) name(p.groups.ends, "ends", 1, p.groups.count, p.groups.count);
  if (p.workspace != nullptr) cpu_device::name_array(p.workspace, "workspace", p.workspace_bytes);
  // A product of two numbers takes 01 some 3e-8 s, with every access looked at and counted; a block
  // may take thirty times that for all products of the problem.
  constexpr double SECONDS = 20, SECONDS_PER_PRODUCT = 1e-6;
  cpu_device::settings().block_seconds =
      SECONDS + SECONDS_PER_PRODUCT * p.M * static_cast<double>(p.N) * p.K;
}

// "file:line: cause: example (3 times): text of the line; the other: file:line: text", of all
// findings since the last call.
inline std::vector<std::string> finding_texts() {
  std::vector<std::string> texts;
  const auto where = [](const cpu_device::Place& place) {
    const cpu_device::SourceLine line = cpu_device::source_line(place);
    return std::make_pair(line.file + ":" + std::to_string(line.line) + ": ",
                          cpu_device::source_text(line));
  };
  for (const cpu_device::Finding& finding : cpu_device::take_findings()) {
    const auto [position, text] = where(finding.place);
    texts.push_back(position + finding.text() + " (" + std::to_string(finding.count) +
                    " times): " + text);
    if (finding.other.line == 0) continue;
    const auto [other_position, other_text] = where(finding.other);
    texts.back() += "; the other: " + other_position + other_text;
  }
  return texts;
}

}  // namespace ladder::harness
