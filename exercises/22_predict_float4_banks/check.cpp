static void check(grader::Exercise& exercise) {
  struct Pattern {
    const char* name;
    int pitch, lanes;
  };
  for (const Pattern& p : {Pattern{"rows of 4", 4, 1}, Pattern{"rows of 32", 32, 1},
                           Pattern{"rows of 36", 36, 1}, Pattern{"rows of 40", 40, 1},
                           Pattern{"pairs of 36", 36, 2}, Pattern{"all the same", 4, 32}})
    exercise.add(p.name, [p](grader::Case& c) {
      const auto in = c.input<float>("in", 1, kernels::FLOATS);
      const auto out = c.output<float>("out", 1, 32);
      c.launch(kernels::quads_kernel, dim3(1), dim3(32), 0, in.data, out.data, p.pitch, p.lanes);
      c.expect(out, 1e-5, [&](int, int lane) {
        double sum = 0;
        for (int i = 0; i < 4; ++i) sum += in.value(0, lane / p.lanes * p.pitch + i);
        return sum;
      });
    });
}
