static void check(grader::Exercise& exercise) {
  struct Problem {
    const char* name;
    int M, N, K;
    int zero_A, zero_B, zero_C;
    float factor;  // a power of two: nothing is rounded but once
    int reach;     // integers are that far from their zero at most, where 8 bits go so far
  };
  for (const Problem& p :
       {Problem{"64 x 64 x 16, many halves", 64, 64, 16, -3, 50, 9, 0.5f, 2},
        Problem{"64 x 64 x 192", 64, 64, 192, -20, 7, 3, 0x1p-10f, 255},
        Problem{"a drawn shape", 64, 64, 32 * exercise.drawn(2, 5), -20, 7, 3, 0x1p-10f, 255},
        Problem{"64 x 64 x 96, zero at -128", 64, 64, 96, 33, -5, -128, 0x1p-9f, 255},
        Problem{"41 x 23 x 80", 41, 23, 80, 100, -90, 0, 0x1p-11f, 255},
        Problem{"64 x 64 x 128, zero at 0", 64, 64, 128, 0, 0, 0, 0x1p-9f, 255},
        Problem{"1 x 1 x 16", 1, 1, 16, 12, 12, 12, 0x1p-7f, 60}})
    exercise.add(p.name, [p](grader::Case& c) {
      const auto draw = [p](int zero) {
        return [zero, p](uint64_t bits) {
          const int least = std::max(-128, zero - p.reach), most = std::min(127, zero + p.reach);
          return static_cast<int8_t>(least + static_cast<int>(bits % (most - least + 1)));
        };
      };
      const auto A = c.input<int8_t>("A", p.M, p.K, 0, draw(p.zero_A));
      const auto B = c.input<int8_t>("B", p.N, p.K, 0, draw(p.zero_B));
      const auto sum_of_row = [](const grader::Matrix<int8_t>& matrix, int row) {
        int sum = 0;
        for (int k = 0; k < matrix.columns; ++k) sum += matrix(row, k);
        return sum;
      };
      const auto of_A =
          c.input_of<int>("row_sums_A", 1, p.M, [&](int, int row) { return sum_of_row(A, row); });
      const auto of_B = c.input_of<int>("column_sums_B", 1, p.N,
                                        [&](int, int column) { return sum_of_row(B, column); });
      const auto C = c.output<int8_t>("C", p.M, p.N);
      c.launch(kernels::gemm_kernel, dim3(1), dim3(128), sizeof(kernels::Shared), p.M, p.N, p.K,
               ptx::tensor_map(A.data, p.M, p.K, p.K, 64),
               ptx::tensor_map(B.data, p.N, p.K, p.K, 64),
               kernels::Quantisation{p.zero_A, p.zero_B, p.zero_C, p.factor, of_A.data, of_B.data},
               C.data);
      c.expect(C, 0, [&](int row, int column) {
        int sum = 0;
        for (int k = 0; k < p.K; ++k) sum += (A(row, k) - p.zero_A) * (B(column, k) - p.zero_B);
        const double rounded = std::nearbyint(double{p.factor} * sum) + p.zero_C;
        return std::max(-128.0, std::min(127.0, rounded));
      });
    });
}
