"""Runs the exercises' references on a GPU, with all that the grader says of them: results, what
compute-sanitizer finds, and ncu's counters beside those that the CPU device predicts.

ladder exercises-on-gpu OUTPUT.json [NN ...]          all of them, or those named
ladder exercises-on-gpu OUTPUT.json --build FOLDER    a build folder other than build/

Where the GPU's machine has no build with a toolkit, another machine compiles for it:

ladder exercises-on-gpu FOLDER --compile sm_90a [NN ...]         the references' programs, one each
ladder exercises-on-gpu OUTPUT.json --programs FOLDER [NN ...]   runs these

The output is {"device": name, "exercises": {exercise: {"wrong": "" or what, "findings": {tool:
lines}, "counters": {case: {counter: [predicted, counted]}}}}}. It has no times: several programs
run at once. Needs compute-sanitizer and ncu. Exit code: 0 all right, 1 a reference is wrong,
a tool has findings or a counter differs, 2 bad input.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ladder import ncu
from ladder.counters import PREDICTED
from ladder.exercises import catalogue, compiling, grading, judging
from ladder.exercises.catalogue import Exercise
from ladder.exercises.compiling import Build
from ladder.exercises.costs import lines_with
from ladder.files import one_line, read_json
from ladder.project import ROOT, BadInput

SEED = 1
TOOLS = ("memcheck", "racecheck", "synccheck")
BY_INSTRUCTION = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
# Which lines of the memory report, what of them, and ncu's counters of the same. Wavefronts are
# counted by instruction: the hardware's own count has cycles in which an access met other traffic.
# ncu has several names for what the CPU device counts as one. An atomic is a store here; there it
# is "atom", or "red" where nobody wants to know what was in memory before. Another block's shared
# memory is "dshared" there, and has requests: as many as wavefronts where there are no conflicts.
COUNTERS = {
    "load_requests": (lines_with("global", "load"), "requests", [PREDICTED["requests_ld"]]),
    "store_requests": (
        lines_with("global", "store"),
        "requests",
        [GLOBAL.format("requests", op) for op in ("st", "red", "atom")],
    ),
    "load_sectors": (lines_with("global", "load"), "cost", [PREDICTED["sectors_ld"]]),
    "store_sectors": (
        lines_with("global", "store"),
        "cost",
        [GLOBAL.format("sectors", op) for op in ("st", "red", "atom")],
    ),
    "load_wavefronts": (
        lines_with("shared", "load", "remote load"),
        "cost",
        [
            BY_INSTRUCTION.format("ld"),
            BY_INSTRUCTION.format("ldsm"),
            "l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum",
        ],
    ),
    "store_wavefronts": (
        lines_with("shared", "store"),
        "cost",
        [BY_INSTRUCTION.format("st"), BY_INSTRUCTION.format("stsm")],
    ),
    "copies": (  # without those of which every lane's condition is false
        lines_with("shared", "copy"),
        "requests",
        ["smsp__inst_executed_op_ldgsts_pred_on_any.sum"],
    ),
    "boxes": (
        lines_with("global", "tma load", "tma store"),
        "requests",
        ["smsp__inst_executed_op_tma_ld.sum", "smsp__inst_executed_op_tma_st.sum"],
    ),
}
NAMES = [name for _, _, names in COUNTERS.values() for name in names]
PROCESSES = 8  # the tools' own start takes seconds


def compared(on_cpu: list[dict], on_gpu: list[dict], rows: list[dict]) -> dict:
    """By case and counter: predicted and counted. ncu has a row for each launch, in their order.
    Raises BadInput."""
    launches = sum(case["launches"] for case in on_gpu)
    if len(rows) != launches:
        raise BadInput(f"ncu saw {len(rows)} of {launches} launches")
    result = {}
    rest = iter(rows)
    for cpu, gpu in zip(on_cpu, on_gpu, strict=True):
        its = [next(rest) for _ in range(gpu["launches"])]
        result[cpu["name"]] = {
            counter: [
                sum(line[unit] for line in cpu["memory"] if is_its(line)),
                sum(ncu.number(row, name) for row in its for name in names),
            ]
            for counter, (is_its, unit, names) in COUNTERS.items()
        }
    return result


CASE = {
    "name": one_line,
    "launches": int,
    "memory": ([{"space": one_line, "operation": one_line, "requests": int, "cost": int}], None),
}


def once(program: Path, solution: str, report: Path, *before: str) -> tuple[list[dict], str]:
    """The cases, and what was printed, when the program runs behind `before`. Raises BadInput."""
    command = [*before, str(program), solution, str(SEED), str(report), "once"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not report.is_file():
        raise BadInput(f"{' '.join(command)}: {(done.stderr + done.stdout).strip()[-600:]}")
    return read_json(report, {"cases": [CASE]})["cases"], done.stdout


def compiled(one: Exercise, build: Build, folder: Path, architecture: str = "") -> Path:
    """The reference's program. Raises BadInput."""
    program = compiling.compile_for_gpu(one, build, folder, architecture, reference=one.kernels)
    if program is None:
        raise BadInput("there is no GPU here, or the build has no toolkit")
    return program


