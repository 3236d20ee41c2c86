// What a server that we start may know of its launcher's environment: a secret in there could be
// read by whoever may run a program in the server, and is none of its business.
const ALLOWED =
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|TMP|TEMP|LANG|LC_\w+|TZ|LD_LIBRARY_PATH|SystemRoot)$/;

/** @param {NodeJS.ProcessEnv} [env] */
export function serverEnvironment(env = process.env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => ALLOWED.test(name)));
}
