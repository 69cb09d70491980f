#!/usr/bin/env python3
import sys

from ladder.wgmma_registers import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
