static void check(grader::Exercise& exercise) {
  const char* const names[] = {"neighbours", "column", "padded column", "every other",
                               "four rows",  "pairs",  "broadcast"};
  for (int pattern = 0; pattern < 7; ++pattern)
    exercise.add(names[pattern], [pattern](grader::Case& c) {
      const auto in = c.input<float>("in", 1, 32 * 33);
      const auto out = c.output<float>("out", 1, 32);
      c.launch(kernels::patterns_kernel, dim3(1), dim3(32), 0, pattern, in.data, out.data);
      c.expect(out, 0, [&](int, int lane) {
        const int words[] = {160 + lane,
                             lane * 32 + 5,
                             lane * 33 + 5,
                             lane * 2,
                             lane / 8 * 32 + lane % 8,
                             lane / 2 * 32,
                             40};
        return in.value(0, words[pattern]);
      });
    });
}
