static void check(grader::Exercise& exercise) {
  constexpr int ROWS = 6, COLUMNS = 82, LD = 96;
  const auto add = [&](const char* name, auto kernel) {
    exercise.add(name, [kernel](grader::Case& c) {
      const auto in = c.input<float>("in", ROWS, COLUMNS, LD);
      const auto sums = c.output<float>("sums", 1, 32);
      c.launch(kernel, dim3(1), dim3(32), 0, ROWS, COLUMNS, in.data, LD, sums.data);
      c.expect(sums, 1e-5, [&](int, int lane) {
        double sum = 0;
        for (int row = 0; row < ROWS; ++row)
          for (int column = lane; column < COLUMNS; column += 32) sum += in.value(row, column);
        return sum;
      });
    });
  };
  add("wide", kernels::wide_kernel);
  add("narrow", kernels::narrow_kernel);
}
