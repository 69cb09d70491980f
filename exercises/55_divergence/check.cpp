static void check(grader::Exercise& exercise) {
  constexpr int COEFFICIENTS = 64;
  const auto of = [](int n) {
    return [n](grader::Case& c) {
      const auto in = c.input<float>("in", 1, n);
      const auto a = c.input<float>("a", 1, COEFFICIENTS), b = c.input<float>("b", 1, COEFFICIENTS);
      const auto out = c.output<float>("out", 1, n);
      c.launch(kernels::correct_kernel, dim3(ceil_div(n, 256)), dim3(256), 0, n, in.data,
               reinterpret_cast<const float4*>(a.data), reinterpret_cast<const float4*>(b.data),
               out.data);
      c.expect(out, 1e-4, [&](int, int i) {
        const double x = in.value(0, i);
        double value = 0;
        for (int k = 0; k < COEFFICIENTS; ++k)
          value = i / 16 % 2 == 0 ? value * x + a.value(0, k) : value * b.value(0, k) + x;
        return value;
      });
    };
  };
  for (const int n : {4096, 1000, 5}) exercise.add(std::to_string(n) + " samples", of(n));
  exercise.add("a drawn shape", of(256 * exercise.drawn(17, 24)));
  exercise.add_timed("67108864 samples", of(1 << 26));
}
