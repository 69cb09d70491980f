// Products of e4m3 with factors of rows and columns, and with sums in fp32.
#include "../scaled.cuh"

namespace ladder::scaled {

void gemm(const Problem& p, Adds adds) {
  gemm_as(chosen(p, adds), p);
}
std::string tile(const Problem& p, Adds adds) {
  const Configuration& c = chosen(p, adds);
  return std::to_string(c.BM) + "x" + std::to_string(c.BN);
}

}  // namespace ladder::scaled
