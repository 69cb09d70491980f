#include "best.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "timer.h"

namespace ladder::harness {
namespace {

// Rounds and survivors of each pass.
constexpr int FIRST_ROUNDS = 2, SECOND_ROUNDS = 5, LAST_ROUNDS = 20;
constexpr size_t AFTER_FIRST = 16, FINALISTS = 3;

template <class In, class Out>
struct Candidate {
  int number;
  Variant<In, Out> variant;
};

// The candidates by the time that they take beside each other, the fastest first. Of few launches
// the shortest says most: p10, not the median.
template <class In, class Out>
std::vector<Candidate<In, Out>> fastest_first(const std::vector<Candidate<In, Out>>& candidates,
                                              const BufferSets<In, Out>& sets, int rounds,
                                              cudaStream_t stream) {
  if (candidates.empty()) return {};
  std::vector<LaunchOn> launches;
  for (const auto& candidate : candidates)
    launches.push_back(sets.launches(candidate.variant, stream));
  const std::vector<Timing> times =
      time_interleaved(launches, {sets.count(), /*warmup*/ 1, rounds}, stream);
  std::vector<size_t> order(candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto time = [&](size_t i) { return rounds < LAST_ROUNDS ? times[i].p10 : times[i].median; };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return time(i) < time(j); });
  std::vector<Candidate<In, Out>> sorted;
  for (const size_t i : order) sorted.push_back(candidates[i]);
  return sorted;
}

}  // namespace

template <class In, class Out>
Best<In, Out> find_best(BufferSets<In, Out>& sets, const Output<Out>* reference, const Bound& bound,
                        cudaStream_t stream, Sums sums) {
  using Variants = std::vector<Candidate<In, Out>>;
  const auto cublaslt = std::make_shared<const CublasLt<In, Out>>(sets.gemm(0, stream), sums);
  Best<In, Out> best;
  best.facts.algorithms = cublaslt->algorithms();
  if (!cublaslt->missing().empty()) best.facts.left_out.push_back("all: " + cublaslt->missing());
  const auto name = [&](const Candidate<In, Out>& candidate) {
    return fmt::format("#{} ({})", candidate.number, cublaslt->describe(candidate.number));
  };
  const auto leave_out = [&](const Candidate<In, Out>& candidate, const std::string& why) {
    best.facts.left_out.push_back(name(candidate) + ": " + why);
  };

  Variants candidates;  // those that can be launched
  for (int i = 0; i < cublaslt->algorithms(); ++i) {
    const Candidate<In, Out> candidate{
        i,
        {"cublasLt", [=](const Gemm<In, Out>& p) { cublaslt->gemm(i, p); },
         any_of_cublaslt<In, Out>().workspace_bytes}};
    try {
      candidate.variant.gemm(sets.gemm(0, stream, candidate.variant));
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
      candidates.push_back(candidate);
    } catch (const CudaError& error) {
      leave_out(candidate, error.what());
    }
  }
  candidates = fastest_first(candidates, sets, FIRST_ROUNDS, stream);
  if (candidates.size() > AFTER_FIRST)
    candidates.erase(candidates.begin() + AFTER_FIRST, candidates.end());

  Variants right;
  for (const auto& candidate : fastest_first(candidates, sets, SECOND_ROUNDS, stream)) {
    if (right.size() == FINALISTS) break;
    if (reference != nullptr) {
      const Verdict verdict =
          verify(sets.run_poisoned(candidate.variant, stream), *reference, bound);
      if (!verdict.ok) {
        leave_out(candidate, verdict.message);
        continue;
      }
    }
    right.push_back(candidate);
  }
  right = fastest_first(right, sets, LAST_ROUNDS, stream);
  if (right.empty()) return best;
  best.facts.algorithm = name(right.front());
  best.variant = right.front().variant;
  return best;
}

#define INSTANTIATE(In, Out, Accumulate)                                                   \
  template Best<In, Out> find_best(BufferSets<In, Out>&, const Output<Out>*, const Bound&, \
                                   cudaStream_t, Sums);
LADDER_FORMATS(INSTANTIATE)

}  // namespace ladder::harness
