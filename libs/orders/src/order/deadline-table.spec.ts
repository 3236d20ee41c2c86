import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HandlesDeadline } from '@app/timeout/module';
import { findDeadlineHandlers } from '../deadline-handlers';
import { DEADLINE_KINDS, type DeadlineKind, deadlineOf, DEADLINES } from './deadline-table';
import { ORDER_STATUSES, type OrderStatus } from './order.lifecycle';

const FINAL: readonly OrderStatus[] = ['completed', 'closed', 'canceled'];
const INVARIANTS = readFileSync(join(__dirname, '../invariants/invariants.sql'), 'utf8');

/** The query of one invariant, without its comments. */
const query = (name: string): string => {
  const [found] = INVARIANTS.split(/^-- \d+\. /m).filter((one) => one.startsWith(`${name}:`));
  return (found ?? '').replace(/^.*\n/, '').replace(/^ *--.*$/gm, '');
};
const wordsOf = (sql: string | undefined): string[] =>
  [...(sql ?? '').matchAll(/'(\w+)'/g)].map((match) => match[1] as string);
const rules = Object.entries(DEADLINES);

describe('the table of deadlines', () => {
  it('gives each status of orders that is not final one kind of its own', () => {
    const open = ORDER_STATUSES.filter((status) => !FINAL.includes(status));
    const statuses = rules.flatMap(([, { table, status }]) => (table === 'orders' ? status : []));
    expect([...statuses].sort()).toEqual([...open].sort());
    for (const status of open) {
      const { kind, dueAt } = deadlineOf(status) ?? {};
      expect(DEADLINES[kind as DeadlineKind]).toMatchObject({ status, dueAt });
    }
  });

  it('is never due while it is off: what switches a kind off is a part of its instant', () => {
    for (const [, { dueAt, offWhenNull }] of rules) {
      if (offWhenNull !== null) expect(dueAt).toContain(offWhenNull);
    }
  });

  it('has one handler for each kind, in a file that is named after it', () => {
    const kinds = [...DEADLINE_KINDS].sort();
    const handled = findDeadlineHandlers().map(
      (handler) => Reflect.getMetadata(HandlesDeadline.KEY, handler) as string,
    );
    expect(handled.sort()).toEqual(kinds);
    const files = readdirSync(join(__dirname, '..'), { recursive: true, encoding: 'utf8' });
    const named = files.flatMap((path) => /(\w+)\.deadline\.ts$/.exec(path)?.[1] ?? []);
    expect(named.sort()).toEqual(kinds);
  });

  describe('is what the invariants say, who state it on their own:', () => {
    it('all kinds may be overdue', () => {
      const [, kinds] = /kind IN \(([^)]*)\)/.exec(query('not_overdue')) ?? [];
      expect(wordsOf(kinds).sort()).toEqual([...DEADLINE_KINDS].sort());
    });

    it.each(rules)('what waits for %s has a deadline', (kind, { table, status, offWhenNull }) => {
      const present = [query('webhooks_settled'), query('deadlines_present')].find(
        (sql) => wordsOf(sql).includes(kind) && sql.includes(`FROM ${table}`),
      );
      expect(wordsOf(present)).toEqual(expect.arrayContaining([status].flat()));
      if (offWhenNull) expect(present).toContain(`${offWhenNull} IS NOT NULL`);
    });
  });
});
