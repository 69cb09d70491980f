static void check(grader::Exercise& exercise) {
  exercise.add("one warp", [](grader::Case& c) {
    const auto out = c.output<unsigned>("out", 16, 32);
    c.launch(kernels::pitches_kernel, dim3(1), dim3(32), 0, out.data);
    c.expect(out, 0, [&](int i, int lane) {  // register i % 4: two neighbours
      const int first = (i % 2 * 8 + lane / 4) * 16 + i % 4 / 2 * 8 + lane % 4 * 2;
      return static_cast<double>(first) + 65536.0 * (first + 1);
    });
  });
}
