#pragma once
// Included before a stage by scripts/ladder/planted.py: few multiprocessors make small problems take
// more than one wave.
#include "cpu_device/block.h"

static const int FEW_MULTIPROCESSORS = cpu_device::settings().multiprocessors = 2;
