"""PyTorch's AsyncTP and its plain counterpart (NCCL, then cuBLAS) at the shapes of the multi_gpu
benchmark: torchrun --nproc-per-node=2 async_tp.py [--rounds 40] [--json FILE]. Exit code: 0 all
right, 2 bad input, 77 there is no PyTorch."""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from ladder.command import run as run_script
from ladder.project import BadInput

try:
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory
except ImportError as error:
    missing = error
else:
    missing = None

SHAPES = [
    "8192x8192x8192",
    "16384x8192x8192",
    "4096x4096x4096",
    "4096x11008x4096",
    "8192x2048x8192",
]


def plain_all_gather(a, b, group, ranks):
    whole = torch.empty(a.shape[0] * ranks, a.shape[1], dtype=a.dtype, device=a.device)
    dist.all_gather_into_tensor(whole, a, group=group)
    return whole @ b


def plain_reduce_scatter(a, b, group, ranks):
    product = a @ b
    part = torch.empty(a.shape[0] // ranks, b.shape[1], dtype=a.dtype, device=a.device)
    dist.reduce_scatter_tensor(part, product, group=group)
    return part


def async_all_gather(a, b, group, ranks):
    return torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, group.group_name)[1][0]


def async_reduce_scatter(a, b, group, ranks):
    return torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, group.group_name)


def measure(calls, rounds):
    """Of each of `calls`, in turn: the median over `rounds` of the slowest rank's milliseconds, of
    one call behind a pause that hides the host."""
    times = {name: [] for name in calls}
    order = list(calls)
    for number in range(-2, rounds):  # the first two are not counted
        for name in order:
            dist.barrier()
            torch.cuda.synchronize()
            time.sleep(0.003)  # as multi_gpu --rest 3: no clock is held down by what ran before
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(2_000_000)  # clocks: the host is ahead when it is over
            begin.record()
            calls[name]()
            end.record()
            torch.cuda.synchronize()
            if number >= 0:
                times[name].append(begin.elapsed_time(end))
        order.append(order.pop(0))
    slowest = torch.tensor([times[name] for name in calls], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return dict(zip(calls, map(statistics.median, slowest.tolist()), strict=True))


def random(rows, cols):
    return (torch.rand(rows, cols, device="cuda") * 2 - 1).half()


def run(name, m, cols, depth, rounds, group, ranks):
    """One product: `cols` and `depth` are this rank's."""
    gather = name == "all-gather"
    plain, fused = (
        (plain_all_gather, async_all_gather)
        if gather
        else (plain_reduce_scatter, async_reduce_scatter)
    )
    a, b = random(m // ranks if gather else m, depth), random(depth, cols)
    whole = random(m, depth)
    product = whole @ b
    part = torch.empty(m // ranks, cols, dtype=a.dtype, device="cuda")

    def communicate():
        if gather:
            dist.all_gather_into_tensor(whole, a, group=group)
        else:
            dist.reduce_scatter_tensor(part, product, group=group)

    expected, result = plain(a, b, group, ranks), fused(a, b, group, ranks)
    difference = (expected.float() - result.float()).abs().max().item()
    times = measure(
        {
            "multiplication": lambda: whole @ b,
            "NCCL alone": communicate,
            "NCCL, then cuBLAS": lambda: plain(a, b, group, ranks),
            "AsyncTP": lambda: fused(a, b, group, ranks),
        },
        rounds,
    )
    return {"operation": name, "largest_difference": difference, "ms": times}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json")
    arguments = parser.parse_args(arguments)
    if arguments.rounds < 1:
        raise BadInput("--rounds: at least 1")
    if missing:
        print(f"async_tp.py: {missing}", file=sys.stderr)
        return 77
    if "LOCAL_RANK" not in os.environ:
        raise BadInput("torchrun starts it: torchrun --nproc-per-node=2 async_tp.py")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    group = dist.group.WORLD
    ranks, rank = dist.get_world_size(), dist.get_rank()
    torch.manual_seed(rank)
    results = []
    for shape in SHAPES:
        m, n, k = (int(x) for x in shape.split("x"))
        for result in (
            run("all-gather", m, n // ranks, k, arguments.rounds, group, ranks),
            run("reduce-scatter", m, n, k // ranks, arguments.rounds, group, ranks),
        ):
            results.append({"m": m, "n": n, "k": k, **result})
            if rank == 0:
                times = result["ms"]
                words = ", ".join(f"{key} {value:.4f}" for key, value in times.items())
                share = 100 * times["multiplication"] / times["AsyncTP"]
                print(f"{shape} {result['operation']}: {words} ms, {share:.1f}%", flush=True)
    if rank == 0 and arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"torch": torch.__version__, "timings": results}, file, indent=2)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(run_script("async_tp"))
