"""ncu's names of the counters that the documentation speaks of, and reports of them as
./ladder counters writes them.
"""

from pathlib import Path

from ladder import reports
from ladder.files import one_line
from ladder.project import BadInput

# What the CPU device predicts, too, by the names that claims use.
PREDICTED_SIZE = 128
PREDICTED = {
    f"{name}_{op}": f"l1tex__{counter}_op_{op}.sum"
    for op in ("ld", "st")
    for name, counter in {
        "requests": "t_requests_pipe_lsu_mem_global",
        "sectors": "t_sectors_pipe_lsu_mem_global",
        "wavefronts": "data_pipe_lsu_wavefronts_mem_shared",
        "bank_conflicts": "data_bank_conflicts_pipe_lsu_mem_shared",
    }.items()
}
# At which tests/counters_test.cpp compares the CPU device with ncu, and what is measured there.
# Ragged ones, thin ones, one tile or a part of one, a long K, more tiles than multiprocessors.
SHAPES = (
    (128, 128, 128),
    (131, 97, 75),
    (192, 320, 96),
    (257, 129, 129),
    (1, 131, 64),
    (133, 1, 72),
    (37, 41, 1),
    (104, 112, 8),
    (40, 24, 1000),
    (1536, 1536, 16),
)
AT_SHAPES = [
    *PREDICTED.values(),
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "l1tex__m_l1tex2xbar_write_sectors.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "l1tex__data_bank_conflicts_type_arbitration.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_ldgsts_pred_off_all.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__inst_executed_op_shared_stsm.sum",
    "smsp__inst_executed_op_tma_ld.sum",
    "smsp__inst_executed_op_tma_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
]
# What else says where a kernel's time goes.
LIMITS = {
    "instructions": "smsp__inst_executed.sum",
    "copies": "smsp__inst_executed_op_ldgsts.sum",
    "matrix_loads": "smsp__inst_executed_op_ldsm.sum",
    "dram_bytes": "dram__bytes_read.sum",
    "l2_sectors": "lts__t_sectors_op_read.sum",
    "sm_sectors": "l1tex__m_xbar2l1tex_read_sectors.sum",
    # Sectors that the L2 request coalescer (LRC) asks L2 for, and those that it need not ask for: a
    # request of another multiprocessor brings them, by chance or by multicast.
    "lrc_sectors": "lrc__lrc2xbar_sectors_op_read.sum",
    "merged_hardware": "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum",
    "merged_multicast": "lrc__request_sectors_op_read_coalescing_achieved_type_programmatic.sum",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "fma_pipe": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_pipe": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "shared_pipe": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "warps_active": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l2_hits": "lts__t_sector_hit_rate.pct",
    "clock": "smsp__cycles_elapsed.avg.per_second",
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    # L1's data stage passes one wavefront a clock, for global memory or for shared memory. The sum
    # has wgmma's reads, too, but not the tiles that TMA brings.
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "wavefronts_global": "l1tex__data_pipe_lsu_wavefronts_mem_lgds.sum",
    "wavefronts_shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1_hits": "l1tex__t_sector_hit_rate.pct",
    "l2_written": "lts__t_sectors_op_write.sum",
    # An average over time counts the clocks in which a multiprocessor has no block, or not yet.
    "tensor_pipe_elapsed": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "cycles_active": "sm__cycles_active.avg",
    "cycles_elapsed": "sm__cycles_elapsed.max",
    "waves": "launch__waves_per_multiprocessor",
    # Instructions by the pipe that executes them.
    **{
        f"instructions_{pipe}": f"sm__inst_executed_pipe_{pipe}.sum"
        for pipe in ("alu", "fma", "lsu", "tensor", "uniform")
    },
}
TIME = "gpu__time_duration.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
# For each instruction issued, the warps that are held up by a reason.
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# Those do not wait: one issues, the others could have.
NO_WAITING = {STALL.format("selected"), STALL.format("not_selected")}


def stalls(counted: dict[str, float]) -> dict[str, float]:
    """The reasons why the warps of a variant wait, in words."""
    before, after = STALL.split("{}")
    reasons = {
        name.removeprefix(before).removesuffix(after): value
        for name, value in counted.items()
        if name.startswith(before) and name not in NO_WAITING
    }
    return {reason.replace("_", " "): value for reason, value in reasons.items()}


# So begin the names of reports: this one is at 4096, others at 128, at another shape, at many.
COUNTERS = "counters"
AT_128 = f"{COUNTERS}_{PREDICTED_SIZE}"
AT_MANY_SHAPES = f"{COUNTERS}_shapes"
# Counters that were asked for later, of some variants, in a run of their own: beside the others.
LATER = f"{COUNTERS}_later"


# Of a problem: what ladder.ncu writes.
COUNTED = {
    "device?": one_line,
    "size?": (int, one_line),
    "counters": {str: {str: {str: float}}},
}
# Of the ten problems above.
COUNTED_AT_SHAPES = {
    "device": one_line,
    "names": [one_line],
    "counters": {str: {str: {str: [float]}}},
}


def load_counters(folder: Path) -> dict[str, dict]:
    """What ncu counted of one problem, by the reports' names: at 4096, and wherever else it did.
    Raises BadInput."""
    found = reports.read_all(folder, COUNTERS, (COUNTED, COUNTED_AT_SHAPES))
    if COUNTERS not in found:
        raise BadInput(f"no {COUNTERS} in {folder}")
    found.pop(AT_MANY_SHAPES, None)
    for stage, variants in found.pop(LATER, {"counters": {}})["counters"].items():
        for variant, numbers in variants.items():
            found[COUNTERS]["counters"].get(stage, {}).get(variant, {}).update(numbers)
    return found


def at_4096(folder: Path) -> dict[str, dict]:
    """By stage. Raises BadInput."""
    return load_counters(folder)[COUNTERS]["counters"]
