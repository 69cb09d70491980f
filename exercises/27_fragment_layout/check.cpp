static void check(grader::Exercise& exercise) {
  exercise.add("one warp", [](grader::Case& c) {
    const auto to = [&](const char* name) { return c.zeros<float>(name, 1, 256).data; };
    c.launch(kernels::holders_kernel, dim3(1), dim3(32), 0, to("a_lane"), to("a_register"),
             to("b_lane"), to("b_register"), to("c_lane"), to("c_float"));
  });
}
