"""Makes programs of solutions: for the CPU device, and for a GPU."""

import errno
import os
import re
import resource
import subprocess
from pathlib import Path

from ladder import build_folder
from ladder.exercises.catalogue import Exercise, is_starter
from ladder.exercises.mistakes import mistakes_in
from ladder.exercises.refusals import refusal_of_object
from ladder.project import ROOT, BadInput

# What a compiler gets. A starter takes 3 s and 0.6 GB.
LIMITS = {resource.RLIMIT_CPU: 60, resource.RLIMIT_AS: 4 << 30}


def program_text(exercise: Exercise, /, **solutions: Path) -> str:
    """Each in a namespace of its own, together with check.cpp."""
    text = '#include "exercises/exercise.h"\n#include "exercises/grader.h"\n'
    for name, path in solutions.items():
        text += f'#define SOLUTION {name}\n#define SOLUTION_FILE "{path}"\n'
        text += f'#define CHECK_FILE "{exercise.folder / "check.cpp"}"\n'
        text += '#include "exercises/solution.inc"\n'
    return text


def write_program(exercise: Exercise, folder: Path, rest: bool) -> None:
    """The source of a test program, folder/NAME.cpp: with the solution, the starter and the first
    mistakes, or with the rest of them. Raises BadInput."""
    solutions = {} if rest else {exercise.kernels.stem: exercise.kernels}
    # What a learner has edited may not even compile.
    if not rest and not exercise.is_predict and is_starter(exercise):
        solutions["exercise"] = exercise.edited
    if not exercise.is_predict:
        its = folder / "wrong" / exercise.name
        its.mkdir(parents=True, exist_ok=True)
        for mistake in mistakes_in(exercise, rest):
            solutions[mistake.id] = its / f"{mistake.id}.cuh"
            solutions[mistake.id].write_text(mistake.text)
    source = folder / f"{program_name(exercise, rest)}.cpp"
    source.write_text(program_text(exercise, **solutions))


def program_name(exercise: Exercise, rest: bool) -> str:
    return exercise.name + "_rest" * rest


class Build:
    """What a build folder says of how exercises are compiled. Raises BadInput."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.commands = build_folder.commands(folder)
        self.libraries = build_folder.libraries(folder / "exercises/libraries")

    def program(self, exercise: Exercise, rest: bool = False) -> Path:
        """With the solution and the first mistakes, or with the rest of them."""
        path = self.folder / "exercises" / program_name(exercise, rest)
        if not path.is_file():
            raise BadInput(f"{path} is not there; build ladder_exercise_{path.name}")
        return path

    def command(self, name: str = "yours") -> list[str]:
        """That compiles a program of solutions, or a learner's."""
        source = self.folder / "exercises" / f"{name}.cpp"
        if source not in self.commands:
            raise BadInput(f"{self.folder} does not know {name}.cpp; configure it again")
        return build_folder.words(self.commands[source])

    def object_file(self, exercise: Exercise, rest: bool) -> Path:
        """Of the program."""
        command = self.command(program_name(exercise, rest))
        return self.folder / command[command.index("-o") + 1]

    def compile(self, exercise: Exercise, solution: Path, folder: Path) -> str:
        """Makes folder/program, whose one solution is called `yours`. Returns why it cannot."""
        command = self.command()
        source, object_file = folder / "yours.cpp", folder / "yours.o"
        solutions = {"yours": solution}
        if exercise.limits:  # whose costs are compared where the shape is drawn
            solutions["solution"] = exercise.solution
        source.write_text(program_text(exercise, **solutions))
        command[command.index("-o") + 1] = str(object_file)
        command[command.index("-c") + 1] = str(source)
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
        if done.returncode != 0:
            return compile_errors(done.stderr, solution)
        refused = refusal_of_object(object_file)
        if refused:
            return f"refused: {refused}"
        compiler = build_folder.compiler(command)
        link = [compiler, object_file, "-o", folder / "program", *self.libraries]
        done = subprocess.run(link, capture_output=True, text=True)
        if done.returncode == 0:
            return ""
        (missing,) = re.findall(r"undefined reference to .*", done.stderr)[:1] or [""]
        if not missing:
            raise BadInput(f"the linker fails: {done.stderr.strip()[-500:]}")
        return f"does not link: {missing}"


def limit() -> None:
    """Of the process that becomes the compiler, and of those that it starts."""
    for kind, most in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(
            kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


def compile_errors(said: str, solution: Path) -> str:
    """Raises BadInput where the reason is not the solution's."""
    said = re.sub(
        r"\W(__\w+)\W was not declared in this scope.*", r"the CPU device has no \1", said
    )
    if re.search("CPU time limit exceeded|out of memory|memory exhausted|Killed signal", said):
        most = f"{LIMITS[resource.RLIMIT_CPU]} s or {LIMITS[resource.RLIMIT_AS] / 2**30:g} GiB"
        return (
            f"does not compile: it takes more than {most}: is a template, or a constant, endless?"
        )
    errors = list(
        dict.fromkeys(
            re.findall(r"^(.*?):(\d+):\d+: (?:fatal |internal compiler )?error: (.*)$", said, re.M)
        )
    )
    if not errors or os.strerror(errno.ENOSPC) in said:
        raise BadInput(f"the compiler fails: {said.strip()[-500:]}")
    code = dict(enumerate(solution.read_text().splitlines(), 1))
    own = [
        f"{solution.name}:{line}: {text}\n    {code.get(int(line), '').strip()}"
        for file, line, text in errors
        if file == str(solution)
    ]
    if own:
        return "does not compile: " + "\n".join(own[:3])
    asked = "are the kernel's name and parameters those of the starter?"
    return f"does not compile: {asked} {errors[0][2]}"


def gpu_architecture() -> str:
    """Of the first GPU, as nvcc calls it; "" where there is none."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True)
    except OSError:
        return ""
    match = re.match(r"(\d+)\.(\d)\s", done.stdout)
    if done.returncode != 0 or not match:
        return ""
    version = match[1] + match[2]
    return f"sm_{version}" + "a" * (version == "90")  # for wgmma


def compile_for_gpu(
    exercise: Exercise, build: Build, folder: Path, architecture: str = "", **solutions: Path
) -> Path | None:
    """The program with all of them, for an architecture as nvcc calls it or for the GPU that is
    here; None where there is none, or no toolkit in the build. Raises BadInput."""
    libraries = build.folder / "exercises/gpu_libraries"
    architecture = (architecture or gpu_architecture()) if libraries.is_file() else ""
    nvcc, *words = build_folder.libraries(libraries) if architecture else [""]
    if not words or not Path(words[0]).is_file():
        return None
    source, program = folder / "yours.cu", folder / "program_gpu"
    source.write_text(program_text(exercise, **solutions))
    target = f"arch={architecture.replace('sm', 'compute')},code={architecture}"
    command = [nvcc, "-std=c++17", "-gencode", target, "-w", "-Xcompiler", "-fopenmp"]
    for include in ("bench", "kernels", "bench/exercises"):
        command += ["-I", str(ROOT / include)]
    done = subprocess.run([*command, "-o", program, source, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"{exercise.name}: nvcc: {(done.stderr + done.stdout).strip()[:2000]}")
    return program
