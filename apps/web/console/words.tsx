import { moneyText } from '@app/pages';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

export const money = (amount: number, currency: string): string =>
  moneyText(amount, currency, navigator.language);

const RELATIVE = new Intl.RelativeTimeFormat(navigator.language, { numeric: 'auto' });
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** An instant, and how far away it is; the exact one on hovering. */
export function Instant({ at }: { at: string | null }) {
  if (at === null) return <>–</>;
  const seconds = (Date.parse(at) - Date.now()) / 1_000;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  return (
    <time dateTime={at} title={at}>
      {RELATIVE.format(Math.round(seconds / length), unit)}
    </time>
  );
}

/** An id that is short to read and whole to copy. */
export function Id({ id, href }: { id: string; href?: string }) {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(id);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), 2_000);
  };
  const short = <code title={id}>{id.slice(-12)}</code>;
  return (
    <span class="id">
      {href === undefined ? short : <a href={href}>{short}</a>}
      <button type="button" class="bare" aria-label={`Copy ${id}`} onClick={() => void copy()}>
        {isCopied.value ? 'copied' : 'copy'}
      </button>
    </span>
  );
}

export function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Failure({ text }: { text: string }) {
  return text ? (
    <p role="alert" class="failure">
      {text}
    </p>
  ) : null;
}

export const millis = (ms: number): string =>
  ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1_000)} s`;

/** "1 payment", "2 payments". */
export const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;
