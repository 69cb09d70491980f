#include "04c_warp_tiled.cuh"
#include "stage.h"

int main(int argc, char** argv) {
  return ladder::harness::run<float, float>(ladder::STAGE,
                                            {
                                                {"row_by_row", ladder::warp_tiled::gemm_row_by_row},
                                                {"checked", ladder::warp_tiled::gemm_checked},
                                                {"not_ahead", ladder::warp_tiled::gemm_not_ahead},
                                                {"warp_tiled", ladder::warp_tiled::gemm},
                                            },
                                            argc, argv);
}
