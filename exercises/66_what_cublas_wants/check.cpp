static void check(grader::Exercise& exercise) {
  struct Layout {
    const char* name;
    bool a_transposed, b_transposed, c_by_columns;
  };
  constexpr int M = 20, N = 12, K = 9;
  for (const Layout& l : {Layout{"NN", false, false, false}, Layout{"NT", false, true, false},
                          Layout{"TN", true, false, false}, Layout{"TT", true, true, false},
                          Layout{"NN, C by columns", false, false, true},
                          Layout{"TN, C by columns", true, false, true}})
    exercise.add(l.name, [l](grader::Case& c) {
      // A row is longer than what it has, by another number for each matrix.
      const auto matrix = [&](const char* name, int rows, int columns, bool transposed, int more) {
        return transposed ? c.input<float>(name, columns, rows, rows + more)
                          : c.input<float>(name, rows, columns, columns + more);
      };
      const auto A = matrix("A", M, K, l.a_transposed, 3), B = matrix("B", K, N, l.b_transposed, 5);
      const int rows = l.c_by_columns ? N : M, columns = l.c_by_columns ? M : N;
      const auto C = c.output<float>("C", rows, columns, columns + 1);
      const auto operand = [](const auto& matrix, bool transposed) {
        return kernels::Operand{matrix.data, static_cast<int>(matrix.ld), transposed};
      };
      c.launch(kernels::gemm_kernel, dim3(2, 2), dim3(16, 16), 0, M, N, K,
               operand(A, l.a_transposed), operand(B, l.b_transposed), C.data,
               static_cast<int>(C.ld), l.c_by_columns);
      c.expect(C, 1e-5, [=](int row, int column) {
        const int m = l.c_by_columns ? column : row, n = l.c_by_columns ? row : column;
        double sum = 0;
        for (int k = 0; k < K; ++k)
          sum += double{l.a_transposed ? A.value(k, m) : A.value(m, k)} *
                 (l.b_transposed ? B.value(n, k) : B.value(k, n));
        return sum;
      });
    });
}
