// The problem is plain C++: this file knows no CUDA.
#include "problem.h"

ladder::Gemm<float, float> small_problem() {
  ladder::Gemm<float, float> p{};
  p.M = 33, p.N = 20, p.K = 5;
  p.lda = 8, p.ldb = 20, p.ldc = 20;
  return p;
}
