import { signal } from '@preact/signals';
import { render } from 'preact';
import { useRef } from 'preact/hooks';
import { ask, Refused } from '../shared/ask';
import { ActionDialog } from './action';
import { AuditView } from './audit-view';
import { place } from './location';
import { NowView } from './now-view';
import { OrderView } from './order-view';
import { OrdersView } from './orders-view';
import { REFRESH_CHOICES, refreshSeconds } from './refreshed';
import { SessionsView } from './sessions-view';
import { WorkView } from './work-view';

interface Session {
  readonly actor: string;
  readonly scopes: readonly string[];
  readonly endsAt: string;
  readonly environment: string | null;
}

const VIEWS = ['now', 'orders', 'work', 'audit'];
const SHORTCUTS: Readonly<Record<string, string>> = {
  n: 'now',
  o: 'orders',
  w: 'work',
  a: 'audit',
};

const LOGIN = /^#login=([\w-]+)$/;

const session = signal<Session | undefined>(undefined);
const isKnown = signal(false);

/** Trades the link's code, which then stands in no address any more. */
async function enter(): Promise<void> {
  const code = LOGIN.exec(location.hash)?.[1];
  if (code !== undefined) {
    history.replaceState(null, '', location.pathname);
    await ask('POST', '/console/session', { code }).catch(() => undefined);
  }
  session.value = await ask<Session>('GET', '/console/session').catch((error: unknown) => {
    if (error instanceof Refused) return undefined;
    throw error;
  });
  isKnown.value = true;
}

async function leave(): Promise<void> {
  await ask('DELETE', '/console/session');
  session.value = undefined;
}

function Console() {
  if (!isKnown.value) return <main>…</main>;
  const who = session.value;
  if (!who) {
    return (
      <main>
        <h1>lastcall console</h1>
        <p>
          You are not logged in. On the machine of the installation,{' '}
          <code>lastcall console open</code> prints a link that opens this page, once and within a
          minute.
        </p>
      </main>
    );
  }
  return <Inside who={who} />;
}

function Inside({ who }: { who: Session }) {
  const help = useRef<HTMLDialogElement>(null);
  const { view } = place.value;
  const mayAct = who.scopes.includes('ops:write');
  const isAdmin = who.scopes.includes('ops:admin');
  return (
    <>
      <header>
        <strong>lastcall</strong>
        {who.environment && <span class="badge">{who.environment}</span>}
        <nav aria-label="Views">
          {VIEWS.map((name) => (
            <a key={name} href={`#/${name}`} aria-current={view === name ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <label>
          refresh
          <select
            value={String(refreshSeconds.value)}
            onChange={(event) => (refreshSeconds.value = Number(event.currentTarget.value))}
          >
            {REFRESH_CHOICES.map((seconds) => (
              <option key={seconds} value={String(seconds)}>
                {seconds === 0 ? 'off' : `${seconds} s`}
              </option>
            ))}
          </select>
        </label>
        <span>
          {who.actor}
          {mayAct ? '' : ' (looks only)'}
        </span>
        <button type="button" class="quiet" onClick={() => help.current?.showModal()}>
          ?
        </button>
        <button type="button" class="quiet" onClick={() => void leave()}>
          Leave
        </button>
      </header>
      <main>
        <h1>{view}</h1>
        {view === 'now' && <NowView mayResume={isAdmin} />}
        {view === 'orders' && <OrdersView mayAct={mayAct} />}
        {view === 'order' && <OrderView key={place.value.id} mayAct={mayAct} />}
        {view === 'work' && <WorkView mayAct={mayAct} />}
        {view === 'audit' && <AuditView />}
        {view === 'audit' && isAdmin && <SessionsView />}
      </main>
      <ActionDialog actor={who.actor} />
      <dialog ref={help} aria-labelledby="help-title">
        <h2 id="help-title">Keys</h2>
        <ul>
          {Object.entries(SHORTCUTS).map(([key, name]) => (
            <li key={key}>
              <kbd>{key}</kbd> {name}
            </li>
          ))}
          <li>
            <kbd>?</kbd> this sheet
          </li>
        </ul>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
      <Keys onHelp={() => help.current?.showModal()} />
    </>
  );
}

function Keys({ onHelp }: { onHelp: () => void }) {
  onkeydown = (event) => {
    const isTyping = (event.target as HTMLElement).closest('input, select, textarea, dialog');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const view = SHORTCUTS[event.key];
    if (view) location.hash = `#/${view}`;
    else if (event.key === '?') onHelp();
  };
  return null;
}

// Another link, opened in a tab that is here already: the document does not load anew for it.
addEventListener('hashchange', () => {
  if (LOGIN.test(location.hash)) void enter();
});

const root = document.getElementById('app') as HTMLElement;
root.replaceChildren();
render(<Console />, root);
void enter();
