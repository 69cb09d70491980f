"""Grades the solutions and the mistakes of exercises in a page, in headless Chromium: the verdicts
are those that the terminal has."""

import json
from pathlib import Path

import pytest

from ladder.exercises import catalogue, compiling, judging, refusals
from ladder.exercises.mistakes import mistakes_of

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = {e.name: e for e in catalogue.all_exercises()}
SEED = 7

# Runs solutions in the worker, or none; judges what they reported.
ASK = """async ([message, exercise]) => {
  const { ask } = await import("/client.mjs");
  const { casesOf } = await import("/grading.mjs");
  const { judge } = await import("/judging.mjs");
  const words = await (await fetch("/grader.json")).json();
  const answer = await ask(message, () => {});
  if (answer.runs === undefined || answer.state.length > 0) return answer;
  const [reference, ...all] = answer.runs.map(casesOf);
  return all.map(cases => [cases, judge(words, exercise, cases, reference)]);
}"""
# The same of a prediction, of which there are several answers.
ASK_ANSWERS = """async ([message, exercise, answers]) => {
  const { ask } = await import("/client.mjs");
  const { casesOf } = await import("/grading.mjs");
  const { judgeAnswer } = await import("/judging.mjs");
  const words = await (await fetch("/grader.json")).json();
  const { runs: [run] } = await ask(message, () => {});
  return [casesOf(run), answers.map(given => judgeAnswer(words, exercise, casesOf(run), given))];
}"""
GRADE = """async ([name, text]) => {
  const { grade } = await import("/grading.mjs");
  const read = async path => (await fetch(path)).json();
  const [words, exercise] = [await read("/grader.json"), await read(`/exercises/${name}.json`)];
  return grade(words, exercise, text, 7, () => {});
}"""
REFUSE = """async texts => {
  const { refusal } = await import("/refusals.mjs");
  const words = await (await fetch("/grader.json")).json();
  return texts.map(text => refusal(words, text));
}"""

pytestmark = pytest.mark.slow


def message_of(exercise, texts, runs):
    """For the worker: a program of all texts, by name."""
    source = compiling.program_text(exercise, **{each: Path(f"{each}.cuh") for each in texts})
    source = source.replace(str(exercise.folder / "check.cpp"), "check.cpp")
    files = {f"{each}.cuh": text for each, text in texts.items()}
    files["check.cpp"] = (exercise.folder / "check.cpp").read_text()
    return {"kind": "exercise", "source": source, "files": files, "runs": runs}


@pytest.mark.parametrize("name", [n for n, e in EXERCISES.items() if e.is_predict])
def test_answers_get_the_verdicts_of_the_terminal(engine_page, engine, name):
    exercise = EXERCISES[name]
    mistakes = mistakes_of(exercise)
    answers = [catalogue.read_yaml(exercise.solution), *(m.answer for m in mistakes)]
    texts = {"yours": exercise.kernels.read_text()}
    message = message_of(exercise, texts, [["yours", str(SEED), "/r"]])
    known = json.loads((engine / f"exercises/{name}.json").read_text())
    cases, verdicts = engine_page.evaluate(ASK_ANSWERS, [message, known, answers])
    said = [verdict["line"] for verdict in verdicts]
    assert said == [judging.judge_answer(exercise, cases, given).line for given in answers]
    assert said[0] == "all holds"
    for mistake, line in zip(mistakes, said[1:], strict=True):
        assert mistake.refused.search(line), mistake.id


@pytest.mark.parametrize("name", [n for n, e in EXERCISES.items() if not e.is_predict])
def test_solutions_and_mistakes_get_the_verdicts_of_the_terminal(engine_page, engine, name):
    exercise = EXERCISES[name]
    mistakes = [m for m in mistakes_of(exercise) if not refusals.refusal(m.text)]
    texts = {"solution": exercise.solution.read_text(), **{m.id: m.text for m in mistakes}}
    runs = [["solution", str(SEED), "/r", "once"], *([each, str(SEED), "/r"] for each in texts)]
    message = message_of(exercise, texts, runs)
    known = json.loads((engine / f"exercises/{name}.json").read_text())
    said = engine_page.evaluate(ASK, [message, known])
    assert isinstance(said, list), said
    reference = said[0][0]  # of the solution, in both of its runs
    problems = []
    for each, (cases, verdict) in zip(texts, said, strict=True):
        expected = judging.judge(exercise, cases, reference)
        wrong = next((m for m in mistakes if m.id == each), None)
        if (verdict["ok"], verdict["line"]) != (expected.ok, expected.line):
            problems.append(f"{each}: {verdict['line']!r}, at the terminal {expected.line!r}")
        for part in ("details", "more", "unplaced"):
            if verdict[part] != getattr(expected, part):
                problems.append(f"{each}: {part}: {verdict[part]} != {getattr(expected, part)}")
        if [set(place) for place in verdict["places"]] != expected.places:
            problems.append(f"{each}: places: {verdict['places']} != {expected.places}")
        if verdict["ok"] != (wrong is None):
            problems.append(f"{each}: {verdict['line']}")
        if wrong is not None and not wrong.refused.search(verdict["line"]):
            problems.append(f"{each}: {verdict['line']!r} is not {wrong.refused.pattern!r}")
    assert problems == []


ODD = (
    "#include <cstdio>",
    "int a = 1'000;",
    'static const float x = 0; /* "',
    "void f() { static int n; }",
    "void f() {",
    "}",
    "[[noreturn]] void f();",
    "kernel<<<1, 2>>>();",
    "__syncthread();",
    "__sharde__ float x;",
    "__builtin_trap();",
    "cudaMalloc(0, 1);",
    "int \\\n x;",
    "int $x;",
    "// printf",
    'const char* s = "printf";',
    "#pragma unroll 4",
)


def test_what_is_refused_is_refused_in_the_same_words(engine_page):
    texts = [*ODD]
    for exercise in EXERCISES.values():
        if not exercise.is_predict:
            texts += [exercise.solution.read_text(), *(m.text for m in mistakes_of(exercise))]
    expected = [refusals.refusal(text) for text in texts]
    assert len({words for words in expected if words}) > 10
    assert engine_page.evaluate(REFUSE, texts) == expected


def test_a_variable_that_outlives_a_launch_is_refused(engine_page):
    solution = (ROOT / "exercises/01_thread_mapping/solution.cuh").read_text()
    with_state = f"{solution}\n__device__ int launches;\n"
    said = engine_page.evaluate(GRADE, ["01_thread_mapping", with_state])
    assert said["line"] == "refused: `launches` keeps its value between launches"
    assert engine_page.evaluate(GRADE, ["01_thread_mapping", solution])["ok"]
