#include "cutlass.h"

namespace ladder::peers {

std::vector<CutlassChoice> cutlass_choices(const CutlassKernel& kernel, int M, int N, int K,
                                           int multiprocessors) {
  const int64_t tiles =
      int64_t{ceil_div(M, kernel.rows)} * static_cast<int64_t>(ceil_div(N, kernel.columns));
  // Never the fastest, and they would take the longest.
  constexpr int SMALL_TILE = 128 * 128 - 1, MANY_WAVES = 16;
  if (kernel.rows * kernel.columns <= SMALL_TILE && tiles > MANY_WAVES * multiprocessors) return {};
  if (kernel.for_unaligned_rows && N % 8 == 0 && K % 8 == 0) return {};

  std::vector<CutlassChoice> choices;
  for (const int swizzle : {1, 2, 4, 8})
    if (swizzle == 1 || tiles > multiprocessors)
      choices.push_back(
          {swizzle, kernel.stream_k ? CutlassChoice::WHOLE_TILES : CutlassChoice::HEURISTIC});
  if (!kernel.stream_k) return choices;
  choices.push_back({1, CutlassChoice::HEURISTIC});
  choices.push_back({1, CutlassChoice::STREAM_K});
  constexpr int STEP = 64, FEWEST_STEPS = 4;  // along K, and in a part of it
  for (const int parts : {2, 3, 4, 6, 8, 12, 16, 32, 64})
    if (ceil_div(K, STEP) / parts >= FEWEST_STEPS && tiles * parts <= 2 * multiprocessors)
      choices.push_back({1, CutlassChoice::SPLIT_K, parts});
  return choices;
}

std::string describe(const CutlassChoice& choice) {
  std::string text = choice.swizzle > 1 ? ", swizzle " + std::to_string(choice.swizzle) : "";
  if (choice.split == CutlassChoice::STREAM_K) text += ", all of K shared out";
  if (choice.split == CutlassChoice::WHOLE_TILES) text += ", whole tiles";
  if (choice.split == CutlassChoice::SPLIT_K) text += ", K in " + std::to_string(choice.parts);
  return text;
}

}  // namespace ladder::peers
