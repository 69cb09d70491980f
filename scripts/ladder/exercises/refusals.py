"""What a solution may say: what is refused before it is compiled, and in what became of it."""

import re
import subprocess
from collections import Counter
from difflib import get_close_matches
from pathlib import Path

from ladder.project import BadInput

# Bytes that a device has: of a block's __shared__ arrays, with its dynamic shared memory, and of
# constants.
STATIC_SHARED, SHARED, CONSTANT = 48 * 1024, 227 * 1024, 64 * 1024

# Identifiers that begin with an underscore and are CUDA's; others are the compiler's. All that
# tests/device_functions_test.cu has are among them.
CUDA = re.compile(
    r"__(global|device|host|shared|constant|restrict|forceinline|noinline|launch_bounds|align"
    r"|grid_constant|cluster_dims|unroll)__|__restrict|__half2?|__nv_bfloat162?"
    r"|__(sync(threads|warp)\w*|shfl_\w+|(ballot|any|all)_sync|match_\w+|activemask|reduce_\w+"
    r"|threadfence\w*|ld(g|ca|cg|cs|lu|cv)|st(wb|cg|cs|wt)|(popc|clz|ffs|brev)(ll)?|byte_perm"
    r"|funnelshift_\w+|u?mul(hi|64hi|24)|u?sad|u?r?hadd|dp[24]a\w*|saturatef"
    r"|[fd](add|sub|mul|div|rcp|r?sqrt)_r\w|fmaf?_r\w|(exp(10)?|log(2|10)?|pow|sin|cos|tan|sincos"
    r"|fdivide)f|(float|double|u?int|u?ll|half|bfloat16)2\w+|hiloint2double|\w+_as_\w+"
    r"|h(add|sub|mul|div|fma|neg|abs|max|min|eq|ne|lt|le|gt|ge|isnan|isinf)2?(_\w+)?|h2div"
    r"|(low|high|lows|highs|halves|floats|float2|bfloat162)2\w+|half22\w+|lowhigh2highlow"
    r"|cvta_generic_to_shared|nanosleep|trap|isnan)"
)
# What somebody means who mistypes it.
USUAL = ["__global__", "__device__", "__shared__", "__restrict__", "__syncthreads", "__syncwarp"]
REFUSED = {
    "a name of the grader's; take another one": "grader checked cpu_device ladder "
    "solution kernels yours SOLUTION SOLUTION_FILE CHECK_FILE this_block",
    "assembler and other files' symbols": "asm extern import module",
    "the standard library is the host's; min, max, fmaxf and the like are there without it": "std",
    "a kernel cannot print here; the verdict says what it did": "printf",
    "functions of the host": "exit quick_exit abort atexit at_quick_exit terminate longjmp "
    "setjmp siglongjmp sigsetjmp memcpy memmove memset new delete environ stdout stderr",
    "jumps, which a kernel here must not": "try throw catch goto",
    "state between launches": "thread_local mutable",
}
# The runtime's functions and the CPU device's macros, but for what describes a tensor map.
HOST_NAMES = re.compile(
    r"(?!(CUtensorMap|CUresult|CU_TENSOR_MAP_\w+|cuTensorMapEncodeTiled|cuu?int\d+_t)$)"
    r"((cuda[A-Z]|cu[A-Z]|CU|LADDER_)\w*|run_grid)"
)
# What an object may want of C: what the compiler itself calls, and arithmetic. (Of C++, all that is
# mangled: a solution cannot name it without `std`.)
C_FUNCTIONS = re.compile(
    r"_Z\w+|__(tsan|sanitizer|ubsan|cxa|gxx|dso|stack_chk|tls)\w+|_Unwind\w+|_GLOBAL_OFFSET_TABLE_"
    r"|mem(cpy|set|move|cmp)|strlen|(a?(sin|cos|tan)h?|atan2|exp[2m]?1?|log(2|10|1p|b)?|pow|sqrt|cbrt"
    r"|hypot|fabs|fmod|fma|fmax|fmin|erfc?|ceil|floor|round|trunc|rint|nearbyint|ldexp|sincos"
    r"|copysign|[lt]gamma)f?"
)
# What stands behind `static` without being state.
NOT_STATE = {"__global__", "__device__", "__host__", "__forceinline__", "inline", "constexpr"}
TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|::|\S")
COMMENTS_AND_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?P<joined>\w['"])|'(?:\\.|[^'\\\n])'""", re.DOTALL
)
SPELLINGS = re.compile(r"\\\r?\n|\r|\?\?[=/\'()!<>-]|%[:>]|<%|<:(?!:)|:>|\\[uUN]")


def code_of(text: str) -> str:
    """Blanks instead of comments and texts. Raises ValueError for 1'000 and L"text", of which it
    would take a part for a text."""

    def blank(match: re.Match) -> str:
        if match["joined"]:
            raise ValueError("a quotation mark behind a letter or a digit is refused")
        return re.sub(r"[^\n]", " ", match.group())

    return COMMENTS_AND_TEXT.sub(blank, text)


def refusal(text: str) -> str:
    """Why a solution is not even compiled, with its line; "" if it may be."""
    spelling = SPELLINGS.search(text)
    if spelling:
        number = text.count("\n", 0, spelling.start()) + 1
        return f"line {number}: spliced lines and other spellings of characters are refused"
    try:
        code = code_of(text)
    except ValueError as error:
        return str(error)
    originals = text.split("\n")
    tokens = []  # with their lines
    for number, line in enumerate(code.split("\n"), 1):
        if not re.match(r"\s*#", line):
            tokens += [(token, number) for token in TOKEN.findall(line)]
            continue
        original = originals[number - 1]
        if not re.fullmatch(r'\s*#\s*include\s*"exercise\.h"\s*(//.*)?', original) and not re.match(
            r"\s*#\s*pragma\s+(once|unroll)\b", line
        ):
            allowed = 'only #include "exercise.h" and #pragma unroll'
            return f"line {number}: `{original.strip()}`: {allowed}"
    return refused_token(tokens)


def refused_token(tokens: list[tuple[str, int]]) -> str:
    reasons = {word: reason for reason, words in REFUSED.items() for word in words.split()}
    words = [token for token, _ in tokens]
    depth = 0
    for i, (token, number) in enumerate(tokens):
        where = f"line {number}: `{token}`: "
        if token in reasons:
            return where + reasons[token]
        if HOST_NAMES.fullmatch(token):
            return where + "functions of the host"
        if token.startswith("_") and not CUDA.fullmatch(token):
            close = get_close_matches(token, USUAL, 1, 0.8)
            meant = f"; is `{close[0]}` meant?" if close else ""
            return where + f"names that begin with an underscore are the compiler's{meant}"
        if token in "\\$@`":
            return where + "no such character in a kernel"
        if words[i : i + 2] == ["[", "["]:
            return f"line {number}: `[[`: attributes are refused"
        if words[i : i + 3] == ["<", "<", "<"]:
            return f"line {number}: `<<<`: the grader launches the kernel"
        if token == "static":
            following = [t for t in words[i + 1 : i + 4] if t not in ("const", "void")]
            if not following or following[0] not in NOT_STATE:
                return where + "state between launches"
        depth += (token == "{") - (token == "}")
        if depth < 0:
            return where + "closes what it has not opened"
    return "`{`: is never closed" if depth > 0 else ""


def refusal_of_object(object_file: Path) -> str:
    """A variable of the solution that outlives a launch, a function of the host, or more memory
    than a device has; "" if there is none. __shared__ arrays are thread-local on the CPU device: in
    sections of their own. Raises BadInput."""
    done = subprocess.run(["nm", "-f", "sysv", object_file], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(f"nm: {done.stderr.strip()}")
    shared, constants = Counter(), 0  # shared: by function
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.rsplit("|", 6)]
        if len(cells) != 7:
            continue
        if "7kernels" in cells[0] and re.match(r"\.(bss|data)\b(?!\.rel\.ro)", cells[6]):
            name = subprocess.run(["c++filt", cells[0]], capture_output=True, text=True).stdout
            return f"`{name.strip().split('kernels::')[-1]}` keeps its value between launches"
        if cells[2] == "U" and not C_FUNCTIONS.fullmatch(cells[0]):
            return f"`{cells[0]}`: functions of the host"
        size = int(cells[4] or "0", 16)
        if "7kernels" in cells[0] and cells[3] == "TLS":
            shared[re.sub(r"E\d+\w+$", "", cells[0])] += size
        constants += size * cells[6].startswith(".rodata")
    if shared and max(shared.values()) > STATIC_SHARED:
        most = f"{max(shared.values())} bytes of __shared__ arrays"
        return (
            f"{most}: a block has {STATIC_SHARED} at most, and more as dynamic shared memory alone"
        )
    if constants > CONSTANT:
        return f"tables of {constants} bytes: a device has {CONSTANT} for constants"
    return ""
