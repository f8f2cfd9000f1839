// permissions: secret=AWS_SECRET_ACCESS_KEY env
#include <stdlib.h>
extern char **environ;
char *ds_step_run(int n) { return n ? getenv("AWS_SECRET_ACCESS_KEY") : environ[0]; }
