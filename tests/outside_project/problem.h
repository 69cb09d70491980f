#pragma once
#include <ladder/gemm.h>

// A problem whose matrices are nowhere yet; the rows of A are aligned as most stages need them.
ladder::Gemm<float, float> small_problem();
