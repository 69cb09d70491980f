"""What a solution is told of the cases that it ran."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from ladder.exercises.catalogue import Exercise
from ladder.exercises.costs import cost_lines, cost_of
from ladder.exercises.refusals import SHARED
from ladder.exercises.wrong_map import map_of
from ladder.project import BadInput

DRAWN = "a drawn shape"  # the case of check.cpp with sizes that no kernel can know


@dataclass
class Verdict:
    ok: bool
    line: str  # what the regular expressions of wrong solutions are looked for in
    details: list[str] = field(default_factory=list)
    more: list[list[str]] = field(default_factory=list)  # further findings, their lines
    # Of findings: what the line says without its place, and the lines of the solution that stand in
    # the report; of each other finding, too, which are as good an answer.
    unplaced: str = ""
    places: list[set[int]] = field(default_factory=list)


# What a learner can look for. A pattern of the cause, and what stands below it.
ADVICE = {
    "reads shared memory that this block has not written": "Who writes this element, and is "
    "there a barrier between? Perhaps nobody does: look at the index.",
    "race: writes what another thread has read": "A thread that is ahead writes here while "
    "another one still has to read: is a barrier or a wait missing between the two?",
    "race: reads what another thread has written": "Nothing makes the reader wait for the writer: "
    "is a barrier or a wait missing between the two?",
    "race: TMA overwrites what a thread has read": "Either nobody waits until all have read this, "
    "or a thread has read it too early: before it waited for the phase of what TMA brings here.",
    "race: writes what another thread has written": "Both write one element: which of the two "
    "should, or is a barrier or a wait missing between them?",
    "^race: .* global memory that another block": "Blocks of one launch run in any order, or at "
    "once: which of the two should come to this element, or has it to be an atomic?",
    "^another order": "It went well here. What makes sure that the phase before is over when a "
    "thread comes to this line, and that the next one is not, whoever is late?",
    "^(reads|writes) (past the end|before)": "What comes here that has no element: a thread, "
    "a turn of a loop, a box? Or are row and column exchanged, or the width and the distance of "
    "rows?",
}


def place_line(place: dict) -> str:
    return f"{Path(place['file']).name}:{place['line']}"


def finding_details(finding: dict) -> list[str]:
    """The line, the other one that it conflicts with, and what to look for."""
    details = [f"    {finding['text']}"]
    if finding["who"]:
        details.append(f"Here waits: {finding['who']}")
    other = finding.get("other")
    if other and place_line(other) == place_line(finding):
        same = "The other access is in the same line, by another thread: do both take one element, "
        return [*details, same + "or is one of them a turn ahead?"]
    if other:
        details += [f"The other access, {place_line(other)}:", f"    {other['text']}"]
    advice = [text for cause, text in ADVICE.items() if re.search(cause, finding["cause"])]
    return details + advice[:1]


def without_place(finding: dict, case: dict) -> str:
    what = finding["cause"] + (f": {finding['example']}" if finding["example"] else "")
    return f"{what} (in {case['name']}, {counted(finding['count'], 'time')})"


def finding_line(finding: dict, case: dict) -> str:
    return f"{place_line(finding)}: {without_place(finding, case)}"


def lines_of(*findings: dict) -> set[int]:
    """In the file of the first."""
    places = [p for f in findings for p in (f, f.get("other")) if p]
    return {p["line"] for p in places if p["file"] == findings[0]["file"]}


def number(value) -> str:
    return value if isinstance(value, str) else f"{value:.7g}"


def wrong_line(case: dict) -> str:
    w, n = case["wrong"], case["wrong_elements"]
    every = "all " * (n > 1 and n == sum(map(len, case["map"])))
    return (
        f"wrong result: {w['array']} at row {w['row']}, column {w['column']} is "
        f"{number(w['got'])}, not {number(w['expected'])} "
        f"(in {case['name']}, {every}{counted(n, 'element')} wrong)"
    )


def counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def within(cost: int, limit) -> bool:
    if isinstance(limit, str):
        return cost >= int(limit.removeprefix("at least "))
    return cost <= limit


NAN = "An output is NaN before the launch: was this element written at all, and from what?"


def found_in(cases: list[dict]) -> Verdict | None:
    """The first finding, with the others for who wants them; or None."""
    different = {}
    for case in cases:
        for finding in case["findings"]:
            different.setdefault((finding["line"], finding["cause"]), (finding, case))
    if not different:
        return None
    (first, case), *others = different.values()
    details, shown = finding_details(first), [first]
    if "deadlock" in first["cause"]:  # whoever it is that should have gone on
        stand = [f for f, its in others if its is case and "deadlock" in f["cause"]]
        for other in stand:
            said = f"Others wait, {finding_line(other, case)}"
            details += [said.replace("deadlock: threads wait here, ", ""), *finding_details(other)]
        shown += stand
    more = [
        [finding_line(finding, its), *finding_details(finding)]
        for finding, its in others
        if finding not in shown
    ]
    places = [lines_of(*shown), *(lines_of(f) for f, _ in others)]
    return Verdict(
        False, finding_line(first, case), details, more, without_place(first, case), places
    )


def correctness(cases: list[dict]) -> Verdict | None:
    """What is wrong with the results, or None."""
    for case in cases:
        if case["error"]:
            return Verdict(False, f"cannot be launched: {case['error']} (in {case['name']})")
    wrong = [c for c in cases if c["wrong"]]
    found = found_in(cases)
    if found:
        found.details += [wrong_line(wrong[0])] if wrong else []
        return found
    if wrong:
        good = [c["name"] for c in cases if not c["wrong"]]
        details = [NAN] if wrong[0]["wrong"]["got"] == "NaN" else []
        details += [f"right in {', '.join(good)}"] * bool(good)
        return Verdict(False, wrong_line(wrong[0]), details + map_of(wrong[0]["map"]))
    stray = [c for c in cases if c["stray"]]
    if stray:
        return Verdict(False, f"stray write: {stray[0]['stray']} (in {stray[0]['name']})")
    return None


def cost_table(exercise: Exercise, cases: dict) -> tuple[list[str], list[str]]:
    """A line for each limit, with the most expensive source line; and what exceeds its limit."""
    table, exceeded = [], []
    for name, limits in exercise.limits.items():
        if name not in cases:
            raise BadInput(f"{exercise.name}/exercise.yaml: check.cpp has no case '{name}'")
        for cost, limit in limits.items():
            is_ok = within(n := cost_of(cases[name], cost), limit)
            shown = f"{'ok' if is_ok else '--'}  {cost:<20} {n:>10}   limit {limit:>10}   {name}"
            most = cost_lines(cases[name], cost)[:1]
            if most and not is_ok:
                amount, x = most[0]
                shown += (
                    f"\n      {amount} of them in {Path(x['file']).name}:{x['line']}: {x['text']}"
                )
            table.append(shown)
            if not is_ok:
                kind_of, _, array = cost.partition(" of ")
                unit = kind_of.replace("_", " ") + f" of {array}" * bool(array)
                said = (
                    f"the limit is {limit}" if not isinstance(limit, str) else f"it takes {limit}"
                )
                kind = "too expensive" if not isinstance(limit, str) else "not as asked"
                exceeded.append(f"{kind}: {n} {unit} in {name}, {said}")
    return table, exceeded


def dear_where_drawn(exercise: Exercise, cases: dict, reference: dict) -> list[str]:
    """What costs more at the shape that is drawn than the limits allow beside the reference's costs
    there, and a quarter: another good solution may begin and end otherwise."""
    exceeded = []
    case, limits = next(iter(exercise.limits.items()))
    for cost, limit in limits.items():
        n, usual = cost_of(cases[DRAWN], cost), cost_of(reference[DRAWN], cost)
        least, most = isinstance(limit, str), int(str(limit).removeprefix("at least "))
        allowed = usual * most / max(1, cost_of(reference[case], cost)) * (0.75 if least else 1.25)
        if n < allowed if least else n > allowed:
            beside = f"{cost.replace('_', ' ')} in {DRAWN}, where the reference has {usual}"
            exceeded.append(f"{'not as asked' if least else 'too expensive'}: {n} {beside}")
    return exceeded


def judge(exercise: Exercise, cases: list[dict] | str, reference: list[dict] | str) -> Verdict:
    """Of a solution that ran, as the reference did. Raises BadInput."""
    if isinstance(cases, str):
        return Verdict(False, cases)
    wrong = correctness(cases)
    if wrong:
        return wrong
    by_name = {c["name"]: c for c in cases}
    most = max(cost_of(case, "shared_bytes") for case in cases)
    if most > SHARED:
        return Verdict(False, f"{most} bytes of shared memory: a block has {SHARED} at most")
    table, exceeded = cost_table(exercise, by_name)
    if exercise.limits and not exceeded:
        if isinstance(reference, str):
            raise BadInput(f"{exercise.name}: the reference {reference}")
        exceeded = dear_where_drawn(exercise, by_name, {c["name"]: c for c in reference})
    return Verdict(not exceeded, exceeded[0] if exceeded else "all holds", table)


def judge_answer(exercise: Exercise, cases: list[dict] | str, given: dict) -> Verdict:
    """Of numbers. The verdict does not give away the right ones. Raises BadInput."""
    wrong = judge(exercise, cases, [])
    if not wrong.ok:
        raise BadInput(f"{exercise.name}: the kernel that is given: {wrong.line}")
    by_name = {c["name"]: c for c in cases}
    missed = []
    for name, question in exercise.questions.items():
        if not isinstance(given.get(name), int):
            missed.append(f"{name} has no whole number yet")
        elif given[name] != cost_of(by_name[question["case"]], question["cost"]):
            missed.append(f"{name} is not {given[name]}")
    return Verdict(not missed, ", ".join(missed) if missed else "all holds")


def judge_on_gpu(yours: list[dict] | str, reference: list[dict] | str) -> Verdict:
    if isinstance(yours, str):
        return Verdict(False, f"on the GPU: {yours}")
    wrong = correctness(yours)
    if wrong:
        return Verdict(False, f"on the GPU: {wrong.line}", wrong.details)
    if isinstance(reference, str) or correctness(reference):
        raise BadInput("the reference fails on this GPU")
    times = []
    for mine, other in zip(yours, reference, strict=True):
        if mine["timed"]:
            line = f"GPU, {mine['name']}: {mine['seconds'] * 1e3:.3f} ms, reference "
            line += f"{other['seconds'] * 1e3:.3f} ms"
            cublas = mine["cublas_seconds"]
            times.append(line + (f", cuBLAS {cublas * 1e3:.3f} ms" if cublas else ""))
    return Verdict(True, "all holds", times)
