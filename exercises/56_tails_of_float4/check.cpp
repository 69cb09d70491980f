static void check(grader::Exercise& exercise) {
  const auto of = [](int n) {
    return [n](grader::Case& c) {
      constexpr float FACTOR = 2.5f;
      const auto in = c.input<float>("in", 1, n);
      const auto out = c.output<float>("out", 1, n);
      c.launch(kernels::scale_kernel, dim3(ceil_div(ceil_div(n, 4), 256)), dim3(256), 0, n, FACTOR,
               in.data, out.data);
      c.expect(out, 1e-6, [&](int, int i) { return FACTOR * in.value(0, i); });
    };
  };
  for (const int n : {4096, 4099, 1026, 1001, 3}) exercise.add(std::to_string(n), of(n));
  exercise.add("a drawn shape", of(1024 * exercise.drawn(5, 8)));
  exercise.add_timed("67108864", of(1 << 26));
}
