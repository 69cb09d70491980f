static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"32 x 128 x 32", 32, 128, 32},
                         Shape{"a drawn shape", 16 * exercise.drawn(1, 3),
                               64 * exercise.drawn(1, 3), 32 * exercise.drawn(2, 3)},
                         Shape{"16 x 64 x 80", 16, 64, 80}, Shape{"21 x 72 x 40", 21, 72, 40},
                         Shape{"1 x 8 x 5", 1, 8, 5}})
    exercise.add(s.name, [s](grader::Case& c) {
      // Every other bias is about 20, and every other residual about -20: what is rounded between
      // the two is off by up to 2^-7, and the result is small.
      const auto around = [](int far) {
        return [far](uint64_t bits) {
          return grader::uniform<float>(bits) + static_cast<float>(bits % 2 ? far : 0);
        };
      };
      const auto A = c.input<half>("A", s.M, s.K), B = c.input<half>("B", s.K, s.N);
      const auto bias = c.input<float>("bias", 1, s.N, 0, around(20));
      const auto residual =
          c.input<half>("residual", s.M, s.N, 0,
                        [draw = around(-20)](uint64_t bits) { return __float2half(draw(bits)); });
      const auto C = c.output<half>("C", s.M, s.N);
      c.launch(kernels::layer_kernel, dim3(ceil_div(s.N, 64), ceil_div(s.M, 16)), dim3(32), 0, s.M,
               s.N, s.K, A.data, B.data, bias.data, residual.data, C.data);
      c.expect(C, 1.1 * 0x1p-11, [&](int row, int column) {
        double x = bias.value(0, column);
        for (int k = 0; k < s.K; ++k) x += A.value(row, k) * B.value(k, column);
        const double gelu = x / 2 * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
        return gelu + residual.value(row, column);
      });
    });
}
