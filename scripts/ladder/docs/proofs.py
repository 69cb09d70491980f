"""What ./ladder prove has said, as it is recorded."""

from ladder import manifest, proved
from ladder.docs.text import table


def proofs() -> str:
    """How many stages, which not, and what is assumed of which."""
    recorded = proved.read()
    labels: dict[str, list[str]] = {}  # by what is said of the stages
    assumed: dict[str, list[str]] = {said: [] for said in proved.ASSUMED.values()}
    shapes = 0
    for name, stage in manifest.of_one_gpu().items():
        state = proved.state(name)
        labels.setdefault(state, []).append(stage.label)
        shapes += recorded[name]["shapes"] if state == "yes" else 0
        for said in proved.special(name):
            assumed[said].append(stage.label)

    def by(head: str, of: dict[str, list[str]]) -> str:
        return table([head, "stages"], [[key, ", ".join(of[key])] for key in of if of[key]])

    right = labels.pop("yes", [])
    return "\n\n".join(
        [
            f"{len(right)} of the {len(manifest.of_one_gpu())} stages that one GPU runs are proved,"
            f" at {shapes} shapes.",
            *([by("proved", labels)] if labels else []),
            by("assumed of some", assumed),
        ]
    )
