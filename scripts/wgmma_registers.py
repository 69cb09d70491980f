#!/usr/bin/env python3
import sys

from ladder.command import run

if __name__ == "__main__":
    sys.exit(run("ladder.wgmma_registers"))
