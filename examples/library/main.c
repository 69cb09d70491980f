/* C = relu(A * B + bias) in fp16 by the C interface, with a plan that is kept. Numbers of 16 bits
   are written as their bits, for C has no such type. */
#include <cuda_runtime_api.h>
#include <ladder/ladder.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 512, N = 1024, K = 256 };
enum { HALF_OF_1 = 0x3800, QUARTER_OF_1 = 0x3400, MINUS_31 = 0xCFC0, ONE = 0x3C00 };

static void require(int is_so, const char* what) {
  if (is_so) return;
  puts(what);
  exit(1);
}
static void require_ok(ladder_status status) {
  require(status == LADDER_OK, ladder_last_error());
}

/* `count` numbers in device memory, all of them `bits`. */
static void* on_device(size_t count, uint16_t bits) {
  uint16_t* const numbers = malloc(count * sizeof *numbers);
  void* memory = NULL;
  require(numbers && cudaMalloc(&memory, count * sizeof *numbers) == cudaSuccess, "no memory");
  for (size_t i = 0; i < count; ++i) numbers[i] = bits;
  cudaMemcpy(memory, numbers, count * sizeof *numbers, cudaMemcpyHostToDevice);
  free(numbers);
  return memory;
}

/* Exit code: 0 the product is right, 1 it is not, 77 there is no GPU. */
int main(void) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    puts("no GPU");
    return 77;
  }
  void *const A = on_device(M * K, HALF_OF_1), *const B = on_device(K * N, QUARTER_OF_1),
              *const C = on_device(M * N, 0);

  ladder_problem problem;
  ladder_problem_init(&problem);
  problem.type = LADDER_FP16;
  problem.M = M, problem.N = N, problem.K = K;
  problem.lda = K, problem.ldb = N, problem.ldc = N;
  problem.bias = on_device(N, MINUS_31);
  problem.activation = LADDER_RELU;

  char why[4096];
  require_ok(ladder_explain(&problem, why, sizeof why));
  ladder_plan* plan = NULL;
  uint64_t bytes = 0;
  require_ok(ladder_plan_create(&problem, &plan));
  require_ok(ladder_plan_workspace_bytes(plan, &bytes));
  void* workspace = NULL;
  require(bytes == 0 || cudaMalloc(&workspace, bytes) == cudaSuccess, "no memory");
  require_ok(ladder_plan_run(plan, A, B, C, NULL, workspace));

  uint16_t last = 0;
  cudaMemcpy(&last, (uint16_t*)C + (M * N - 1), sizeof last, cudaMemcpyDeviceToHost);
  ladder_plan_destroy(plan);
  printf("%srelu(256 * 0.5 * 0.25 - 31) is 0x%x, which is %s\n", why, last,
         last == ONE ? "1" : "wrong");
  return last == ONE ? 0 : 1;
}
