#pragma once
// scripts/ladder/planted.py includes it before a stage: with few multiprocessors small problems
// take more than one wave.
#include "cpu_device/block.h"

static const int FEW_MULTIPROCESSORS = cpu_device::settings().multiprocessors = 2;
