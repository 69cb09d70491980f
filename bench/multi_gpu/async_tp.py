"""PyTorch's AsyncTP and its plain counterpart (NCCL, then cuBLAS) at the shapes of the multi_gpu
benchmark: torchrun --nproc-per-node=2 async_tp.py [--rounds 40] [--json FILE]."""

import argparse
import json
import os
import statistics

import torch
import torch.distributed as dist
from torch.distributed._symmetric_memory import enable_symm_mem_for_group

SHAPES = ["8192x8192x8192", "16384x8192x8192", "4096x4096x4096", "4096x11008x4096", "8192x2048x8192"]


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


def milliseconds(call, rounds, calls=10):
    """Medians over `rounds`: of one call behind a pause that hides the host, and of one of many."""
    alone, many = [], []
    for count, times in ((1, alone), (calls, many)):
        for _ in range(rounds):
            dist.barrier()
            torch.cuda.synchronize()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(2_000_000)  # clocks: the host is ahead when it is over
            begin.record()
            for _ in range(count):
                call()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / count)
    slowest = torch.tensor([alone, many], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return [statistics.median(row) for row in slowest.tolist()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    group = dist.group.WORLD
    ranks, rank = dist.get_world_size(), dist.get_rank()
    enable_symm_mem_for_group(group.group_name)
    results = []
    for shape in SHAPES:
        m, n, k = (int(x) for x in shape.split("x"))
        generator = torch.Generator(device="cuda").manual_seed(rank)

        def random(rows, cols, generator=generator):
            data = torch.rand(rows, cols, generator=generator, device="cuda")
            return (data * 2 - 1).half()

        for name, rows, cols, depth, plain, fused in (
            ("all-gather", m // ranks, n // ranks, k, plain_all_gather, async_all_gather),
            ("reduce-scatter", m, n, k // ranks, plain_reduce_scatter, async_reduce_scatter),
        ):
            a, b = random(rows, depth), random(depth, cols)
            expected, result = plain(a, b, group, ranks), fused(a, b, group, ranks)
            wrong = (expected.float() - result.float()).abs().max().item()
            entry = {"m": m, "n": n, "k": k, "operation": name, "largest_difference": wrong}
            for label, call in (("plain", plain), ("AsyncTP", fused)):
                one, many = milliseconds(lambda: call(a, b, group, ranks), arguments.rounds)
                entry[label] = {"ms": one, "ms_of_many": many}
            results.append(entry)
            if rank == 0:
                print(
                    f"{shape} {name}: plain {entry['plain']['ms']:.4f} ms "
                    f"({entry['plain']['ms_of_many']:.4f} of many), AsyncTP "
                    f"{entry['AsyncTP']['ms']:.4f} ({entry['AsyncTP']['ms_of_many']:.4f}), "
                    f"differ by {wrong:.3f}",
                    flush=True,
                )
    if rank == 0 and arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"torch": torch.__version__, "results": results}, file, indent=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
