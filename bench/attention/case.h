#pragma once
// A problem of attention: its data, what O has to be, and how far a right O may be from it.
#include <functional>
#include <string>
#include <vector>

#include "attention.cuh"
#include "harness/buffers.h"
#include "harness/data.h"
#include "harness/verify.h"

namespace ladder::attention_bench {

struct Shape {
  int batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 64;
  bool causal = false;
};

struct Variant {
  std::string name;
  std::function<void(const Attention&)> attention;
  std::function<uint64_t(const Attention&)> workspace_bytes{};
  // Whether weights are divided by their sum before they are rounded. What is divided last is exact
  // where weights are powers of two.
  bool divides_first = false;
};

// Where O is computed once more to be compared.
enum class Reference {
  HOST,    // in double
  DEVICE,  // in fp32, by a kernel that is slow and simple
};

// Of data there are two kinds. Random numbers have scores between -1000 and 1000, so that only a
// kernel that subtracts the maximum is right. Exact ones are small integers, with a scale that
// makes every weight a power of two: sums are exact, and a key that is left out is seen.
class Case {
 public:
  Case(const Shape& shape, harness::Data data, uint64_t seed, Reference reference, int sets = 1);

  // Set number i of the operands, with a workspace that is large enough for what is given.
  Attention problem(int i, cudaStream_t stream) const;
  void make_workspace(uint64_t bytes);
  // Runs the variant with every byte of O and of the workspace poisoned. "" or what is wrong.
  std::string check(const Variant& variant, cudaStream_t stream);

  // Beyond 2^24 sums of exact data are not exact.
  static constexpr int EXACT_MAX_KEYS = 1 << 14;
  static double bytes_per_set(const Shape& shape);
  // Two for each product and sum of both products, of the keys that are seen alone.
  static double flop(const Shape& shape);

 private:
  struct Set {
    harness::DeviceBuffer<bf16> Q, K, V, O;
  };
  void find_expected_on_host();
  void find_expected_on_device();

  Shape shape_;
  harness::Data data_;
  std::vector<bf16> Q_, K_, V_;
  harness::Output<bf16> expected_;
  std::vector<float> magnitudes_;  // the same sums of V's magnitudes, by rows
  std::vector<float> exponents_;   // of each row: what the error of a score is in proportion to
  std::vector<Set> sets_;
  std::optional<harness::Workspace> workspace_;
};

// expected and magnitudes: heads in all x queries x width floats in device memory.
void find_expected(const Attention& p, float* expected, float* magnitudes);

}  // namespace ladder::attention_bench
