"""Measures what the data of a product cost: times, power and clock of some stages at 8192^3, with
each kind of data that the harness has.

ladder power DIR        for example ladder power /tmp/measured, where ./ladder measure has written

Writes DIR/power.json, and DIR/environment.json unless it is there: of every stage and kind of data
TFLOP/s beside cuBLAS in bursts, as the tables have them; of the stage and of cuBLAS each by itself,
in bursts and without rests, TFLOP/s, watts, MHz, and the shares of the samples in which the power
cap, the hardware or the temperature held the clock down; and of one launch of the stage at 4096^3,
which ncu surrounds with rest, the clock and how busy the tensor pipe is. The GPU is busy for about
80 seconds of the three minutes that it takes. Needs ncu. Exit code: 0 all right, 1 a stage or ncu
failed or there is no NVML, 2 bad input; then nothing is written.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ladder import manifest, ncu
from ladder.counters import LIMITS, TIME
from ladder.files import one_line, positive, read_json
from ladder.measuring import StageFailed, keep, same_commit, write_environment
from ladder.power_results import CONTENDER, NAME
from ladder.project import STAGES, BadInput
from ladder.results import DEVICE, VARIANT, own

SIZE, LAUNCH_SIZE = 8192, 4096
# Times of the tables take more; here they only say at which rate the data are multiplied.
ITERATIONS = 40

# Of a stage's report.
POWERED = (
    {"sensor": one_line, "limit_watts": positive, "stage": CONTENDER, "cublas": CONTENDER},
    {"unavailable": str},
)


def report(executable: Path, variant: str, data: str) -> dict:
    """Of one process. Raises StageFailed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [executable, "--size", SIZE, "--variant", variant, "--data", data]
        command += ["--sustained", "--reference", "cublas", "--iterations", ITERATIONS]
        command = [str(part) for part in [*command, "--json", path]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise StageFailed(done.stderr.strip() or done.stdout.strip(), done.returncode)
        return read_json(path, {"device": DEVICE, "variants": [VARIANT | {"power": POWERED}, ...]})


def launch(executable: Path, variant: str, data: str) -> dict:
    """Of one launch, before and after which ncu lets the GPU rest: what no power cap, which takes
    milliseconds, can have done."""
    counters = {"clock": LIMITS["clock"], "tensor_pipe": LIMITS["tensor_pipe"], "time": TIME}
    command = ncu.command(executable, list(counters.values()), str(LAUNCH_SIZE))
    rows = ncu.kernels(ncu.run([*command, "--variant", variant, "--data", data]))
    found = {name: ncu.combined(rows, counter) for name, counter in counters.items()}
    return {
        "sm_mhz": found["clock"] / 1e6,
        "tensor_pipe": found["tensor_pipe"],
        "ms": found["time"] / 1e6,
    }


def chosen() -> dict[str, tuple[str, ...]]:
    """The stages that are measured, each with its kinds of data."""
    return {stage.name: stage.power_with for stage in manifest.load().values() if stage.power_with}


def of_report(measured: dict) -> dict:
    """What of a stage's report is kept. Raises StageFailed where NVML was not there."""
    variant = own(measured)
    power = variant["power"]
    if "unavailable" in power:
        raise StageFailed(f"no power of {measured['stage']}: {power['unavailable']}", 1)
    rates = {"tflops": variant["tflops"], "cublas_tflops": measured["cublas"]["tflops"]}
    return rates | {contender: power[contender] for contender in ("stage", "cublas")}


def shown(run: dict) -> str:
    return f"{run['tflops']:.0f} TFLOP/s, {run['watts']:.0f} W, {run['sm_mhz']:.0f} MHz"


def sweep(folder: Path, stages: dict[str, Path]) -> None:
    """Raises StageFailed."""
    runs: dict[str, dict] = {}
    measured: dict = {}
    for name, kinds in chosen().items():
        listed = subprocess.run([stages[name], "--list"], capture_output=True, text=True)
        variant = listed.stdout.split()[-1]
        for data in kinds:
            measured = report(stages[name], variant, data)
            kept = runs.setdefault(f"{name}/{variant}", {})[data] = of_report(measured)
            kept["launch"] = launch(stages[name], variant, data)
            print(f"{name} {data}: {shown(kept['stage']['sustained'])}", flush=True)
    sensor = own(measured)["power"]
    file = {"device": measured["device"]["name"], "size": SIZE, "launch_size": LAUNCH_SIZE}
    file |= {key: sensor[key] for key in ("sensor", "limit_watts")}
    keep(json.dumps(file | {"runs": runs}, indent=2) + "\n", folder / f"{NAME}.json")
    write_environment(folder, measured["device"])


def main(arguments: list[str], build: Path = STAGES) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    try:
        there = manifest.built(build)
        missing = [name for name in chosen() if name not in there]
        if missing:
            raise BadInput(f"no {missing[0]} in {build}; ./scripts/run_all.sh builds the stages")
        if not shutil.which("ncu"):
            raise BadInput("ncu is not on the PATH; it comes with the CUDA toolkit")
        folder.mkdir(parents=True, exist_ok=True)
        same_commit(folder)
        sweep(folder, there)
    except (BadInput, OSError) as error:
        print(f"ladder power: {error}", file=sys.stderr)
        return 2
    except StageFailed as error:
        print(f"ladder power: {error}", file=sys.stderr)
        return 1
    return 0
