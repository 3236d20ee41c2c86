/**
 * What went wrong in somebody's surroundings is told in a sentence; a bug shows where it is.
 * @param {unknown} error
 */
export function describeFailure(error) {
  if (!(error instanceof Error)) return String(error);
  const isBug = [TypeError, ReferenceError, RangeError, SyntaxError].some(
    (bug) => error instanceof bug,
  );
  return isBug ? String(error.stack) : error.message;
}
