#include "cudnn.h"
#include "harness/program.h"

namespace ladder::attention_bench {

Variant cudnn(const Attention&) {
  throw harness::UsageError("--cudnn: this is built without it; cmake wants -DLADDER_CUDNN=ON");
}

}  // namespace ladder::attention_bench
