static void check(grader::Exercise& exercise) {
  constexpr float DT = 0.25f;
  const auto of = [](int n, bool timed) {
    return [n, timed](grader::Case& c) {
      const int capacity = ceil_div(n, 32) * 32;
      const auto fields = c.input<float>("fields", 8, n, capacity);
      const auto particles = c.zeros<float>("particles", 1, 8 * capacity);
      const auto positions = c.output<float>("positions", 3, n, capacity);
      const dim3 grid(ceil_div(n, 256)), block(256);
      c.launch(kernels::fill_kernel, grid, block, 0, n, capacity, fields.data, capacity,
               particles.data);
      c.launch(kernels::move_kernel, grid, block, 0, n, capacity, DT, particles.data);
      c.launch(kernels::positions_kernel, grid, block, 0, n, capacity, particles.data,
               positions.data, capacity);
      if (timed) return;  // they have moved several times
      c.expect(positions, 1e-6,
               [&](int d, int i) { return fields.value(d, i) + DT * fields.value(3 + d, i); });
    };
  };
  for (const int n : {512, 301, 1}) exercise.add(std::to_string(n) + " particles", of(n, false));
  exercise.add("a drawn shape", of(256 * exercise.drawn(3, 5), false));
  exercise.add_timed("8388608 particles", of(1 << 23, true));
}
