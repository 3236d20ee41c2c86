import { Flags } from '@oclif/core';
import type { Check, Config } from '@app/orders';
import { EXIT } from '../exit-code';
import { OpsCommand } from '../ops-command';
import { paint } from '../text/paint';
import { table } from '../text/table';
import { countText } from '../text/wording';

export interface DoctorResult {
  readonly findings: number;
  readonly warnings: number;
  readonly checks: readonly Check[];
}

export default class Doctor extends OpsCommand {
  static override summary =
    'Look at every dependency, setting and invariant; say how to mend what is wrong';
  static override description =
    'Changes nothing. Exit code 7 when there is a finding, 6 when a dependency is down; a warning is none.';
  static override examples = ['<%= config.bin %> doctor', '<%= config.bin %> doctor --json'];
  static override flags = {
    'whole-history': Flags.boolean({
      description: 'verify every seal of the history, not only the newest 200,000 rows',
    }),
  };

  async run(): Promise<DoctorResult> {
    const { flags } = await this.parse(Doctor);
    const core = await import('@app/orders');
    const env = await this.environment();
    const seen = core.loadConfigFor('look', env);
    const isHost = await core.hasDeadlinesAlone(seen);
    const outside = isHost
      ? await core.examinePostgres(seen)
      : await core.examineDependencies(await this.#settings(env));
    const canGoOn = outside.every(({ area, state }) => area !== 'postgres' || state !== 'unknown');
    // Migrations only add: what a newer version has made is a warning, and hides nothing.
    const isMigrated = outside.some(
      ({ name, state }) => name === 'migrations' && (state === 'ok' || state === 'warning'),
    );
    const inside =
      canGoOn && isMigrated ? await this.#examineWhatCanBe(flags['whole-history']) : [];
    const checks = [...outside, ...inside];
    const warnings = checks.filter(({ state }) => state === 'warning').length;
    const findings = checks.filter(({ state }) => state !== 'ok').length - warnings;
    this.log(describe({ findings, warnings, checks }));
    if (inside.length === 0 && !isHost)
      this.note('The rest was not looked at: it needs Postgres, migrated');
    if (findings > 0) this.endWith(checks.some(isDown) ? EXIT.dependencyDown : EXIT.findings);
    return { findings, warnings, checks };
  }

  /** What the processes run with; while Postgres is down nobody tells, and the environment counts. */
  async #settings(env: NodeJS.ProcessEnv): Promise<Config> {
    const { ConfigError, loadConfigFor } = await import('@app/orders/look');
    const { effectiveSettings } = await import('../effective-settings.js');
    try {
      return (await effectiveSettings('change', env, () => undefined)).config;
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      return loadConfigFor('change', env);
    }
  }

  /** Somebody may have locked what is read before all else, as the list of processes is. */
  async #examineWhatCanBe(wholeHistory: boolean): Promise<Check[]> {
    try {
      return await this.#examineInstallation(wholeHistory);
    } catch (error) {
      const { isTableLocked } = await import('@app/timeout');
      if (!isTableLocked(error)) throw error;
      const { unseen } = await import('@app/orders');
      return [unseen('workers', 'alive', error)];
    }
  }

  async #examineInstallation(wholeHistory: boolean): Promise<Check[]> {
    const { examineHooks, examineProcesses } = await import('@app/orders');
    const { dataSource, examine, running } = await this.installation();
    const { hasHooks, providers } = running.host;
    // Else the command itself would refuse it.
    const canSweep = !hasHooks && providers.length === 0;
    return [
      examineProcesses(running),
      ...(await examineHooks(dataSource, running)),
      ...(await examine.run({
        ...{ wholeHistory, canSweep },
        tellOfSlow: (what) => this.note(`Still looking: ${what}`),
      })),
    ];
  }
}

/** Postgres, Redis (of a cluster no node) or a provider did not answer. */
const isDown = ({ name, state }: Check): boolean =>
  state === 'unknown' && name.endsWith('reachable');

function describe({ findings, warnings, checks }: DoctorResult): string {
  const rows = table(checks, [
    { title: '', value: ({ state }) => MARKS[state] },
    { title: 'AREA', value: ({ area }) => area },
    { title: 'CHECK', value: ({ name }) => name },
    { title: 'HOW IT IS', value: ({ detail }) => detail },
  ]);
  const fixes = checks
    .filter(({ state }) => state !== 'ok')
    .map(({ area, name, fix }) => `  ${area} ${name}: ${fix ?? 'look closer'}`);
  const found = findings === 0 ? 'No findings' : countText(findings, 'finding');
  const title = findings === 0 ? paint.good(found) : paint.bad(found);
  if (fixes.length === 0) return `${rows}\n\n${title}`;
  const warned = warnings === 0 ? '' : `, ${paint.notable(countText(warnings, 'warning'))}`;
  return `${rows}\n\n${title}${warned}; how to mend:\n${fixes.join('\n')}`;
}

const MARKS: Readonly<Record<Check['state'], string>> = {
  ok: paint.good('ok'),
  warning: paint.notable('!'),
  finding: paint.bad('BAD'),
  unknown: paint.notable('?'),
};
