static void check(grader::Exercise& exercise) {
  const auto of = [](int n, int blocks, bool timed) {
    return [=](grader::Case& c) {
      const auto in = c.input<unsigned>(
          "in", 1, n, 0, [](uint64_t bits) { return static_cast<unsigned>(bits >> 56); });
      const auto counts = c.zeros<unsigned>("counts", 1, 256);
      c.launch(kernels::histogram_kernel, dim3(blocks), dim3(256), 0, n, in.data, counts.data);
      if (timed) return;  // it has been counted several times
      std::vector<double> expected(256, 0);
      for (int i = 0; i < n; ++i) ++expected[in(i)];
      c.expect(counts, 0, [&](int, int bin) { return expected[bin]; });
    };
  };
  exercise.add("8192", of(8192, 4, false));
  exercise.add("a drawn shape", of(1024 * exercise.drawn(9, 12), exercise.drawn(2, 4), false));
  exercise.add("5003", of(5003, 3, false));
  exercise.add("2", of(2, 2, false));
  exercise.add_timed("67108864", of(1 << 26, 1056, true));
}
