import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { WAIT_NAMES, type WaitName, WAITS } from '@app/orders';
import { createLogger } from '../apps/api/src/logging/logger';
import { PrometheusTelemetry } from '../apps/api/src/metrics/prometheus-telemetry';

// That each alert fires when it should is tested by promtool (alerts.test.yaml, .ci/alert-rules);
// here, that what it watches is exported, and that somebody who is woken up finds what to do.

const project = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');
// Nest's OpenAPI module parses YAML, and so do we with what it brings.
const { load } = createRequire(require.resolve('@nestjs/swagger'))('js-yaml') as {
  load(text: string): unknown;
};

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
interface AlertTests {
  readonly tests: readonly {
    readonly input_series: readonly { readonly series: string }[];
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}
interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly description?: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
}

const { groups } = load(read('docker/prometheus/alerts.yaml')) as {
  groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const { tests } = load(read('docker/prometheus/alerts.test.yaml')) as AlertTests;
const dashboard = JSON.parse(read('docker/grafana/lastcall.json')) as Dashboard;
const panelQueries = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) => expr),
);

/** Every series name the application exports, with the labels it can have. */
async function exported(): Promise<Map<string, readonly string[]>> {
  const { registry } = new PrometheusTelemetry(createLogger('silent'), 10_000);
  const names = new Map<string, readonly string[]>();
  for (const { name, type } of await registry.getMetricsAsJSON()) {
    const { labelNames = [] } = registry.getSingleMetric(name) as unknown as {
      labelNames?: readonly string[];
    };
    if (String(type) !== 'histogram') names.set(name, labelNames);
    else {
      names.set(`${name}_bucket`, [...labelNames, 'le']);
      for (const part of ['sum', 'count']) names.set(`${name}_${part}`, labelNames);
    }
  }
  return names;
}

interface Selector {
  readonly name: string;
  readonly labels: readonly string[];
}