def compile_into(folder: Path, every: list[Exercise], build: Build, architecture: str) -> None:
    """Raises BadInput."""
    for one in every:
        with tempfile.TemporaryDirectory() as name:
            shutil.copy(compiled(one, build, Path(name), architecture), folder / one.name)


def observed(one: Exercise, build: Build, programs: Path | None) -> tuple[str, dict]:
    """The GPU's name, and what is written of the exercise. Raises BadInput."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = programs / one.name if programs else compiled(one, build, folder)
        if not program.is_file():
            raise BadInput(f"{program} is not there; --compile writes it")
        graded = grading.run(program, "reference", SEED)
        if isinstance(graded, str):
            raise BadInput(f"{one.name} on the GPU: {graded}")
        wrong = judging.correctness(graded)
        result = {"wrong": wrong.line if wrong else "", "findings": {}}
        for tool in TOOLS:
            sanitizer = ("compute-sanitizer", "--tool", tool)
            _, said = once(program, "reference", folder / f"{tool}.json", *sanitizer)
            lines = [line.removeprefix("========= ") for line in said.splitlines()]
            clean = any("ERROR SUMMARY: 0 errors" in x or "(0 errors" in x for x in lines)
            result["findings"][tool] = [] if clean else lines[-20:]

        on_gpu, said = once(program, "reference", folder / "ncu.json", *ncu.profiler(NAMES))
        on_cpu, _ = once(build.program(one), one.kernels.stem, folder / "cpu.json")
        rows = ncu.kernels(said)
        result["counters"] = compared(on_cpu, on_gpu, rows)
        return rows[0]["device__attribute_display_name"], result


def objections(name: str, seen: dict) -> list[str]:
    lines = [f"{name}: {seen['wrong']}"] if seen["wrong"] else []
    lines += [f"{name}: {tool}: {said[0]}" for tool, said in seen["findings"].items() if said]
    return lines + [
        f"{name}, {case}: {counter} predicted {pair[0]}, counted {pair[1]}"
        for case, counters in seen["counters"].items()
        for counter, pair in counters.items()
        if pair[0] != pair[1]
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("exercises", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--compile", metavar="ARCHITECTURE")
    parser.add_argument("--programs", type=Path)
    options = parser.parse_intermixed_args(arguments)

    def of(one: Exercise) -> tuple[str, dict] | str:
        try:
            return observed(one, build, options.programs)
        except (BadInput, SystemExit, OSError) as error:  # OSError: one of the tools is missing
            return str(error)

    try:
        if not options.output.parent.is_dir():
            raise BadInput(f"{options.output}: there is no folder {options.output.parent}")
        build = Build(options.build)
        every = [catalogue.find(name) for name in options.exercises] or catalogue.all_exercises()
        if options.compile:
            if not options.output.is_dir():
                raise BadInput(f"{options.output}: is no folder")
            compile_into(options.output, every, build, options.compile)
            return 0
    except BadInput as error:
        print(f"ladder exercises-on-gpu: {error}", file=sys.stderr)
        return 2
    result, refused, objected = {"device": None, "exercises": {}}, [], []
    with ThreadPoolExecutor(PROCESSES) as pool:
        for one, seen in zip(every, pool.map(of, every), strict=True):
            if isinstance(seen, str):
                refused.append(f"{one.name}: {seen}")
                continue
            result["device"], its = seen
            result["exercises"][one.name] = its
            objected += objections(one.name, its)
            options.output.write_text(ncu.with_short_lists(result))
    for line in refused + objected:
        print(line)
    ran = result["exercises"]
    pairs = [p for seen in ran.values() for of in seen["counters"].values() for p in of.values()]
    equal = sum(a == b for a, b in pairs)
    print(f"{len(ran)} of {len(every)} ran; {equal} of {len(pairs)} counters are equal")
    if not ran:
        return 2
    return 1 if refused or objected else 0
