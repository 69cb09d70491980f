"""What ./ladder prove has said, as it is recorded."""

from ladder import manifest, proved
from ladder.docs.text import table


def in_short(labels: list[str]) -> str:
    """Of three and more neighbours in the ladder the first and the last: "05b to 05e"."""
    ladder = [stage.label for stage in manifest.of_one_gpu().values()]
    runs: list[list[str]] = []
    for label in labels:
        at = ladder.index(label)
        if runs and runs[-1][-1] == ladder[at - 1]:
            runs[-1].append(label)
        else:
            runs.append([label])
    parts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else run for run in runs]
    return ", ".join(label for part in parts for label in part)


def gpu_of(entry: dict) -> tuple[str, str]:
    return entry["gpu"], entry["toolkit"]


def of_gpu(gpu: str, toolkit: str, on_gpu: dict[str, dict]) -> str:
    entries = [entry for entry in on_gpu.values() if gpu_of(entry) == (gpu, toolkit)]
    variants, shapes, runs = (
        sum(entry[key] for entry in entries) for key in ("variants", "shapes", "runs")
    )
    return (
        f"On an {gpu}, with CUDA {toolkit}, C is the product in {len(entries)} stages: {variants}"
        f" variants in their types and layouts, {runs:,} runs at {shapes} shapes."
    )


def proofs() -> str:
    """How many stages, which not, and what is assumed of which."""
    recorded = proved.read()
    labels: dict[str, list[str]] = {}  # by what is said of the stages
    assumed: dict[str, list[str]] = {said: [] for said in proved.ASSUMED.values()}
    shapes = 0
    for name, stage in manifest.of_one_gpu().items():
        state = proved.state(name, recorded)
        labels.setdefault(state, []).append(stage.label)
        shapes += recorded[name]["shapes"] if state == "yes" else 0
        for said in proved.special(name):
            assumed[said].append(stage.label)
    assumed[proved.SEVERAL_WAYS] = [
        stage.label
        for name, stage in manifest.of_one_gpu().items()
        if recorded.get(name, {}).get("several_ways")
    ]

    def by(head: str, of: dict[str, list[str]]) -> str:
        return table([head, "stages"], [[key, in_short(of[key])] for key in of if of[key]])

    on_gpu = proved.on_gpu()
    before = proved.read_on_gpu()
    for name, stage in manifest.load().items():
        if name not in on_gpu:
            since = " since its last change" if name in before else ""
            labels.setdefault(f"not on a GPU{since}", []).append(stage.label)
    right = labels.pop("yes", [])
    products = sum(stage.label in right for stage in manifest.load().values())
    return "\n\n".join(
        [
            f"Accesses, races and waits are proved of {len(right)} of the"
            f" {len(manifest.of_one_gpu())} stages that one GPU runs, at {shapes} shapes. C is the"
            f" product in {products} of them.",
            *(of_gpu(*gpu, on_gpu) for gpu in sorted({gpu_of(entry) for entry in on_gpu.values()})),
            *([by("proved", labels)] if any(labels.values()) else []),
            by("assumed of some", assumed),
        ]
    )