function selectorsIn(query: string): Selector[] {
  return [...query.matchAll(/\b((?:lastcall|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name,
      labels: [...matchers.matchAll(/(\w+)\s*[=!]~?"/g)].map(([, label = '']) => label),
    }),
  );
}

/** Given by Prometheus, and not by us. */
const BY_PROMETHEUS = ['job', 'instance'];

async function unknownIn(queries: readonly string[]): Promise<string[]> {
  const known = await exported();
  return queries.flatMap(selectorsIn).flatMap(({ name, labels }) => {
    const own = known.get(name);
    if (!own) return [name];
    return labels
      .filter((label) => !own.includes(label) && !BY_PROMETHEUS.includes(label))
      .map((label) => `${name}{${label}}`);
  });
}

/** As GitHub makes them. */
const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(' ', '-');
/** `LastcallSweepSilent` is about "Sweep silent". */
const headingOf = (alert: string): string =>
  alert.replace('Lastcall', '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** The runbook's table of what may wait for a person. */
const waits = [
  ...read('docs/runbook.md').matchAll(
    /^\| `(\w+)` +\|[^|]+\| ([^|]+?) +\| \[[^\]]+\]\(#([\w-]+)\) +\|[^|]+\| ([^|]+?) +\|$/gm,
  ),
].map(([, what = '', greatestAge, section, exit = '']) => ({ what, greatestAge, section, exit }));

describe('what may wait for a person', () => {
  const sectionOf = (anchor: string | undefined): string =>
    read('docs/runbook.md')
      .split(/^## /m)
      .find((text) => anchorOf(text.split('\n', 1)[0] ?? '') === anchor) ?? '';

  it('is in the runbook, with its greatest age', () => {
    const told = waits.map(({ what, greatestAge }) => [what, greatestAge]);
    const known = WAIT_NAMES.map((what) => [what, WAITS[what].greatestAge]);
    expect(told).toEqual(known);
  });

  it('has an alert that watches it', () => {
    for (const { what, section } of waits) {
      const rule = rules.find(({ alert }) => anchorOf(headingOf(alert)) === section);
      expect({ what, watched: WATCHED[what]?.test(rule?.expr ?? '') }).toEqual({
        ...{ what, watched: true },
      });
    }
  });

  it('has commands that end it, in the section of its alert, where a test runs them', () => {
    for (const { what, section, exit } of waits) {
      const commands = [...exit.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command);
      expect({ what, commands: commands.length > 0 }).toEqual({ what, commands: true });
      for (const command of commands) {
        expect(sectionOf(section)).toContain(`npx lastcall ${command} `.trimEnd());
      }
      expect(WAITS[what as WaitName].exit).toContain(commands[0]);
    }
  });
});

/** What the expression of its alert has to look at. */
const WATCHED: Readonly<Record<string, RegExp>> = {
  closing: /lastcall_oldest_closing_seconds/,
  payment_unended: /lastcall_oldest_wait_seconds\{what="payment_unended"/,
  payment_on_hold: /lastcall_on_hold\{what=~"payments\|/,
  webhook_held: /lastcall_on_hold\{what=~"[^"]*webhooks/,
  deadline_held: /lastcall_on_hold\{what="deadlines"/,
  refund_unsent: /lastcall_oldest_unsent_refund_seconds/,
  refund_pending: /lastcall_oldest_wait_seconds\{what="refund_pending"/,
  refund_in_attention: /lastcall_refunds\{status="needs_attention"/,
  webhook_endpoint_off: /lastcall_waiting\{what="webhook_endpoint_off"/,
  delivery_dead: /lastcall_waiting\{what="delivery_dead"/,
  dispute: /lastcall_waiting\{what="dispute"/,
};

describe('alerts', () => {
  it('watch what is exported', async () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.filter(({ expr }) => selectorsIn(expr).length === 0)).toEqual([]);
    expect(await unknownIn(rules.map(({ expr }) => expr))).toEqual([]);
  });

  it('are tested with what is exported, firing and quiet', async () => {
    const series = tests.flatMap(({ input_series }) => input_series.map((one) => one.series));
    expect(await unknownIn(series)).toEqual([]);
    const outcomes = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of rules) {
      const own = outcomes.filter(({ alertname }) => alertname === alert);
      const fired = new Set(own.map(({ exp_alerts }) => exp_alerts.length > 0));
      expect({ alert, fired }).toEqual({ alert, fired: new Set([true, false]) });
    }
  });

  it('say how urgent they are, what is wrong, and where it says what to do', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(['page', 'ticket']).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(20);
      expect(annotations.runbook_url).toBe(`docs/runbook.md#${anchorOf(headingOf(alert))}`);
    }
  });

  it('have a section each in the runbook, which has no others', () => {
    const [, ...sections] = read('docs/runbook.md').split(/^## /m);
    const alerts = sections.filter((text) => text.includes('**It means**'));
    const headings = alerts.map((text) => text.split('\n', 1)[0]);
    expect(headings).toEqual(rules.map(({ alert }) => headingOf(alert)));
    for (const text of alerts) {
      expect(text).toMatch(/\*\*It means\*\*[^]+\*\*First look\*\*[^]+\*\*What to do\*\*/);
      expect(text).toContain('```bash\nnpx lastcall ');
    }
  });
});

describe('the dashboard', () => {
  it('shows what is exported', async () => {
    const variables = dashboard.templating.list.map(({ query }) => query);
    expect(panelQueries.length).toBeGreaterThan(20);
    expect(await unknownIn([...panelQueries, ...variables])).toEqual([]);
  });

  it('shows all of ours', async () => {
    const shown = new Set(panelQueries.flatMap(selectorsIn).map(({ name }) => name));
    const base = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
    const shownBases = new Set([...shown].map(base));
    const own = [...(await exported()).keys()].filter((name) => name.startsWith('lastcall_'));
    expect([...new Set(own.map(base))].filter((name) => !shownBases.has(name))).toEqual([]);
  });

  it('has a number and words for each panel', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const silent = dashboard.panels.filter(({ targets, description }) => targets && !description);
    expect(silent.map(({ title }) => title)).toEqual([]);
  });
});
