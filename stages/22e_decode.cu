#include "22e_decode.cuh"
#include "attention/run.h"

int main(int argc, char** argv) {
  using namespace ladder::decode;
  constexpr Way DIVIDED = Way::DIVIDED, UNDIVIDED = Way::UNDIVIDED;
  return ladder::attention_bench::run(
      "22e_decode",
      {{"undivided", attention<UNDIVIDED>, workspace_bytes<UNDIVIDED>},
       {"two_buffers", attention<DIVIDED, 2>, workspace_bytes<DIVIDED, 2>},
       {"decode", attention<>, workspace_bytes<>}},
      argc, argv);
}
