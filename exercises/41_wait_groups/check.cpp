static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"128 x 64 x 256", 128, 64, 256},
                         Shape{"a drawn shape", 128, 64, 64 * exercise.drawn(5, 7)},
                         Shape{"128 x 64 x 128", 128, 64, 128}, Shape{"90 x 40 x 200", 90, 40, 200},
                         Shape{"1 x 8 x 8", 1, 8, 8}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto A = c.input<half>("A", s.M, s.K), B = c.input<half>("B", s.K, s.N);
      const auto C = c.output<float>("C", s.M, s.N, s.N + 3);
      c.launch(kernels::gemm_kernel, dim3(1), dim3(256), sizeof(kernels::Shared), s.M, s.N, s.K,
               ptx::tensor_map(A.data, s.M, s.K, s.K, 128),
               ptx::tensor_map(B.data, s.K, s.N, s.N, 64), C.data, s.N + 3);
      c.expect_product(C, A, B);
    });
}
