static void check(grader::Exercise& exercise) {
  const auto of = [](int lines) {
    return [lines](grader::Case& c) {
      const auto in = c.input<float>("in", lines, 32);
      const auto out = c.output<float>("out", lines, 32);
      c.launch(kernels::backwards_kernel, dim3(1), dim3(64), sizeof(kernels::Shared), lines,
               in.data, out.data);
      c.expect(out, 0, [&](int row, int column) { return in.value(row, 31 - column); });
    };
  };
  for (const int lines : {7, 1, 2, 5, 16})
    exercise.add(std::to_string(lines) + " lines", of(lines));
  exercise.add("a drawn shape", of(exercise.drawn(8, 15)));
}
