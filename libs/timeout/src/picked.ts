/**
 * That a row found by ctid is one of `picked`, as a ctid is unique in one partition only. In a CASE,
 * where it is looked up in a hash: as a condition of its own it may be planned as a join, which of
 * a table that was empty a minute ago is a loop over all rows for each of them. `$1` is the kind.
 */
export const IS_PICKED = `
  CASE WHEN kind = $1 THEN (due_at, subject_id) IN (SELECT due_at, subject_id FROM picked) END`;
