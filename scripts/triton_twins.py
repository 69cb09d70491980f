#!/usr/bin/env python3
import sys

from ladder.triton_twins import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
