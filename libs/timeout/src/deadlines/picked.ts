/** What a row is found by, for {@link IS_PICKED}, of those that are `picked`. */
export const PLACE = 'ctid AS place, tableoid AS part, due_at, subject_id';

/**
 * That a row found by ctid is one of `picked`, as a ctid is unique in one table only. All of them are
 * in the same, nearly always, which each row is asked cheaply; where deadlines are partitioned further it is
 * looked up by its key in a hash. In a CASE: as a condition of its own that may be planned as a join, which
 * of a table that was empty a minute ago is a loop over all rows for each of them. `$1` is the kind.
 */
export const IS_PICKED = `coalesce(
  tableoid = (SELECT CASE WHEN min(part) = max(part) THEN min(part) END FROM picked),
  CASE WHEN kind = $1 THEN (due_at, subject_id) IN (SELECT due_at, subject_id FROM picked) END)`;
