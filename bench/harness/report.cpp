#include "report.h"

#include <cmath>
#include <numeric>

namespace ladder::harness {

bool VariantReport::ok() const {
  return findings.empty() && (!check || check->ok);
}

std::vector<int> rows_of_groups(const std::vector<int>& ends) {
  std::vector<int> rows(ends.size());
  std::adjacent_difference(ends.begin(), ends.end(), rows.begin());
  return rows;
}

double tflops(Shape s, double milliseconds) {
  return 2.0 * s.m * s.n * s.k / (milliseconds * 1e-3) / 1e12;
}

double percent_of_cublas(const VariantReport& v) {
  return v.cublas ? 100.0 * v.cublas->median / v.time->median : std::nan("");
}

std::optional<double> percent_of_best(const VariantReport& v) {
  if (!v.best) return std::nullopt;
  const double best =
      v.cublas_does_all ? std::min(v.best->median, v.cublas->median) : v.best->median;
  return 100.0 * best / v.time->median;
}

std::vector<std::pair<std::string, uint64_t>> memory_totals(const std::vector<MemoryRow>& rows) {
  uint64_t requests[2] = {}, sectors[2] = {}, wavefronts[2] = {}, conflicts[2] = {};
  uint64_t copies = 0, fetched = 0;
  uint64_t stored_sectors = 0, stores = 0, loads = 0, operands = 0;  // of TMA; of wgmma
  bool through_l1 = false;  // which keeps sectors, so that nobody knows how many it asks L2 for
  for (const MemoryRow& row : rows) {
    fetched += row.fetched;
    through_l1 |= !row.shared && row.op == "load" && (row.fetched == 0 || row.bytes < 16);
    if (row.op == "copy") copies += row.requests;
    if (!row.shared && row.op == "tma load") loads += row.requests;
    if (!row.shared && row.op == "tma store") {
      stored_sectors += row.cost;
      stores += row.requests;
    }
    if (row.op == "wgmma") operands += row.cost;
    const bool store = row.op == "store";
    if (!store && row.op != "load") continue;  // no counter of these has it
    if (row.shared) {
      wavefronts[store] += row.cost;
      conflicts[store] += row.cost - row.ideal;
    } else {
      requests[store] += row.requests;
      sectors[store] += row.cost;
    }
  }
  std::vector<std::pair<std::string, uint64_t>> totals;
  for (const int store : {0, 1}) {
    const std::string suffix = store != 0 ? "op_st.sum" : "op_ld.sum";
    totals.emplace_back("l1tex__t_requests_pipe_lsu_mem_global_" + suffix, requests[store]);
    totals.emplace_back("l1tex__t_sectors_pipe_lsu_mem_global_" + suffix, sectors[store]);
    totals.emplace_back("l1tex__data_pipe_lsu_wavefronts_mem_shared_" + suffix, wavefronts[store]);
    totals.emplace_back("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_" + suffix,
                        conflicts[store]);
  }
  if (copies > 0) totals.emplace_back("smsp__inst_executed_op_ldgsts.sum", copies);
  if (copies + loads > 0 && !through_l1)
    totals.emplace_back("l1tex__m_xbar2l1tex_read_sectors.sum", fetched);
  if (stores > 0) {
    totals.emplace_back("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
                        stored_sectors);
    totals.emplace_back("smsp__inst_executed_op_tma_st.sum", stores);
  }
  if (operands > 0)
    totals.emplace_back("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum", operands);
  return totals;
}

}  // namespace ladder::harness
