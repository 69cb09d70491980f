#include "22e_decode.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  using namespace ladder::decode;
  constexpr Way DIVIDED = Way::DIVIDED, UNDIVIDED = Way::UNDIVIDED;
  return ladder::attention_bench::run(
      "22e_decode",
      {{"undivided", attention<UNDIVIDED>, workspace_bytes<UNDIVIDED>},
       {"six_buffers", attention<DIVIDED, 6>, workspace_bytes<DIVIDED, 6>},
       {"decode", attention<>, workspace_bytes<>}},
      argc, argv);
}
