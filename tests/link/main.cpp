// Two files that include every kernel header, in one program: it links when every function in the
// headers is a template, inline or static.
int first();
int second();

int main() {
  return first() == 1 && second() == 2 ? 0 : 1;
}
