static void check(grader::Exercise& exercise) {
  struct Problem {
    const char* name;
    int M, N, K;
    bool unit_matrix;  // A: then C is W
  };
  const int rows = exercise.drawn(8, 16), columns = 32 * exercise.drawn(1, 3);
  for (const Problem& p :
       {Problem{"A the unit matrix, 256 x 32 x 256", 256, 32, 256, true},
        Problem{"a drawn shape", rows, columns, 128 * exercise.drawn(2, 4), false},
        Problem{"4 x 32 x 128", 4, 32, 128, false}, Problem{"5 x 40 x 96", 5, 40, 96, false},
        Problem{"9 x 33 x 416", 9, 33, 416, false}, Problem{"1 x 1 x 32", 1, 1, 32, false}})
    exercise.add(p.name, [p](grader::Case& c) {
      // Small whole numbers of A and eighths as scales: all sums are exact.
      const auto draw_a = [](uint64_t bits) {
        return __float2half(static_cast<float>(bits % 9) - 4);
      };
      const auto of_unit = [](int m, int k) { return __float2half(m == k ? 1.0f : 0.0f); };
      // Those of neighbouring groups differ.
      const auto of_group = [](int group, int n) {
        return static_cast<float>(1 + (4 * group + n) % 15) * 0.125f;
      };
      // Odd numbers: none of them is 8, which stands for zero.
      const auto draw_words = [](uint64_t bits) {
        const auto word = [bits](int shift) {
          return static_cast<uint32_t>(bits >> shift) | 0x11111111u;
        };
        return make_uint4(word(0), word(32), word(7), word(23));
      };
      const auto A = p.unit_matrix ? c.input_of<half>("A", p.M, p.K, of_unit)
                                   : c.input<half>("A", p.M, p.K, 0, draw_a);
      const auto numbers = c.input<uint4>("numbers", p.K / 32, p.N, 0, draw_words);
      const auto scales = c.input_of<float>("scales", ceil_div(p.K, 128), p.N, of_group);
      const auto C = c.output<float>("C", p.M, p.N);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(p.N, 32), ceil_div(p.M, 4)), dim3(32, 4), 0, p.M,
               p.N, p.K, A.data, numbers.data, scales.data, C.data);
      c.expect(C, 0, [&](int m, int n) {
        double sum = 0;
        for (int k = 0; k < p.K; ++k) {
          const uint4 words = numbers(k / 32, n);
          const uint32_t word = k % 32 < 8    ? words.x
                                : k % 32 < 16 ? words.y
                                : k % 32 < 24 ? words.z
                                              : words.w;
          const int number = static_cast<int>(word >> 4 * (k % 8) & 15) - 8;
          sum += A.value(m, k) * number * double{scales(k / 128, n)};
        }
        return sum;
      });
    });
}
